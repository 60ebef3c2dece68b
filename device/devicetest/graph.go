package devicetest

import (
	"testing"

	"gputax/device"
)

// sequence issues work whose result depends on its order.
func sequence(r *device.Recorder, x device.Buffer) error {
	for i := range 20 {
		if err := scale(r, device.Default, x, 1+1/float32(i+2), float32(i)); err != nil {
			return err
		}
	}
	return nil
}

func testGraphEqualsEager(t *testing.T, r *device.Recorder) {
	eager, replayed := upload(t, r, ramp(333, -5)), upload(t, r, ramp(333, -5))
	ok(t, r.BeginCapture(device.Default))
	ok(t, sequence(r, replayed))
	g, err := r.EndCapture()
	ok(t, err)
	for range 3 {
		ok(t, sequence(r, eager))
		ok(t, r.Replay(device.Default, g))
	}
	ok(t, r.Sync(device.Default))
	want := make([]float32, 333)
	ok(t, r.Download(device.Bytes(want), eager))
	holds(t, r, "three replays", replayed, want)
	ok(t, r.FreeGraph(g))
	refused(t, "replaying a freed graph", r.Replay(device.Default, g), device.ErrFreed)
}

// testGraphCopies captures upload, kernel, download, and changes the pinned
// input between replays: a graph reads memory when it runs.
func testGraphCopies(t *testing.T, r *device.Recorder) {
	s, err := r.NewStream()
	ok(t, err)
	x, err := r.Alloc(16)
	ok(t, err)
	in, err := r.AllocPinned(16)
	ok(t, err)
	out, err := r.AllocPinned(16)
	ok(t, err)
	ok(t, r.BeginCapture(s))
	ok(t, r.UploadAsync(s, x, in))
	ok(t, scale(r, s, x, 10, 1))
	ok(t, r.DownloadAsync(s, out, x))
	g, err := r.EndCapture()
	ok(t, err)
	for round := range 3 {
		copy(device.View[float32](in.Bytes()), ramp(4, float32(round)))
		ok(t, r.Replay(s, g))
		ok(t, r.Sync(s))
		for i, v := range device.View[float32](out.Bytes()) {
			if want := 10*float32(round+i) + 1; v != want {
				t.Fatalf("round %d: element %d is %v, want %v", round, i, v, want)
			}
		}
	}
	ok(t, r.FreeGraph(g))
}

func testGraphDoesNotRun(t *testing.T, r *device.Recorder) {
	x := upload(t, r, ramp(4, 0))
	before := r.Counters()
	ok(t, r.BeginCapture(device.Default))
	ok(t, scale(r, device.Default, x, 0, 9))
	g, err := r.EndCapture()
	ok(t, err)
	if r.Counters() != before {
		t.Error("captured work counted before it ran")
	}
	holds(t, r, "after capture alone", x, ramp(4, 0))
	ok(t, r.FreeGraph(g))
}

func testGraphRefusals(t *testing.T, r *device.Recorder) {
	other, err := r.NewStream()
	ok(t, err)
	e, err := r.NewEvent()
	ok(t, err)
	x := upload(t, r, ramp(4, 0))
	_, err = r.EndCapture()
	refused(t, "ending what was not begun", err, device.ErrCapturing)
	ok(t, r.BeginCapture(device.Default))
	_, err = r.Alloc(16)
	refused(t, "allocating", err, device.ErrCapturing)
	refused(t, "freeing", r.Free(x), device.ErrCapturing)
	refused(t, "syncing", r.Sync(device.Default), device.ErrCapturing)
	refused(t, "a blocking upload", r.Upload(x, make([]byte, 4)), device.ErrCapturing)
	refused(t, "a blocking download", r.Download(make([]byte, 4), x), device.ErrCapturing)
	refused(t, "another stream", scale(r, other, x, 1, 1), device.ErrCapturing)
	refused(t, "an event", r.Record(e, device.Default), device.ErrCapturing)
	refused(t, "a second capture", r.BeginCapture(device.Default), device.ErrCapturing)
	ok(t, scale(r, device.Default, x, 1, 1))
	g, err := r.EndCapture()
	ok(t, err)
	ok(t, r.Replay(device.Default, g))
	holds(t, r, "a capture that had refusals", x, ramp(4, 1))
	ok(t, r.FreeGraph(g))
}

