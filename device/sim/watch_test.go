package sim_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gputax/device"
	"gputax/device/sim"
)

// bump adds 1 to a number; it declares no work, so it takes the floor.
var bump = &device.Kernel{Symbol: "bump", Params: []device.Param{{Name: "x"}},
	Body: func(a device.Args) { a.I32(0)[0]++ }}

// watched is some of everything: blocking and asynchronous copies, launches on
// two streams, a graph of two kernels and a copy.
func watched(d *sim.Device) error {
	r := device.NewRecorder(d)
	b, err1 := r.Alloc(4)
	p, err2 := r.AllocPinned(4)
	s, err3 := r.NewStream()
	err := errors.Join(err1, err2, err3,
		r.Upload(b, make([]byte, 4)),
		r.Launch(0, bump, device.Buf(b)),
		r.Launch(0, bump, device.Buf(b)),
		r.UploadAsync(s, b, p),
		r.BeginCapture(0),
		r.Launch(0, bump, device.Buf(b)),
		r.DownloadAsync(0, p, b),
		r.Launch(0, bump, device.Buf(b)))
	g, err4 := r.EndCapture()
	return errors.Join(err, err4, r.Replay(s, g), r.Sync(s))
}

func TestObserve(t *testing.T) {
	type seen struct {
		stream     device.Stream
		start, end time.Duration
		name       string
		value      int32 // in the buffer, before the op
		inGraph    bool
	}
	var got []seen
	d := open(t)
	d.Observe(func(op *sim.Op) {
		s := seen{stream: op.Stream, start: op.Start, end: op.End, inGraph: op.InGraph}
		buf := op.Copy.Device
		if op.Kernel != nil {
			s.name, buf = op.Kernel.Symbol, op.Args.Buffer(0)
		}
		s.value = device.View[int32](buf.Host())[0]
		got = append(got, s)
	})
	if err := watched(d); err != nil {
		t.Fatal(err)
	}
	// Host: 11+13 for the allocations, 5 for the copy: at 29 it starts.
	const copied = 29 + 1000 + 4
	const async = copied + 10 + 10 + 5 // when the host has issued the copy on the other stream
	const start = async + 300 + 1      // the graph's: its stream is free only then
	want := []seen{
		{0, 29, copied, "", 0, false},
		{0, copied + 10 + 100, copied + 10 + 100 + 50, "bump", 0, false},
		{0, copied + 160, copied + 210, "bump", 1, false},
		{1, async, async + 301, "", 2, false},
		{1, start, start + 30, "bump", 0, true},
		{1, start + 30, start + 30 + 401, "", 1, true},
		{1, start + 431, start + 461, "bump", 1, true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("saw\n%v, want\n%v", got, want)
	}

	alone := open(t)
	if err := watched(alone); err != nil {
		t.Fatal(err)
	}
	if d.Now() != alone.Now() {
		t.Errorf("observed it takes %v, alone %v", d.Now(), alone.Now())
	}
}

func TestObservingNothingAllocatesNothing(t *testing.T) {
	r := device.NewRecorder(open(t))
	b, err := r.Alloc(4)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 4)
	if n := testing.AllocsPerRun(100, func() {
		if err := errors.Join(r.Upload(b, data), r.Launch(0, bump, device.Buf(b))); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a launch and a copy", n)
	}
}
