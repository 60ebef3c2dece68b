package devicetest

import (
	"testing"

	"gputax/device"
)

func testLaunchOrder(t *testing.T, r *device.Recorder) {
	const n = 200
	list, err := r.Alloc(4 * (n + 1))
	ok(t, err)
	want := []int32{n}
	for i := range n {
		ok(t, r.Launch(device.Default, push, device.Buf(list), device.Int(i*i)))
		want = append(want, int32(i*i))
	}
	ok(t, r.Sync(device.Default))
	holds(t, r, "the order of launches", list, want)
}

func testLaunchScalars(t *testing.T, r *device.Recorder) {
	x := upload(t, r, []float32{1, 2, 3})
	ok(t, scale(r, device.Default, x, -2, 0.5)) // -1.5 -3.5 -5.5
	ok(t, r.Launch(device.Default, axpb, device.Buf(x), device.Int(2), device.Float(2), device.Float(0)))
	ok(t, r.Sync(device.Default))
	holds(t, r, "scalars", x, []float32{-3, -7, -5.5})
	list, err := r.Alloc(8)
	ok(t, err)
	ok(t, r.Launch(device.Default, push, device.Buf(list), device.Int(-7)))
	holds(t, r, "a negative int", list, []int32{1, -7})
}

func testWrongArguments(t *testing.T, r *device.Recorder) {
	x := upload(t, r, ramp(4, 0))
	launch := func(args ...device.Arg) error { return r.Launch(device.Default, axpb, args...) }
	buf, n, f := device.Buf(x), device.Int(4), device.Float(1)
	before := r.Counters()
	refused(t, "too few arguments", launch(buf, n, f), device.ErrArguments)
	refused(t, "too many arguments", launch(buf, n, f, f, f), device.ErrArguments)
	refused(t, "an int for a float", launch(buf, n, n, f), device.ErrArguments)
	refused(t, "a float for a buffer", launch(f, n, f, f), device.ErrArguments)
	refused(t, "a buffer for an int", launch(buf, buf, f, f), device.ErrArguments)
	refused(t, "a buffer too short", launch(buf, device.Int(5), f, f), device.ErrArguments)
	refused(t, "a negative count", launch(buf, device.Int(-1), f, f), device.ErrArguments)
	if r.Counters() != before {
		t.Error("refused launches counted")
	}
	holds(t, r, "after refused launches", x, ramp(4, 0))
}

// testAsynchrony queues much work and reads it only after a sync. Where the
// clock is virtual it also shows that the host ran ahead.
func testAsynchrony(t *testing.T, r *device.Recorder) {
	const n = 1 << 20
	x, err := r.Alloc(4 * n)
	ok(t, err)
	p, err := r.AllocPinned(4 * n)
	ok(t, err)
	start := r.Now()
	for range 8 {
		ok(t, scale(r, device.Default, x, 1, 1))
	}
	ok(t, r.DownloadAsync(device.Default, p, x))
	queued := r.Now() - start
	ok(t, r.Sync(device.Default))
	synced := r.Now() - start
	for i, v := range device.View[float32](p.Bytes()) {
		if v != 8 {
			t.Fatalf("element %d is %v after 8 increments and a sync", i, v)
		}
	}
	if r.Device().Clock() == device.Virtual && queued*2 > synced {
		t.Errorf("queueing took %v of %v: the host did not run ahead", queued, synced)
	}
}

func testStreams(t *testing.T, r *device.Recorder) {
	streams := []device.Stream{device.Default}
	for range 3 {
		s, err := r.NewStream()
		ok(t, err)
		streams = append(streams, s)
	}
	var bufs []device.Buffer
	for range streams {
		bufs = append(bufs, upload(t, r, make([]float32, 100)))
	}
	for range 10 {
		for i, s := range streams {
			ok(t, scale(r, s, bufs[i], 1, float32(i+1)))
		}
	}
	for i, s := range streams {
		ok(t, r.Sync(s))
		want := make([]float32, 100)
		for j := range want {
			want[j] = float32(10 * (i + 1))
		}
		holds(t, r, "work on a stream", bufs[i], want)
	}
}

func testEvents(t *testing.T, r *device.Recorder) {
	s, err := r.NewStream()
	ok(t, err)
	e, err := r.NewEvent()
	ok(t, err)
	x, err := r.Alloc(4 << 20)
	ok(t, err)
	p, err := r.AllocPinned(4 << 20)
	ok(t, err)
	copy(device.View[float32](p.Bytes()), ramp(1<<20, 0))
	ok(t, r.UploadAsync(s, x, p))
	ok(t, r.Record(e, s))
	ok(t, r.Wait(device.Default, e))
	ok(t, scale(r, device.Default, x, 2, 0))
	ok(t, r.Sync(device.Default))
	holds(t, r, "a kernel after a copy on another stream", x.Slice(4<<20-8, 8), []float32{2 * (1<<20 - 2), 2 * (1<<20 - 1)})
}

func testNoSuchStream(t *testing.T, r *device.Recorder) {
	x := upload(t, r, ramp(4, 0))
	p, err := r.AllocPinned(16)
	ok(t, err)
	refused(t, "a launch", scale(r, 7, x, 1, 1), device.ErrStream)
	refused(t, "a sync", r.Sync(-1), device.ErrStream)
	refused(t, "a copy", r.UploadAsync(3, x, p), device.ErrStream)
	refused(t, "an event", r.Record(0, device.Default), device.ErrStream)
	refused(t, "a wait", r.Wait(device.Default, 2), device.ErrStream)
}

func testClockAdvances(t *testing.T, r *device.Recorder) {
	x := upload(t, r, ramp(1<<16, 0))
	last := r.Now()
	for i := range 100 {
		ok(t, scale(r, device.Default, x, 1, 1))
		ok(t, r.Sync(device.Default))
		now := r.Now()
		if now < last {
			t.Fatalf("the clock went back, from %v to %v, at launch %d", last, now, i)
		}
		last = now
	}
	if last == 0 {
		t.Error("the clock stood still")
	}
}
