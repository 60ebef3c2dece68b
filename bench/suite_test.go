package bench_test

import (
	"testing"

	"gputax/bench"
	"gputax/bench/suite"
	"gputax/device"
	"gputax/device/catalog"
)

// devices opens every device this machine can: host, the simulated ones, and
// cuda where there is one.
func devices(tb testing.TB) []device.Device {
	tb.Helper()
	entries, err := catalog.List()
	if err != nil {
		tb.Fatal(err)
	}
	var devs []device.Device
	for _, e := range entries {
		if e.Why != nil {
			tb.Logf("%s waits for a device: %v", e.Name, e.Why)
			continue
		}
		dev, err := catalog.Open(e.Name)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := dev.Close(); err != nil {
				tb.Error(err)
			}
		})
		devs = append(devs, dev)
	}
	return devs
}

func BenchmarkCost(b *testing.B)     { bench.RunCases(b, devices(b), suite.Named("Cost")) }
func BenchmarkTransfer(b *testing.B) { bench.RunCases(b, devices(b), suite.Named("Transfer")) }
func BenchmarkLaunch(b *testing.B)   { bench.RunCases(b, devices(b), suite.Named("Launch")) }
