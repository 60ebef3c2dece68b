package cuda

import (
	"strings"
	"testing"
)

func TestWhyNot(t *testing.T) {
	for _, c := range []struct {
		name    string
		ordinal int
		set     func(*fake)
		want    string
	}{
		{"no device", 0, func(f *fake) { f.fails["init"] = resultNoDevice },
			`device: "cuda:0": the CUDA driver finds no NVIDIA GPU (CUDA_VISIBLE_DEVICES can hide one)`},
		{"a count of none", 0, func(f *fake) { f.devices = 0 },
			`device: "cuda:0": the CUDA driver finds no NVIDIA GPU (CUDA_VISIBLE_DEVICES can hide one)`},
		{"a driver that does not start", 0, func(f *fake) { f.fails["init"] = 803 },
			`device: "cuda:0": the CUDA driver does not start: cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): text of CUDA_ERROR_SYSTEM_DRIVER_MISMATCH`},
		{"one too high", 1, func(f *fake) { f.devices = 1 },
			`device: "cuda:1": no such device; this machine has 1 (cuda:0)`},
		{"many too high", 9, func(f *fake) { f.devices = 4 },
			`device: "cuda:9": no such device; this machine has 4 (cuda:0 to cuda:3)`},
		{"negative", -1, func(f *fake) { f.devices = 1 },
			`device: "cuda:-1": no such device; this machine has 1 (cuda:0)`},
		{"no room for a context", 0, func(f *fake) { f.fails["primaryCtxRetain"] = 2 },
			`device: "cuda:0": cuDevicePrimaryCtxRetain(0): CUDA_ERROR_OUT_OF_MEMORY (2): text of CUDA_ERROR_OUT_OF_MEMORY`},
		{"no stream", 0, func(f *fake) { f.fails["streamCreate"] = 2 },
			`device: "cuda:0": cuStreamCreate: CUDA_ERROR_OUT_OF_MEMORY (2): text of CUDA_ERROR_OUT_OF_MEMORY`},
	} {
		f := newFake()
		c.set(f)
		_, err := f.driver().open(c.ordinal)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.name, err, c.want)
		}
		f.isEmpty(t)
	}
}

// TestWhyHere runs the real loader, with whatever this machine has.
func TestWhyHere(t *testing.T) {
	n, err := Count()
	if (n > 0) != (err == nil) {
		t.Fatalf("%d devices and error %v", n, err)
	}
	all, listErr := List()
	if len(all) != n || (listErr == nil) != (err == nil) {
		t.Errorf("%d devices, %d in the list, error %v", n, len(all), listErr)
	}
	if _, err := Open(n); err == nil || !strings.HasPrefix(err.Error(), "device: \"cuda:") {
		t.Errorf("opening one more than there are: %v", err)
	}
}

func TestDescribe(t *testing.T) {
	const want = "NVIDIA Fake, compute capability 9.0, 1.0 GiB, driver for CUDA 13.1"
	f := newFake()
	d := opened(t, f)
	if got := d.Describe(); got != want {
		t.Errorf("described as %q, want %q", got, want)
	}
	if got := d.SharedMemory(); got != 227<<10 {
		t.Errorf("%d bytes of shared memory, want %d", got, 227<<10)
	}
	all, err := f.driver().list()
	if err != nil || len(all) != 2 || all[1] != want {
		t.Errorf("listed %q, error %v", all, err)
	}
}
