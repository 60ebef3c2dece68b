package cuda

import (
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/devicetest"
)

// TestConformanceOnFake holds everything but the driver to the suite.
func TestConformanceOnFake(t *testing.T) {
	f := newFake()
	devicetest.Run(t, func(t *testing.T) device.Device {
		d, err := f.driver().open(0)
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
	f.isEmpty(t)
}

// roundTrip uploads, launches, captures and downloads.
func roundTrip(t *testing.T, r *device.Recorder) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	axpb := devicetest.Kernels()[0]
	b, err := r.Alloc(12)
	must(err)
	launch := func() {
		t.Helper()
		must(r.Launch(device.Default, axpb, device.Buf(b), device.Int(3), device.Float(2), device.Float(1)))
	}
	must(r.Upload(b, device.Bytes([]float32{1, 2, 3})))
	launch()
	must(r.BeginCapture(device.Default))
	launch()
	g, err := r.EndCapture()
	must(err)
	must(r.Replay(device.Default, g))
	got := make([]float32, 3)
	must(r.Download(device.Bytes(got), b))
	if got[0] != 7 || got[1] != 11 || got[2] != 15 {
		t.Errorf("twice 2x+1 of 1 2 3 is %v", got)
	}
	must(r.FreeGraph(g))
	must(r.Free(b))
}

// isEmpty fails the test unless the card has everything back.
func (f *fake) isEmpty(t *testing.T) {
	t.Helper()
	for kind, open := range f.open {
		if len(open) != 0 {
			t.Errorf("%d of kind %s are still open", len(open), kind)
		}
	}
	if len(f.memory) != 0 || len(f.pinned) != 0 {
		t.Errorf("%d blocks and %d pinned ones were not freed", len(f.memory), len(f.pinned))
	}
	for dev, n := range f.retained {
		if n != 0 {
			t.Errorf("context %d is retained %d times", dev, n)
		}
	}
}

func TestCloseFreesAll(t *testing.T) {
	f := newFake()
	d := opened(t, f)
	r := device.NewRecorder(d)
	for _, err := range []error{
		second(r.Alloc(100)), second(r.AllocPinned(100)), second(r.NewStream()), second(r.NewEvent()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b, _ := r.Alloc(16)
	launch := func() error { return r.Launch(device.Default, devicetest.Kernels()[1], device.Buf(b), device.Int(1)) }
	for _, step := range []func() error{
		func() error { return r.Upload(b, make([]byte, 16)) },
		func() error { return r.BeginCapture(device.Default) }, launch,
		func() error { return second(r.EndCapture()) },
		func() error { return r.BeginCapture(device.Default) }, launch, // and no end
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	f.isEmpty(t)
	if err := d.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := d.Alloc(1); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("allocating on a closed device: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestOwnContext has one goroutine use two devices in turn.
func TestOwnContext(t *testing.T) {
	f := newFake()
	drv := f.driver()
	one, err := drv.open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	other, err := drv.open(1)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, d := range []*Device{one, other, one} {
		if err := d.Sync(device.Default); err != nil {
			t.Fatal(err)
		}
		if f.current != d.ctx {
			t.Errorf("%s worked on context %d, its own is %d", d.Name(), f.current, d.ctx)
		}
	}
}
