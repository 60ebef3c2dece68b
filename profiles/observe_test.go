package profiles

import (
	"errors"
	"strings"
	"testing"

	"gputax/device/cuda/cupti"
)

// TestObserveWithout looks that f does not run where it cannot be observed.
// CUPTI is looked for once a process: no other test here may ask for it before.
func TestObserveWithout(t *testing.T) {
	t.Setenv("GPUTAX_CUPTI", "/no/such/libcupti.so")
	ran := false
	_, err := Observe(func() error { ran = true; return errors.New("ran") })
	if ran || err == nil || !strings.Contains(err.Error(), "/no/such/libcupti.so") || strings.Contains(err.Error(), "\n") {
		t.Errorf("ran: %v, error %v; want one line that names what was tried", ran, err)
	}
	if _, err := CUPTIOps(); err == nil {
		t.Error("a source of ops without CUPTI")
	}
}

func TestAddOps(t *testing.T) {
	trace := &cupti.Trace{Warnings: []string{"take care"}, Ops: []cupti.Op{
		{Kind: cupti.OpKernel, Start: 100, End: 130, Name: "axpb", External: 7, Grid: [3]int32{4, 2, 3}, Block: [3]int32{32, 4, 1}, Context: 1, Stream: 13},
		{Kind: cupti.OpCopy, Copy: 1, From: cupti.Pageable, To: cupti.OnDevice, Start: 140, End: 150, Bytes: 484, External: 8, Context: 1, Stream: 14, Correlation: 1},
		{Kind: cupti.OpCopy, Copy: 1, From: cupti.Pageable, To: cupti.OnDevice, Start: 152, End: 157, Bytes: 16, External: 8, Context: 1, Stream: 14, Correlation: 1}, // a part
		{Kind: cupti.OpCopy, Copy: 2, From: cupti.OnDevice, To: cupti.Pinned, Start: 160, End: 170, Bytes: 4, External: cupti.None, Context: 1, Stream: 13, Correlation: 2},
		{Kind: cupti.OpCopy, Copy: 8, From: cupti.OnDevice, To: cupti.OnDevice, Start: 180, End: 181, Bytes: 5, External: 0, Context: 2, Stream: 13, Correlation: 3},
		{Kind: cupti.OpCopy, Copy: 2, From: cupti.OnDevice, To: cupti.Pinned, Start: 182, End: 183, Bytes: 4, External: 11, InGraph: true, Context: 1, Stream: 13, Correlation: 4},
		{Kind: cupti.OpCopy, Copy: 2, From: cupti.OnDevice, To: cupti.Pinned, Start: 184, End: 185, Bytes: 4, External: 11, InGraph: true, Context: 1, Stream: 13, Correlation: 4},
		{Kind: cupti.OpMemset, Start: 190, End: 191, Bytes: 6, External: 9, InGraph: true, Context: 1, Stream: 13, Device: 1},
		{Kind: cupti.OpKernel, External: 10},
	}}
	for i := range trace.Ops {
		trace.Ops[i].Call = -1 // the calls are not in it
	}
	rec := &Recording{Start: 55}
	addOps(rec, trace, 1000)
	name := rec.Names.ID
	want := []Op{
		{Kind: OpKernel, Start: 1100, Dur: 30, Name: name("axpb"), Call: 7, Detail: -1, Blocks: 24, Threads: 128},
		{Kind: OpCopy, Start: 1140, Dur: 17, Bytes: 500, Name: name("upload"), Call: 8, Detail: -1, Stream: 1, Dir: HostToDevice, Mem: MemPageable},
		{Kind: OpCopy, Start: 1160, Dur: 10, Bytes: 4, Name: name("download"), Call: -1, Detail: -1, Dir: DeviceToHost, Mem: MemPinned},
		{Kind: OpCopy, Start: 1180, Dur: 1, Bytes: 5, Name: name("copy"), Call: 0, Detail: -1, Stream: 2, Dir: DeviceToDevice},
		{Kind: OpCopy, Start: 1182, Dur: 1, Bytes: 4, Name: name("download"), Call: 11, Detail: -1, Dir: DeviceToHost, Mem: MemPinned, InGraph: true},
		{Kind: OpCopy, Start: 1184, Dur: 1, Bytes: 4, Name: name("download"), Call: 11, Detail: -1, Dir: DeviceToHost, Mem: MemPinned, InGraph: true},
		{Kind: OpMemset, Start: 1190, Dur: 1, Bytes: 6, Name: name("memset"), Call: 9, Detail: -1, Stream: 3, Device: 1, InGraph: true},
		{Kind: OpKernel, Start: 55, Name: name("kernel"), Call: 10, Detail: -1, Stream: 4},
	}
	if rec.Ops.Len() != len(want) {
		t.Fatalf("%d ops of %d", rec.Ops.Len(), len(want))
	}
	for i, o := range rec.Ops.All() {
		if *o != want[i] {
			t.Errorf("op %d is %+v, want %+v", i, *o, want[i])
		}
	}
	if len(rec.Warnings) != 1 {
		t.Errorf("warnings %q", rec.Warnings)
	}
}
