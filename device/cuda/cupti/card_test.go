package cupti_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/cuda"
	"gputax/device/cuda/cupti"
	"gputax/device/devicetest"
)

// The tests here need a card and CUPTI, and skip where either is missing.

// onCard is CUPTI and a recorder on a card.
func onCard(t *testing.T) (*cupti.Library, *device.Recorder) {
	t.Helper()
	if err := cuda.Why(); err != nil {
		t.Skipf("waits for a card: %v", err)
	}
	lib, err := cupti.Open()
	if err != nil {
		t.Skipf("waits for CUPTI: %v", err)
	}
	dev, err := cuda.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Log(lib, "on", dev.Describe())
	return lib, device.NewRecorder(dev)
}

// program does a known number of everything the seam has.
func program(r *device.Recorder) error {
	axpb := devicetest.Kernels()[0]
	b, err := r.Alloc(4096)
	if err != nil {
		return err
	}
	p, err := r.AllocPinned(1000)
	if err != nil {
		return err
	}
	page := make([]byte, 4096)
	launch := func(s device.Stream) error {
		return r.Launch(s, axpb, device.Buf(b), device.Int(300), device.Float(1), device.Float(1))
	}
	capture := func() error {
		err := r.BeginCapture(device.Default)
		for range 3 {
			err = errors.Join(err, launch(device.Default))
		}
		err = errors.Join(err, r.UploadAsync(device.Default, b, p))
		g, endErr := r.EndCapture()
		if err := errors.Join(err, endErr); err != nil {
			return err
		}
		for range 5 {
			err = errors.Join(err, r.Replay(device.Default, g))
		}
		return errors.Join(err, r.Sync(device.Default), r.FreeGraph(g))
	}
	return errors.Join(
		r.Upload(b, page[:7]), r.Upload(b, page), r.Download(page[:484], b),
		r.UploadPinned(b, p), r.DownloadPinned(p, b), r.UploadAsync(device.Default, b, p), r.DownloadAsync(device.Default, p, b),
		launch(device.Default), launch(device.Default), r.Sync(device.Default), capture(),
		launch(device.Default), r.Drain(),
		r.Free(b), r.FreePinned(p),
	)
}

// TestCardCounts holds CUPTI to the recorder, in several sessions.
func TestCardCounts(t *testing.T) {
	lib, r := onCard(t)
	for session := range 3 {
		r.Reset()
		s, err := lib.Start()
		if err != nil {
			t.Fatal(err)
		}
		err = program(r)
		trace, stopErr := s.Stop()
		if err := errors.Join(err, stopErr); err != nil {
			t.Fatal(err)
		}
		got, want := trace.Count(), r.Counters()
		for c := range want {
			if got.Counters[c] != want[c] && device.Counter(c) != device.MappedBytes {
				t.Errorf("session %d: %s: %d recorded, %d by CUPTI", session, device.Counter(c).Unit(), want[c], got.Counters[c])
			}
		}
		if got.Memsets != 0 || got.OtherCopies != 0 || len(trace.Warnings) > 0 {
			t.Errorf("session %d: %d memsets, %d other copies, warnings %q", session, got.Memsets, got.OtherCopies, trace.Warnings)
		}
		orphans := 0
		for i := range trace.Ops {
			o := &trace.Ops[i]
			if o.Call < 0 {
				orphans++
			}
			if testing.Verbose() && session == 0 {
				t.Logf("op %d: %+v", i, *o)
			}
			if o.Kind == cupti.OpKernel && (o.Name != "devicetest_axpb" || o.Block[0] < 32 || o.Registers == 0 || o.End <= o.Start) {
				t.Errorf("session %d: kernel %+v", session, *o)
			}
		}
		if orphans > 0 && session > 0 {
			// CUPTI 13.0 joins graphs to their launches in a process's first session only.
			t.Logf("session %d: %d of %d ops belong to no call", session, orphans, len(trace.Ops))
		} else if orphans > 0 {
			t.Errorf("session %d: %d of %d ops belong to no call", session, orphans, len(trace.Ops))
		}
		if t.Failed() {
			for i := range trace.Calls {
				t.Logf("call %d: %+v", i, trace.Calls[i])
			}
			return
		}
	}
}

// TestCardExternal has ids go from calls to what the device does.
func TestCardExternal(t *testing.T) {
	lib, r := onCard(t)
	b, err := r.Alloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	s, err := lib.Start()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	for id := range uint64(10) {
		err = errors.Join(err, s.Push(id), r.Upload(b, make([]byte, 100+id)), s.Pop())
	}
	runtime.UnlockOSThread()
	trace, stopErr := s.Stop()
	if err := errors.Join(err, stopErr); err != nil {
		t.Fatal(err)
	}
	if len(trace.Ops) != 10 {
		t.Fatalf("%d ops of 10", len(trace.Ops))
	}
	began, ended := trace.Window()
	for i, o := range trace.Ops {
		if o.External != uint64(i) || o.Bytes != uint64(100+i) {
			t.Errorf("op %d has id %d and %d bytes", i, o.External, o.Bytes)
		}
		if o.Start < began || o.End > ended || o.Call >= 0 && o.Start < trace.Calls[o.Call].Start {
			t.Errorf("op %d is from %d to %d, in a window from %d to %d, its call %+v", i, o.Start, o.End, began, ended, trace.Calls[o.Call])
		}
	}
}

// TestCardMarkers has CUPTI listen to NVTX: phases of a device are ranges. The
// tool is chosen as a process starts, so this one is started again.
func TestCardMarkers(t *testing.T) {
	const variable, done = "NVTX_INJECTION64_PATH", "ranges were heard"
	lib, r := onCard(t)
	if os.Getenv(variable) == "" {
		run := exec.Command(os.Args[0], "-test.run=^TestCardMarkers$", "-test.v")
		_, path, _ := strings.Cut(lib.String(), "(")
		run.Env = append(os.Environ(), variable+"="+strings.TrimSuffix(path, ")"))
		out, err := run.CombinedOutput()
		if err != nil || !strings.Contains(string(out), done) {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	s, err := lib.Start(cupti.Markers)
	if err != nil {
		t.Fatal(err)
	}
	r.Phase("forward")
	r.Phase("backward")
	r.Phase("")
	trace, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}
	var heard []string
	for _, m := range trace.Markers {
		if m.Start {
			heard = append(heard, m.Name)
		}
	}
	if got := fmt.Sprint(heard); got != "[forward backward]" {
		t.Fatalf("CUPTI heard %s (%+v)", got, trace.Markers)
	}
	t.Log(done)
}