func testGraphUseAfterFree(t *testing.T, r *device.Recorder) {
	x := upload(t, r, ramp(4, 0))
	ok(t, r.BeginCapture(device.Default))
	ok(t, scale(r, device.Default, x, 1, 1))
	g, err := r.EndCapture()
	ok(t, err)
	ok(t, r.Free(x))
	refused(t, "replaying a graph whose buffer is gone", r.Replay(device.Default, g), device.ErrFreed)
	ok(t, r.FreeGraph(g))
}

func testCounters(t *testing.T, r *device.Recorder) {
	x, err := r.Alloc(400)
	ok(t, err)
	p, err := r.AllocPinned(100)
	ok(t, err)
	ok(t, r.Upload(x, make([]byte, 400)))
	ok(t, r.UploadPinned(x, p))
	ok(t, r.UploadAsync(device.Default, x, p))
	for range 3 {
		ok(t, scale(r, device.Default, x, 1, 1))
	}
	ok(t, r.DownloadAsync(device.Default, p.Slice(0, 10), x))
	ok(t, r.Sync(device.Default))
	ok(t, r.Download(make([]byte, 7), x))
	ok(t, r.BeginCapture(device.Default))
	ok(t, scale(r, device.Default, x, 1, 1))
	ok(t, scale(r, device.Default, x, 1, 1))
	ok(t, r.UploadAsync(device.Default, x, p))
	g, err := r.EndCapture()
	ok(t, err)
	ok(t, r.Replay(device.Default, g))
	ok(t, r.Replay(device.Default, g))
	ok(t, scale(r, device.Default, p.Slice(0, 20).Buffer(), 1, 1))
	ok(t, r.Drain()) // counts nothing
	ok(t, r.FreeGraph(g))
	ok(t, r.Free(x))
	want := device.Counters{
		device.Launches: 4, device.MappedBytes: 20, device.GraphLaunches: 2, device.GraphKernels: 4,
		device.UploadCopies: 5, device.UploadBytes: 800, device.DownloadCopies: 2, device.DownloadBytes: 17,
		device.PageableCopies: 2, device.Syncs: 1, device.Allocs: 2, device.Frees: 1,
	}
	got := r.Counters()
	for c := range got {
		if got[c] != want[c] {
			t.Errorf("%s: %d, want %d", device.Counter(c).Unit(), got[c], want[c])
		}
	}
	ok(t, r.FreePinned(p))
}

func testPhases(t *testing.T, r *device.Recorder) {
	x := upload(t, r, ramp(1<<16, 0))
	r.Reset()
	start := r.Now()
	r.Phase("forward")
	ok(t, scale(r, device.Default, x, 1, 1))
	before := r.Phase("cost")
	ok(t, r.Sync(device.Default))
	r.Phase(before)
	ok(t, scale(r, device.Default, x, 1, 1))
	ok(t, r.Sync(device.Default))
	r.Phase("")
	var names []string
	var sum, all int64
	for _, p := range r.Phases() {
		names = append(names, p.Name)
		sum += int64(p.Time)
		switch p.Name {
		case "forward":
			if p.Counters[device.Launches] != 2 || p.Counters[device.Syncs] != 1 {
				t.Errorf("forward counted %v", p.Counters)
			}
		case "cost":
			if p.Counters[device.Launches] != 0 || p.Counters[device.Syncs] != 1 {
				t.Errorf("cost counted %v", p.Counters)
			}
		}
	}
	all = int64(r.Now() - start)
	if len(names) != 3 || names[1] != "forward" || names[2] != "cost" {
		t.Errorf("phases are %q", names)
	}
	if sum > all || sum < 0 {
		t.Errorf("phases took %d ns of %d", sum, all)
	}
	r.Reset()
	if r.Counters() != (device.Counters{}) {
		t.Errorf("after reset: %v", r.Counters())
	}
}
