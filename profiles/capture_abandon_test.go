package profiles

import (
	"testing"

	"gputax/device"
	"gputax/device/host"
)

// An op that never returns leaves nothing on: neither the CPU profile nor the
// source of ops.
func TestCaptureAbandoned(t *testing.T) {
	stopped := false
	src := &source{see: func(*Recording) { stopped = true }}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is gone")
			}
		}()
		Capture(t.Context(), host.New(), CaptureOptions{CPU: true, Ops: src}, func(*device.Recorder) error { panic("it broke") })
	}()
	if !stopped {
		t.Error("the source of ops still records")
	}
	r, err := Capture(t.Context(), host.New(), CaptureOptions{CPU: true}, func(*device.Recorder) error { return nil })
	if err != nil || r.CPU == nil {
		t.Errorf("after it: %d bytes of CPU profile, warnings %q, error %v", len(r.CPU), r.Warnings, err)
	}
}
