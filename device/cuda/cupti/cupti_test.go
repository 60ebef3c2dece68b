package cupti

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"gputax/device"
)

func TestCount(t *testing.T) {
	launch := func(f *fake) { f.kernel(f.call("cuLaunchKernel"), "axpb", 0) }
	for _, c := range []struct {
		name    string
		program func(f *fake, s *Session)
		want    map[device.Counter]int64
		more    Counts // fields besides Counters
	}{
		{name: "nothing", program: func(*fake, *Session) {}},
		{name: "launches", program: func(f *fake, _ *Session) { launch(f); launch(f); launch(f) },
			want: map[device.Counter]int64{device.Launches: 3}},
		{name: "a captured launch runs nothing", program: func(f *fake, _ *Session) { f.call("cuLaunchKernel"); launch(f) },
			want: map[device.Counter]int64{device.Launches: 1}},
		{name: "a launch by a call that is not known", program: func(f *fake, _ *Session) {
			launch(f)
			f.kernel(f.call("cuLaunchKernelNew"), "new", 0)
		}, want: map[device.Counter]int64{device.Launches: 2}},
		{name: "graph", program: func(f *fake, _ *Session) {
			for range 2 {
				g := f.call("cuGraphLaunch")
				f.kernel(g, "a", 1)
				f.kernel(g, "b", 0)     // by its call alone
				f.kernel(99999, "c", 3) // by its node alone
				f.op(kindCopy, g, func(r record) {
					r[copyKind], r[copySource], r[copyDestination] = copyHtoD, uint8(Pinned), uint8(OnDevice)
					put64(r, copyBytes, 8)
					put64(r, copyGraphNode, 4)
				})
			}
		}, want: map[device.Counter]int64{device.GraphLaunches: 2, device.GraphKernels: 6, device.UploadCopies: 2, device.UploadBytes: 16}},
		{name: "copies", program: func(f *fake, _ *Session) {
			f.copy(f.call("cuMemcpyHtoDAsync_v2"), copyHtoD, Pageable, OnDevice, 100)
			f.copy(f.call("cuMemcpyHtoDAsync_v2"), copyHtoD, Pinned, OnDevice, 10)
			f.copy(f.call("cuMemcpyDtoHAsync_v2"), copyDtoH, OnDevice, Pageable, 7)
			f.copy(f.call("cuMemcpyDtoDAsync_v2"), 8, OnDevice, OnDevice, 1000)
		}, want: map[device.Counter]int64{
			device.UploadCopies: 2, device.UploadBytes: 110, device.DownloadCopies: 1, device.DownloadBytes: 7, device.PageableCopies: 2,
		}, more: Counts{OtherCopies: 1, OtherBytes: 1000}},
		{name: "a copy in parts is one", program: func(f *fake, _ *Session) {
			c := f.call("cuMemcpyHtoDAsync_v2")
			for range 3 {
				f.copy(c, copyHtoD, Pageable, OnDevice, 64)
			}
		}, want: map[device.Counter]int64{device.UploadCopies: 1, device.UploadBytes: 192, device.PageableCopies: 1}},
		{name: "a batch of copies is several", program: func(f *fake, _ *Session) {
			c := f.call("cuMemcpyBatchAsync")
			for range 3 {
				f.copy(c, copyHtoD, Pinned, OnDevice, 64)
			}
		}, want: map[device.Counter]int64{device.UploadCopies: 3, device.UploadBytes: 192}},
		{name: "a blocking copy of ours waits, and does not count as a sync", program: func(f *fake, s *Session) {
			f.copy(f.call("cuMemcpyHtoDAsync_v2"), copyHtoD, Pageable, OnDevice, 100)
			part := BeginImplied()
			f.call("cuStreamSynchronize")
			part.EndImplied()
			f.call("cuStreamSynchronize")
		}, want: map[device.Counter]int64{device.UploadCopies: 1, device.UploadBytes: 100, device.PageableCopies: 1, device.Syncs: 1}},
		{name: "an allocation of ours sets its memory", program: func(f *fake, s *Session) {
			f.call("cuMemAlloc_v2")
			part := BeginImplied()
			f.op(kindMemset, f.call("cuMemsetD8Async"), func(r record) { put64(r, memsetBytes, 4) })
			f.call("cuStreamSynchronize")
			part.EndImplied()
			f.op(kindMemset, f.call("cuMemsetD8Async"), func(r record) { put64(r, memsetBytes, 4) })
			f.call("cuMemFree_v2")
			f.call("cuMemHostAlloc")
			f.call("cuMemFreeHost")
		}, want: map[device.Counter]int64{device.Allocs: 2, device.Frees: 2}, more: Counts{Memsets: 1}},
		{name: "failed calls", program: func(f *fake, _ *Session) {
			f.callResult("cuMemAlloc_v2", 2)
			f.callResult("cuStreamSynchronize", 700)
			f.callResult("cuGraphLaunch", 1)
		}},
		{name: "a call inside a call of the runtime", program: func(f *fake, _ *Session) {
			f.call("cudaMalloc_v3020", func() { f.call("cuMemAlloc_v2") })
			c := f.call("cudaMemcpy_v3020", func() { f.call("cuStreamSynchronize") })
			f.copy(c, copyHtoD, Pageable, OnDevice, 4)
			f.call("cuStreamSynchronize")
		}, want: map[device.Counter]int64{device.Allocs: 1, device.UploadCopies: 1, device.UploadBytes: 4, device.PageableCopies: 1, device.Syncs: 1}},
		{name: "a call beside one of another thread", program: func(f *fake, _ *Session) {
			f.call("cudaMalloc_v3020", func() {
				f.thread++
				f.call("cuMemAlloc_v2")
				f.thread--
			})
		}, want: map[device.Counter]int64{device.Allocs: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := traced(t, c.program).Count()
			want := c.more
			for counter, n := range c.want {
				want.Counters[counter] = n
			}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestOps(t *testing.T) {
	trace := traced(t, func(f *fake, s *Session) {
		must(t, s.Push(42))
		f.kernel(f.call("cuLaunchKernel"), "axpb", 0)
		must(t, s.Pop())
		f.kernel(f.call("cuLaunchKernel"), "push", 0)
		f.call("cuCtxSetCurrent") // of no interest
	})
	if len(trace.Ops) != 2 || len(trace.Calls) != 2 {
		t.Fatalf("%d ops and %d calls, want 2 and 2", len(trace.Ops), len(trace.Calls))
	}
	o := trace.Ops[0]
	if o.Name != "axpb" || o.Grid != [3]int32{4, 2, 1} || o.Block != [3]int32{128, 1, 1} || o.Registers != 32 ||
		o.Static != 1024 || o.Dynamic != 2048 || o.Stream != 13 || o.End-o.Start != 30 {
		t.Errorf("the kernel is %+v", o)
	}
	if o.External != 42 || o.Call != 0 || trace.Calls[0].External != 42 || trace.Calls[0].Name != "cuLaunchKernel" {
		t.Errorf("the first op is of id %d, call %d (%+v)", o.External, o.Call, trace.Calls[0])
	}
	if o := trace.Ops[1]; o.External != None || o.Call != 1 {
		t.Errorf("the second op is of id %d, call %d", o.External, o.Call)
	}
	began, ended := trace.Window()
	if began >= o.Start || ended <= o.End {
		t.Errorf("the window %d to %d does not hold the op from %d to %d", began, ended, o.Start, o.End)
	}
	if trace.At(o.End) <= trace.At(o.Start) || trace.At(began) < 0 {
		t.Errorf("times on the host's clock: window %v, op %v to %v", trace.At(began), trace.At(o.Start), trace.At(o.End))
	}
}

// TestManyBuffers has records come in many buffers, which are used again.
func TestManyBuffers(t *testing.T) {
	f := newFake(t)
	f.full = 3
	l, err := f.open()
	must(t, err)
	for range 3 {
		trace, err := f.record(l, func(*Session) {
			for range 300 {
				f.kernel(f.call("cuLaunchKernel"), "axpb", 0)
			}
		})
		must(t, err)
		if n := trace.Count().Counters[device.Launches]; n != 300 {
			t.Errorf("%d launches of 300", n)
		}
	}
	if n := len(f.pool.spare); n != maxSpare || f.freed == 0 || len(f.pool.out) > 0 || len(f.pool.full) > 0 {
		t.Errorf("%d buffers spare, %d out, %d full", n, len(f.pool.out), len(f.pool.full))
	}
}

// TestBefore leaves out what happened before the session began, and with none.
func TestBefore(t *testing.T) {
	f := newFake(t)
	l, err := f.open()
	must(t, err)
	for _, k := range kinds {
		f.enabled[k] = true
	}
	f.kernel(f.call("cuLaunchKernel"), "early", 0)
	BeginImplied().EndImplied() // of no session
	trace, err := f.record(l, func(*Session) { f.kernel(f.call("cuLaunchKernel"), "axpb", 0) })
	must(t, err)
	if n := trace.Count().Counters[device.Launches]; n != 1 {
		t.Errorf("%d launches, want 1", n)
	}
	if f.waits != 2 {
		t.Errorf("waited %d times for the device, want at the start and at the end", f.waits)
	}
}

// TestEdges has calls at the edges of the window and of each other.
func TestEdges(t *testing.T) {
	trace := traced(t, func(f *fake, _ *Session) {
		sync := func(start, end uint64) {
			f.corr++
			f.write(kindDriver, func(r record) {
				put32(r, apiID, f.function("cuStreamSynchronize"))
				put64(r, apiStart, start)
				put64(r, apiEnd, end)
				put32(r, apiProcess, uint32(os.Getpid()))
				put32(r, apiCorrelation, f.corr)
			})
		}
		sync(1, 5)               // before the window
		sync(f.now, f.now+10)    // in it
		sync(f.now+10, f.now+10) // after that one, in no time
		sync(1<<40, 1<<40)       // after the window
		f.now += 1000
	})
	if n := trace.Count().Counters[device.Syncs]; n != 2 {
		t.Errorf("%d syncs, want the 2 in the window", n)
	}
}

// TestSessionEndsInside has a session end while another goroutine is inside a
// call: nothing stays pushed for the next one.
func TestSessionEndsInside(t *testing.T) {
	f := newFake(t)
	l, err := f.open()
	must(t, err)
	var part *Session
	_, err = f.record(l, func(*Session) { part = BeginImplied() })
	must(t, err)
	part.EndImplied()
	trace, err := f.record(l, func(*Session) { f.call("cuStreamSynchronize") })
	must(t, err)
	if n := trace.Count().Counters[device.Syncs]; n != 1 {
		t.Errorf("%d syncs, want 1", n)
	}
}

func TestUnfinished(t *testing.T) {
	trace := traced(t, func(f *fake, _ *Session) {
		f.op(kindCopy, f.call("cuMemcpyHtoDAsync_v2"), func(r record) {
			r[copyKind] = copyHtoD
			put64(r, copyStart, 0)
			put64(r, copyEnd, 0)
		})
	})
	if len(trace.Warnings) != 1 || !strings.Contains(trace.Warnings[0], "1 operations had not ended") {
		t.Errorf("warnings %q", trace.Warnings)
	}
}

// TestRefusals looks for an error where numbers would be wrong.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     func(f *fake)
		program func(f *fake)
		want    string
	}{
		{"too old", func(f *fake) { f.code = 13 }, nil, "libfake.so is version 13, of before CUDA 11.1"},
		{"another profiler", func(f *fake) { f.fails["enable"] = 39 }, nil, "another profiler is attached"},
		{"register", func(f *fake) { f.fails["register"] = 1 }, nil, "cuptiActivityRegisterCallbacks: CUPTI_ERROR_INVALID_PARAMETER (1)"},
		{"flush", func(f *fake) { f.fails["flush"] = 1 }, nil, "cuptiActivityFlushAll(0)"},
		{"clock", func(f *fake) { f.fails["timestamp"] = 1 }, nil, "cuptiGetTimestamp"},
		{"lost records", func(f *fake) { f.fails["alloc"] = 1 }, func(f *fake) { f.call("cuLaunchKernel") }, "1 records were lost, and nothing can be counted: no memory"},
		{"the sample's size", func(f *fake) { f.context, f.skew = true, 8 }, nil, "recorded as 1 and 0 such ones"},
		{"a function that is none", nil, func(f *fake) {
			f.write(kindDriver, func(r record) { put32(r, apiID, 5000) })
		}, "function 5000 is none"},
		{"another process", nil, func(f *fake) {
			f.write(kindDriver, func(r record) { put32(r, apiID, 1) })
		}, "cuLaunchKernel was called by process 0"},
		{"a kernel of no threads", nil, func(f *fake) {
			f.write(kindKernels, func(r record) { put32(r, kernelGrid, 1) })
		}, "[1 0 0] blocks of [0 0 0] threads"},
		{"a copy of no kind", nil, func(f *fake) { f.copy(f.call("cuMemcpyHtoDAsync_v2"), 77, 0, 0, 1) }, "MEMCPY record: of kind 77"},
		{"ops of no call", nil, func(f *fake) { f.kernel(1234567, "axpb", 0) }, "1 of 1 operations belong to no call"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			if c.set != nil {
				c.set(f)
			}
			l, err := f.open()
			if err == nil {
				_, err = f.record(l, func(*Session) {
					if c.program != nil {
						c.program(f)
					}
				})
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, c.want)
			}
			if len(f.enabled) > 0 {
				t.Errorf("still enabled: %v", f.enabled)
			}
			if attached.Load() != nil {
				t.Error("a session is still attached")
			}
		})
	}
}

