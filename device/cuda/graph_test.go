package cuda

import (
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/devicetest"
)

// TestCaptureFailures leaves no graph behind, and a device that still works.
func TestCaptureFailures(t *testing.T) {
	for call, want := range map[string]string{
		"streamEndCapture": "cuStreamEndCapture(stream 0): CUDA_ERROR_INVALID_VALUE",
		"graphInstantiate": "cuGraphInstantiateWithFlags: CUDA_ERROR_INVALID_VALUE",
	} {
		f := newFake()
		d := opened(t, f)
		r := device.NewRecorder(d)
		b, err := r.Alloc(16)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.BeginCapture(device.Default); err != nil {
			t.Fatal(err)
		}
		if err := r.Launch(device.Default, devicetest.Kernels()[1], device.Buf(b), device.Int(1)); err != nil {
			t.Fatal(err)
		}
		f.fails[call] = 1
		if _, err := r.EndCapture(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", call, err, want)
		}
		f.fails = map[string]result{}
		roundTrip(t, r)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		f.isEmpty(t)
	}
}

func TestReplayFailure(t *testing.T) {
	f := newFake()
	r := device.NewRecorder(opened(t, f))
	if err := r.BeginCapture(device.Default); err != nil {
		t.Fatal(err)
	}
	g, err := r.EndCapture()
	if err != nil {
		t.Fatal(err)
	}
	f.fails["graphLaunch"] = 1
	if err := r.Replay(device.Default, g); err == nil || !strings.Contains(err.Error(), "cuGraphLaunch(stream 0)") {
		t.Errorf("error %v", err)
	}
	f.fails["graphExecDestroy"] = 1
	if err := r.FreeGraph(g); err == nil || !strings.Contains(err.Error(), "cuGraphExecDestroy") {
		t.Errorf("error %v", err)
	}
}
