package devicetest

import (
	"testing"

	"gputax/device"
)

func testIdentity(t *testing.T, r *device.Recorder) {
	if r.Device().Name() == "" {
		t.Error("the device has no name")
	}
	if total, free := r.Device().Memory(); total <= 0 || free <= 0 || free > total {
		t.Errorf("memory: %d bytes in all, %d free", total, free)
	}
}

func testAllocZeroed(t *testing.T, r *device.Recorder) {
	b := upload(t, r, ramp(64, 1))
	ok(t, r.Free(b))
	b, err := r.Alloc(256) // likely the same memory again
	ok(t, err)
	holds(t, r, "fresh memory", b, make([]float32, 64))
	p, err := r.AllocPinned(256)
	ok(t, err)
	for i, v := range p.Bytes() {
		if v != 0 {
			t.Fatalf("fresh pinned memory: byte %d is %d", i, v)
		}
	}
	ok(t, r.FreePinned(p))
	ok(t, r.Free(b))
}

func testAllocZeroSize(t *testing.T, r *device.Recorder) {
	b, err := r.Alloc(0)
	ok(t, err)
	p, err := r.AllocPinned(0)
	ok(t, err)
	if b.Size() != 0 || p.Size() != 0 || p.Bytes() != nil {
		t.Errorf("zero-size allocations have sizes %d and %d", b.Size(), p.Size())
	}
	ok(t, scale(r, device.Default, b, 2, 1))
	ok(t, r.Sync(device.Default))
	ok(t, r.Free(b))
	ok(t, r.FreePinned(p))
}

func testAllocNegative(t *testing.T, r *device.Recorder) {
	_, err := r.Alloc(-1)
	refused(t, "Alloc(-1)", err, device.ErrSize)
	_, err = r.AllocPinned(-1)
	refused(t, "AllocPinned(-1)", err, device.ErrSize)
}

func testOutOfMemory(t *testing.T, r *device.Recorder) {
	total, before := r.Device().Memory()
	nothing, err := r.Alloc(int(total) + 1)
	refused(t, "allocating more than there is", err, device.ErrOutOfMemory)
	if nothing.Size() != 0 {
		t.Errorf("a failed allocation gave a buffer of %d bytes", nothing.Size())
	}
	if c := r.Counters(); c[device.Allocs] != 0 {
		t.Errorf("a failed allocation counted: %d", c[device.Allocs])
	}
	if _, after := r.Device().Memory(); after != before {
		t.Errorf("a failed allocation took %d bytes", before-after)
	}
	b := upload(t, r, ramp(16, 1)) // the device still works
	holds(t, r, "after exhaustion", b, ramp(16, 1))
}

func testMemoryReturns(t *testing.T, r *device.Recorder) {
	total, before := r.Device().Memory()
	size := int(min(total/8, 64<<20))
	b, err := r.Alloc(size)
	ok(t, err)
	if _, during := r.Device().Memory(); before-during < int64(size) {
		t.Errorf("%d bytes allocated, %d fewer free", size, before-during)
	}
	p, err := r.AllocPinned(size)
	ok(t, err)
	ok(t, r.FreePinned(p))
	ok(t, r.Free(b))
	if _, after := r.Device().Memory(); after != before {
		t.Errorf("%d bytes free before, %d after everything was freed", before, after)
	}
}

func testUseAfterFree(t *testing.T, r *device.Recorder) {
	b := upload(t, r, ramp(8, 1))
	part := b.Slice(4, 8)
	p, err := r.AllocPinned(8)
	ok(t, err)
	ok(t, r.Free(b))
	refused(t, "freeing twice", r.Free(b), device.ErrFreed)
	refused(t, "uploading to a freed buffer", r.Upload(b, make([]byte, 4)), device.ErrFreed)
	refused(t, "downloading a part of a freed buffer", r.Download(make([]byte, 4), part), device.ErrFreed)
	refused(t, "launching on a freed buffer", scale(r, device.Default, part, 1, 1), device.ErrFreed)
	live := upload(t, r, ramp(8, 1))
	ok(t, r.FreePinned(p))
	refused(t, "freeing pinned memory twice", r.FreePinned(p), device.ErrFreed)
	refused(t, "uploading from freed pinned memory", r.UploadPinned(live, p), device.ErrFreed)
	refused(t, "downloading to freed pinned memory", r.DownloadAsync(device.Default, p, live), device.ErrFreed)
}

func testForeignBuffer(t *testing.T, one, other device.Device) {
	r, q := device.NewRecorder(one), device.NewRecorder(other)
	b := upload(t, r, ramp(8, 1))
	refused(t, "uploading to another device's buffer", q.Upload(b, make([]byte, 4)), device.ErrForeign)
	refused(t, "launching on another device's buffer", scale(q, device.Default, b, 1, 1), device.ErrForeign)
	refused(t, "freeing another device's buffer", q.Free(b), device.ErrForeign)
	ok(t, r.Free(b))
	ok(t, one.Close())
	ok(t, other.Close())
}

