package profiles

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/devicetest"
	"gputax/device/host"
	"gputax/device/sim"
)

func TestCompiled(t *testing.T) { devicetest.Compiled(t, "kernels.cu", tick, copyKernel) }

// calibration is one of the host, which is a device too, only without a card's
// delays.
func calibration() Calibration {
	return Calibration{Dev: host.NewSize(1 << 28), Name: "test", About: "a test", Date: "today", Rounds: 3, Item: func() {}, Items: 1,
		Workloads: []Workload{
			{"ticks", func(rec *device.Recorder) error {
				b, err := rec.Alloc(4)
				if err != nil {
					return err
				}
				for range 3 {
					if err := rec.Launch(device.Default, tick, device.Buf(b)); err != nil {
						return err
					}
				}
				return rec.Free(b)
			}},
			{"captured copies", func(rec *device.Recorder) error {
				b, err := rec.Alloc(1 << 16)
				if err != nil {
					return err
				}
				if err := rec.BeginCapture(device.Default); err != nil {
					return err
				}
				for _, n := range []int{16, 16, 2048} {
					if err := rec.Launch(device.Default, copyKernel, device.Buf(b), device.Buf(b), device.Int(n)); err != nil {
						return err
					}
				}
				g, err := rec.EndCapture()
				if err != nil {
					return err
				}
				return errors.Join(rec.Replay(device.Default, g), rec.FreeGraph(g), rec.Free(b))
			}},
		}}
}

// A calibration gives a profile that can be written, read back and run, with
// every constant's source, and each different launch once.
func TestCalibrate(t *testing.T) {
	c := calibration()
	var told []string
	c.Progress = func(what string) { told = append(told, what) }
	p, err := Calibrate(c)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	again, err := sim.ReadProfile("calibrated", &out)
	if err != nil {
		t.Fatal(err)
	}
	if again.Status != "measured" || !strings.Contains(again.From["launch_host_ns"], "today") || !strings.Contains(again.From["launch_host_ns"], "3 rounds") {
		t.Errorf("status %q, from %q", again.Status, again.From["launch_host_ns"])
	}
	var launches []string
	for _, k := range p.Kernels {
		launches = append(launches, k.Symbol)
	}
	if want := []string{"profiles_copy", "profiles_copy", "profiles_tick"}; !slices.Equal(launches, want) {
		t.Errorf("timed %v, want %v", launches, want)
	}
	if c.Dev.(*host.Device) == nil || !slices.Contains(told, "kernels of captured copies") {
		t.Errorf("told %v", told)
	}
	if total, free := c.Dev.Memory(); total != free {
		t.Errorf("%d bytes were not given back", total-free)
	}
}

func TestCalibrateFails(t *testing.T) {
	c := calibration()
	c.Rounds = 0
	if _, err := Calibrate(c); err == nil {
		t.Error("took 0 rounds")
	}
	c = calibration()
	p, err := Device("h200")
	if err != nil {
		t.Fatal(err)
	}
	c.Dev = sim.New(p)
	if _, err := Calibrate(c); err == nil {
		t.Error("took a simulated device")
	}
	c = calibration()
	broken := errors.New("broken")
	c.Workloads = append(c.Workloads, Workload{"bad", func(*device.Recorder) error { return broken }})
	if _, err := Calibrate(c); !errors.Is(err, broken) || !strings.Contains(err.Error(), "bad") {
		t.Errorf("a workload that fails: %v", err)
	}
}
