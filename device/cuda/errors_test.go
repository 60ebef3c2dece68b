package cuda

import (
	"errors"
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/devicetest"
)

// TestEveryFailure makes each call fail that the seam's methods make, and looks
// for the call, its sizes and CUDA's words in the error.
func TestEveryFailure(t *testing.T) {
	axpb := devicetest.Kernels()[0]
	for _, c := range []struct {
		call string
		do   func(*device.Recorder, device.Buffer) error
		want string
	}{
		{"memAlloc", func(r *device.Recorder, _ device.Buffer) error { return second(r.Alloc(99)) }, "cuMemAlloc(99 bytes)"},
		{"memset", func(r *device.Recorder, _ device.Buffer) error { return second(r.Alloc(99)) }, "cuMemsetD8Async(99 bytes)"},
		{"memHostAlloc", func(r *device.Recorder, _ device.Buffer) error { return second(r.AllocPinned(99)) }, "cuMemHostAlloc(99 bytes)"},
		{"memFree", func(r *device.Recorder, b device.Buffer) error { return r.Free(b) }, "cuMemFree(16 bytes)"},
		{"upload", func(r *device.Recorder, b device.Buffer) error { return r.Upload(b, make([]byte, 7)) }, "cuMemcpyHtoDAsync(7 bytes)"},
		{"download", func(r *device.Recorder, b device.Buffer) error { return r.Download(make([]byte, 7), b) }, "cuMemcpyDtoHAsync(7 bytes)"},
		{"streamSynchronize", func(r *device.Recorder, _ device.Buffer) error { return r.Sync(device.Default) }, "cuStreamSynchronize(stream 0)"},
		{"streamCreate", func(r *device.Recorder, _ device.Buffer) error { return second(r.NewStream()) }, "cuStreamCreate"},
		{"eventCreate", func(r *device.Recorder, _ device.Buffer) error { return second(r.NewEvent()) }, "cuEventCreate"},
		{"streamBeginCapture", func(r *device.Recorder, _ device.Buffer) error { return r.BeginCapture(device.Default) }, "cuStreamBeginCapture(stream 0)"},
		{"ctxSetCurrent", func(r *device.Recorder, _ device.Buffer) error { return r.Sync(device.Default) }, "cuCtxSetCurrent"},
		{"launchKernel", func(r *device.Recorder, b device.Buffer) error {
			return r.Launch(device.Default, axpb, device.Buf(b), device.Int(4), device.Float(1), device.Float(1))
		}, "cuLaunchKernel(devicetest_axpb, 1x1x1 blocks of 256 threads and 0 bytes of shared memory)"},
		{"moduleGetFunction", func(r *device.Recorder, b device.Buffer) error {
			return r.Launch(device.Default, axpb, device.Buf(b), device.Int(4), device.Float(1), device.Float(1))
		}, "cuModuleGetFunction(devicetest_axpb of module devicetest)"},
	} {
		f := newFake()
		r := device.NewRecorder(opened(t, f))
		b, err := r.Alloc(16)
		if err != nil {
			t.Fatal(err)
		}
		f.fails[c.call] = 1
		err = c.do(r, b)
		f.fails = map[string]result{}
		want := c.want + ": CUDA_ERROR_INVALID_VALUE (1): text of CUDA_ERROR_INVALID_VALUE"
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", c.call, err, want)
		}
	}
}

func TestOutOfMemory(t *testing.T) {
	f := newFake()
	f.total = 1000
	r := device.NewRecorder(opened(t, f))
	if _, err := r.Alloc(400); err != nil {
		t.Fatal(err)
	}
	_, err := r.Alloc(601)
	if !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("error %v is not device.ErrOutOfMemory", err)
	}
	for _, want := range []string{"cuda:0", "600 of 1000 bytes free", "cuMemAlloc(601 bytes): CUDA_ERROR_OUT_OF_MEMORY (2)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	if total, free := r.Device().Memory(); total != 1000 || free != 600 {
		t.Errorf("memory is %d, %d free", total, free)
	}
}

func TestStickyError(t *testing.T) {
	f := newFake()
	d := opened(t, f)
	f.fails["streamSynchronize"] = 700
	err := d.Sync(device.Default)
	var e *Error
	if !errors.As(err, &e) || e.Code != 700 || !e.Sticky() {
		t.Fatalf("error %#v", err)
	}
	if want := "CUDA_ERROR_ILLEGAL_ADDRESS (700)"; !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "restart it") {
		t.Errorf("error %q", err)
	}
	if (&Error{Code: 2}).Sticky() {
		t.Error("running out of memory is sticky")
	}
	if err := d.Close(); !errors.As(err, &e) || e.Code != 700 {
		t.Errorf("closing after it: %v", err)
	}
	f.fails = map[string]result{}
	f.isEmpty(t)
}

func TestNamelessError(t *testing.T) {
	if got, want := newFake().driver().fail(77, "cuInit").Error(), "cuInit: CUDA error (77): a code this driver has no name for"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