func testCopyModes(t *testing.T, r *device.Recorder) {
	const n = 1000
	p, err := r.AllocPinned(4 * n)
	ok(t, err)
	b, err := r.Alloc(4 * n)
	ok(t, err)
	host := make([]float32, n)
	pinned := device.View[float32](p.Bytes())
	up := map[string]func(want []float32) error{
		"pageable": func(w []float32) error { return r.Upload(b, device.Bytes(w)) },
		"pinned":   func(w []float32) error { copy(pinned, w); return r.UploadPinned(b, p) },
		"async": func(w []float32) error {
			copy(pinned, w)
			if err := r.UploadAsync(device.Default, b, p); err != nil {
				return err
			}
			return r.Sync(device.Default)
		},
	}
	down := map[string]func() ([]float32, error){
		"pageable": func() ([]float32, error) { return host, r.Download(device.Bytes(host), b) },
		"pinned":   func() ([]float32, error) { return pinned, r.DownloadPinned(p, b) },
		"async": func() ([]float32, error) {
			if err := r.DownloadAsync(device.Default, p, b); err != nil {
				return nil, err
			}
			return pinned, r.Sync(device.Default)
		},
	}
	from := float32(0)
	for u, upload := range up {
		for d, download := range down {
			from += n
			want := ramp(n, from)
			ok(t, upload(want))
			clear(host)
			clear(pinned)
			got, err := download()
			ok(t, err)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("up %s, down %s: element %d is %v, want %v", u, d, i, got[i], want[i])
				}
			}
		}
	}
}

// testPinnedInKernels has a kernel read and write pinned memory in place.
func testPinnedInKernels(t *testing.T, r *device.Recorder) {
	p, err := r.AllocPinned(40)
	ok(t, err)
	x := device.View[float32](p.Bytes())
	copy(x, ramp(10, 1))
	ok(t, scale(r, device.Default, p.Slice(8, 32).Buffer(), 2, 1))
	ok(t, r.Sync(device.Default))
	for i, v := range x {
		want := float32(i + 1)
		if i >= 2 {
			want = 2*want + 1
		}
		if v != want {
			t.Fatalf("element %d is %v, want %v", i, v, want)
		}
	}
	ok(t, r.FreePinned(p))
	refused(t, "a kernel on freed pinned memory", scale(r, device.Default, p.Buffer(), 1, 1), device.ErrFreed)
}

func testCopyParts(t *testing.T, r *device.Recorder) {
	b := upload(t, r, ramp(16, 0))
	ok(t, r.Upload(b.Slice(4*4, 4*8).Slice(4*2, 4*3), device.Bytes([]float32{-1, -2, -3})))
	want := ramp(16, 0)
	want[6], want[7], want[8] = -1, -2, -3
	holds(t, r, "a part written", b, want)
	ok(t, scale(r, device.Default, b.Slice(4*15, 4), 0, 5))
	want[15] = 5
	holds(t, r, "a kernel on a part", b, want)
	holds(t, r, "a part read", b.Slice(4*6, 4*2), []float32{-1, -2})
}

func testCopyOutOfRange(t *testing.T, r *device.Recorder) {
	b := upload(t, r, ramp(4, 0))
	p, err := r.AllocPinned(32)
	ok(t, err)
	refused(t, "a long upload", r.Upload(b, make([]byte, 17)), device.ErrRange)
	refused(t, "a long upload to a part", r.Upload(b.Slice(8, 8), make([]byte, 9)), device.ErrRange)
	refused(t, "a long download", r.Download(make([]byte, 17), b), device.ErrRange)
	refused(t, "a long pinned upload", r.UploadPinned(b, p), device.ErrRange)
	refused(t, "a long async download", r.DownloadAsync(device.Default, p, b), device.ErrRange)
	holds(t, r, "after refused copies", b, ramp(4, 0))
	for name, slice := range map[string]func(){
		"past the end": func() { b.Slice(12, 8) },
		"negative":     func() { b.Slice(-4, 4) },
		"pinned":       func() { p.Slice(32, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("slicing %s did not panic", name)
				}
			}()
			slice()
		}()
	}
}

func testCopyNothing(t *testing.T, r *device.Recorder) {
	b := upload(t, r, ramp(4, 0))
	before := r.Counters()
	ok(t, r.Upload(b, nil))
	ok(t, r.Download(nil, b))
	ok(t, r.UploadPinned(b, device.Pinned{}))
	ok(t, r.Upload(device.Buffer{}, nil))
	if r.Counters() != before {
		t.Errorf("copies of nothing counted: %v, then %v", before, r.Counters())
	}
}
