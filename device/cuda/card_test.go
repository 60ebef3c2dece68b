package cuda

import (
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/devicetest"
)

// The tests here need a card, and skip where there is none.

// card skips a test where there is no card for it.
func card(tb testing.TB) {
	tb.Helper()
	if err := Why(); err != nil {
		tb.Skipf("waits for a card: %v", err)
	}
}

// onCard is a device that is closed when the test ends.
func onCard(t *testing.T) *Device {
	t.Helper()
	card(t)
	d, err := Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	t.Log(d.Describe())
	return d
}

func TestConformance(t *testing.T) {
	card(t)
	devicetest.Run(t, func(t *testing.T) device.Device {
		d, err := Open(0)
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}

// TestOtherGoroutines uses a device where it was not opened.
func TestOtherGoroutines(t *testing.T) {
	r := device.NewRecorder(onCard(t))
	for range 8 {
		t.Run("", func(t *testing.T) { roundTrip(t, r) })
	}
}

// changed is a copy of the suite's first kernel.
func changed(change func(k *device.Kernel)) *device.Kernel {
	k := *devicetest.Kernels()[0]
	change(&k)
	return &k
}

// TestCardRefusals looks for the card's own words, and that it goes on after
// them.
func TestCardRefusals(t *testing.T) {
	r := device.NewRecorder(onCard(t))
	b, err := r.Alloc(16)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		k    *device.Kernel
		want []string
	}{
		{"bad PTX", changed(func(k *device.Kernel) {
			k.Module = &device.Module{Name: "bad", PTX: ".version 7.8\n.target sm_80\n.address_size 64\nnonsense;\n"}
		}), []string{"cuModuleLoadDataEx(module bad, ", "CUDA_ERROR_INVALID_PTX", "ptxas", "nonsense"}},
		{"no such kernel", changed(func(k *device.Kernel) { k.Symbol = "none" }), []string{"cuModuleGetFunction(none", "CUDA_ERROR_NOT_FOUND"}},
		{"too many threads", changed(func(k *device.Kernel) {
			k.Dims = func(device.Args) device.Dims { return device.Dims{X: 1, Threads: 4096} }
		}), []string{"blocks of 4096 threads", "CUDA_ERROR_INVALID_VALUE"}},
		{"too much shared memory", changed(func(k *device.Kernel) {
			k.Dims = func(device.Args) device.Dims { return device.Dims{X: 1, Threads: 1, Shared: 1 << 20} }
		}), []string{"cuFuncSetAttribute", "1048576 bytes", "CUDA_ERROR_INVALID_VALUE"}},
	} {
		err := r.Launch(device.Default, c.k, device.Buf(b), device.Int(4), device.Float(1), device.Float(1))
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v has no %q", c.name, err, want)
			}
		}
		roundTrip(t, r)
	}
}

// TestCardSharedMemory has a kernel ask for more than it gets unasked.
func TestCardSharedMemory(t *testing.T) {
	r := device.NewRecorder(onCard(t))
	b, err := r.Alloc(16)
	if err != nil {
		t.Fatal(err)
	}
	k := changed(func(k *device.Kernel) {
		k.Dims = func(device.Args) device.Dims { return device.Dims{X: 1, Threads: 32, Shared: 96 << 10} }
	})
	if err := r.Launch(device.Default, k, device.Buf(b), device.Int(4), device.Float(1), device.Float(3)); err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 4)
	if err := r.Download(device.Bytes(got), b); err != nil || got[3] != 3 {
		t.Errorf("got %v, error %v", got, err)
	}
}

// TestCardHotPath is TestHotPathAllocatesNothing with the real driver.
func TestCardHotPath(t *testing.T) {
	r := device.NewRecorder(onCard(t))
	b, err := r.Alloc(1024)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.AllocPinned(1024)
	if err != nil {
		t.Fatal(err)
	}
	hotPath(t, r, b, map[string]func() error{
		"async": func() error { return r.UploadAsync(device.Default, b, p) },
	})
}
