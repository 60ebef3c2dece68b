//go:build amd64 || arm64

package cuda

import (
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"gputax/device"
	"gputax/device/devicetest"
)

func TestNoDriver(t *testing.T) {
	_, err := load("libno-such-cuda.so.1")
	if err == nil {
		t.Fatal("found a driver that is not there")
	}
	for _, want := range []string{"libno-such-cuda.so.1", "install the NVIDIA driver"} {
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q has no %q, or is of several lines", err, want)
		}
	}
}

// TestOldDriver takes any library for a driver that lacks the first function.
func TestOldDriver(t *testing.T) {
	_, err := load("libc.so.6")
	if want := "has no cuGetErrorName; install"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// BenchmarkLaunch is one launch of a kernel of one thread: the driver's own
// call, Device.Launch, and a recorded one. The first two should be within a
// tenth of each other.
func BenchmarkLaunch(b *testing.B) {
	card(b)
	d, err := Open(0)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	r := device.NewRecorder(d)
	x, err := r.Alloc(4)
	if err != nil {
		b.Fatal(err)
	}
	axpb := devicetest.Kernels()[0]
	args := device.Args{device.Buf(x), device.Int(1), device.Float(1), device.Float(1)}
	for _, by := range []struct {
		name string
		with func(b *testing.B) func() error
	}{
		{"driver", func(b *testing.B) func() error { return bare(b, d, axpb, args) }},
		{"device", func(*testing.B) func() error {
			return func() error { return d.Launch(device.Default, axpb, args) }
		}},
		{"recorder", func(*testing.B) func() error {
			return func() error { return r.Launch(device.Default, axpb, args...) }
		}},
	} {
		b.Run("by="+by.name, func(b *testing.B) {
			launch := by.with(b)
			b.ReportAllocs()
			for b.Loop() {
				if err := launch(); err != nil {
					b.Fatal(err)
				}
			}
			if err := d.Sync(device.Default); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// bare is the launch of k as the driver's own call, with all else done before.
// The benchmark's goroutine keeps its thread, and the context with it.
func bare(b *testing.B, d *Device, k *device.Kernel, args device.Args) func() error {
	b.Helper()
	handle, err := purego.Dlopen(libraryName, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		b.Fatal(err)
	}
	fn, err := purego.Dlsym(handle, "cuLaunchKernel")
	if err != nil {
		b.Fatal(err)
	}
	if err := d.enter(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(runtime.UnlockOSThread)
	f, err := d.function(k)
	if err != nil {
		b.Fatal(err)
	}
	f.set(args)
	call := &[11]uintptr{f.handle, 1, 1, 1, 1, 1, 1, 0, d.streams[device.Default], uintptr(unsafe.Pointer(unsafe.SliceData(f.params)))}
	return func() error {
		if r, _, _ := purego.SyscallN(fn, call[:]...); int32(r) != 0 {
			return d.drv.fail(result(int32(r)), "cuLaunchKernel")
		}
		return nil
	}
}
