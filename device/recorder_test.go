package device_test

import (
	"testing"
	"time"

	"gputax/device"
	"gputax/device/host"
)

// idle does nothing at once: what is left of a call is the recorder.
type idle struct{ device.Device }

func (idle) Launch(device.Stream, *device.Kernel, device.Args) error { return nil }
func (idle) Copy(device.Copy) error                                  { return nil }
func (idle) Sync(device.Stream) error                                { return nil }
func (idle) Now() time.Duration                                      { return 0 }

var nop = &device.Kernel{
	Symbol: "nop",
	Params: []device.Param{{Name: "x"}, {Name: "n", Kind: device.KindInt}, {Name: "a", Kind: device.KindFloat}},
	Check:  func(a device.Args) error { return a.Need(0, a.Int(1)) },
}

// events are the recorder's hot calls on a device that takes no time.
func events(tb testing.TB) map[string]func() error {
	r := device.NewRecorder(idle{host.New()})
	b, err := r.Alloc(64)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := r.AllocPinned(64)
	if err != nil {
		tb.Fatal(err)
	}
	data := make([]byte, 64)
	r.Phase("other")
	return map[string]func() error{
		"launch": func() error {
			return r.Launch(device.Default, nop, device.Buf(b), device.Int(16), device.Float(2))
		},
		"upload": func() error { return r.Upload(b, data) },
		"async":  func() error { return r.DownloadAsync(device.Default, p, b) },
		"sync":   func() error { return r.Sync(device.Default) },
		"phase":  func() error { r.Phase(r.Phase("cost")); return nil },
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	for name, event := range events(t) {
		if n := testing.AllocsPerRun(1000, func() {
			if err := event(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations an event", name, n)
		}
	}
}

// BenchmarkRecorder shows what one recorded event costs beyond the device's
// own work: under 100 ns, and no allocation.
func BenchmarkRecorder(b *testing.B) {
	for _, name := range []string{"launch", "upload", "async", "sync", "phase"} {
		b.Run("event="+name, func(b *testing.B) {
			event := events(b)[name]
			b.ReportAllocs()
			for b.Loop() {
				if err := event(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestView(t *testing.T) {
	if got := device.View[float32](device.Bytes([]float32{1, 2})); len(got) != 2 || got[1] != 2 {
		t.Errorf("a view of two floats is %v", got)
	}
	if device.Bytes([]int32{}) != nil || device.View[int32](nil) != nil {
		t.Error("views of nothing are not nil")
	}
	defer func() {
		if recover() == nil {
			t.Error("a view of 5 bytes as int32 did not panic")
		}
	}()
	device.View[int32](make([]byte, 5))
}

func TestIntRange(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an argument beyond int32 did not panic")
		}
	}()
	device.Int(1 << 31)
}