// TestSample looks that the check is made once, and leaves nothing behind.
func TestSample(t *testing.T) {
	f := newFake(t)
	f.context = true
	l, err := f.open()
	must(t, err)
	for range 2 {
		trace, err := f.record(l, func(*Session) {})
		must(t, err)
		if c := trace.Count(); c != (Counts{}) || !l.checked {
			t.Errorf("counted %+v of nothing; checked: %v", c, l.checked)
		}
		f.skew = 8 // the second is not checked
	}
}

func TestOneSession(t *testing.T) {
	f := newFake(t)
	l, err := f.open()
	must(t, err)
	s, err := l.Start()
	must(t, err)
	if _, err := l.Start(); err == nil || !strings.Contains(err.Error(), "one runs at a time") {
		t.Errorf("a second session: %v", err)
	}
	if _, err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := s.Stop(); err == nil {
		t.Error("a session stopped twice")
	}
	s, err = l.Start()
	must(t, err)
	_, err = s.Stop()
	must(t, err)
}

func TestMarkers(t *testing.T) {
	f := newFake(t)
	l, err := f.open()
	must(t, err)
	s, err := l.Start(Markers)
	must(t, err)
	f.texts[0x77] = "forward"
	f.write(kindMarker, func(r record) { put32(r, markerFlags, markerStart); put64(r, markerName, 0x77); put32(r, markerID, 3) })
	f.write(kindMarker, func(r record) { put32(r, markerFlags, 1<<2); put32(r, markerID, 3) })
	trace, err := s.Stop()
	must(t, err)
	want := []Marker{{Name: "forward", ID: 3, Start: true}, {ID: 3}}
	if !slices.Equal(trace.Markers, want) {
		t.Errorf("markers %+v, want %+v", trace.Markers, want)
	}
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]CallKind{
		"cuMemcpyHtoD_v2_ptds": CallCopy, "cudaMemcpyAsync_ptsz_v7000": CallCopy, "cuMemsetD32Async_ptsz": CallMemset,
		"cuStreamSynchronize_ptsz": CallSync, "cuCtxSynchronize_v2": CallSync, "cuLaunchKernelEx_ptsz": CallLaunch,
		"cudaGraphLaunch_v10000": CallGraphLaunch, "cuGraphAddMemcpyNode": CallOther, "cuMemHostRegister_v2": CallOther,
		"cuMemFreeAsync_ptsz": CallFree, "cudaHostAlloc_v3020": CallAlloc, "cuStreamQuery": CallOther, "": CallOther,
	} {
		if got := kindOf(name); got != want {
			t.Errorf("%s is of kind %d, want %d", name, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	s := span{{stamp: 1000, at: 50}, {stamp: 3000, at: 1050}} // CUPTI's runs twice as fast
	for stamp, want := range map[uint64]int64{1000: 50, 3000: 1050, 2000: 550, 800: -50, 5000: 2050} {
		if got := s.at(stamp); int64(got) != want {
			t.Errorf("%d is at %d, want %d", stamp, got, want)
		}
	}
	if got := (span{{stamp: 1000, at: 50}, {stamp: 1000, at: 50}}).at(1010); got != 60 {
		t.Errorf("with no time between the ends: %d, want 60", got)
	}
}

func TestVersions(t *testing.T) {
	for code, want := range map[uint32]string{130001: "CUDA 13.0", 130400: "CUDA 13.4", 18: "CUDA 11.8", 25: "version 25"} {
		if got := (&Library{version: code}).String(); !strings.Contains(got, want) {
			t.Errorf("%d is %q, want %q", code, got, want)
		}
	}
	f := newFake(t)
	f.code = 150000
	l, err := f.open()
	must(t, err)
	trace, err := f.record(l, func(*Session) {})
	must(t, err)
	if len(trace.Warnings) != 1 || !strings.Contains(trace.Warnings[0], "CUDA 15.0") {
		t.Errorf("warnings %q of a version that is not known", trace.Warnings)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
