package host_test

import (
	"testing"

	"gputax/device"
	"gputax/device/devicetest"
	"gputax/device/host"
)

func TestConformance(t *testing.T) {
	devicetest.Run(t, func(*testing.T) device.Device { return host.New() })
}
