//go:build amd64 || arm64

package cupti

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"github.com/ebitengine/purego"
)

// driver is the few calls of the CUDA driver that are needed here. It is looked
// for when it is used, each time until it is found: there may be none, and
// nothing to wait for.
type driver struct {
	found bool

	current, synchronize, push, pop    uintptr
	count, device, state               uintptr
	retain, release                    uintptr
	alloc, free, set, download, naming uintptr

	// out is what calls write to. A driver is on the heap, which does not move;
	// it belongs to one session at a time, and so to one goroutine.
	out struct {
		mine, ctx, text       uintptr
		count, device, active int32
		flags                 uint32
		addr                  uint64
	}
}

// find loads the driver; it says false where there is none.
func (d *driver) find() bool {
	if d.found {
		return true
	}
	handle, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return false
	}
	l := &library{handle: handle}
	d.current, d.synchronize = l.symbol("cuCtxGetCurrent"), l.symbol("cuCtxSynchronize")
	d.push, d.pop = l.symbol("cuCtxPushCurrent_v2"), l.symbol("cuCtxPopCurrent_v2")
	d.count, d.device = l.symbol("cuDeviceGetCount"), l.symbol("cuDeviceGet")
	d.state = l.symbol("cuDevicePrimaryCtxGetState")
	d.retain, d.release = l.symbol("cuDevicePrimaryCtxRetain"), l.symbol("cuDevicePrimaryCtxRelease_v2")
	d.alloc, d.free = l.symbol("cuMemAlloc_v2"), l.symbol("cuMemFree_v2")
	d.set, d.download = l.symbol("cuMemsetD8_v2"), l.symbol("cuMemcpyDtoH_v2")
	d.naming = l.symbol("cuGetErrorName")
	d.found = l.missing == ""
	return d.found
}

// try calls a function of the driver.
func (d *driver) try(name string, fn uintptr, args ...uintptr) error {
	r := call(fn, args...)
	if r == 0 {
		return nil
	}
	d.out.text = 0
	call(d.naming, uintptr(r), pointer(&d.out.text))
	return fmt.Errorf("%s: %s (%d)", name, textAt(d.out.text), r)
}

// wait returns when the device has done its work in every context known here.
func (d *driver) wait() error {
	return d.contexts(func() (bool, error) { return true, d.try("cuCtxSynchronize", d.synchronize) })
}

// contexts calls f in the context of this thread, if it has one, then in the
// primary context of each device whose is in use, as long as f wants more.
func (d *driver) contexts(f func() (more bool, err error)) error {
	if !d.find() {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if call(d.current, pointer(&d.out.mine)) != 0 {
		return nil // the driver was not started
	}
	if d.out.mine != 0 {
		if more, err := f(); !more || err != nil {
			return err
		}
	}
	if err := d.try("cuDeviceGetCount", d.count, pointer(&d.out.count)); err != nil {
		return err
	}
	for i := range d.out.count {
		if more, err := d.primary(uintptr(i), f); !more || err != nil {
			return err
		}
	}
	return nil
}

// primary calls f in the primary context of a device, where that is in use and
// is not this thread's own.
func (d *driver) primary(ordinal uintptr, f func() (bool, error)) (more bool, err error) {
	out := &d.out
	if err := d.try("cuDeviceGet", d.device, pointer(&out.device), ordinal); err != nil {
		return false, err
	}
	dev := uintptr(out.device)
	if err := d.try("cuDevicePrimaryCtxGetState", d.state, dev, pointer(&out.flags), pointer(&out.active)); err != nil {
		return false, err
	}
	if out.active == 0 {
		return true, nil
	}
	if err := d.try("cuDevicePrimaryCtxRetain", d.retain, pointer(&out.ctx), dev); err != nil {
		return false, err
	}
	more = true
	if out.ctx != out.mine {
		if err = d.try("cuCtxPushCurrent", d.push, out.ctx); err == nil {
			more, err = f()
			err = errors.Join(err, d.try("cuCtxPopCurrent", d.pop, pointer(&out.ctx)))
		}
	}
	return more, errors.Join(err, d.try("cuDevicePrimaryCtxRelease", d.release, dev))
}

// sample sets n bytes of device memory and copies them to the host, in the
// first context there is.
func (d *driver) sample(n int) (done bool, err error) {
	err = d.contexts(func() (bool, error) {
		done = true
		if err := d.try("cuMemAlloc", d.alloc, pointer(&d.out.addr), uintptr(n)); err != nil {
			return false, err
		}
		addr := uintptr(d.out.addr)
		host, err := mapped(n)
		if err == nil {
			defer syscall.Munmap(host)
			err = d.try("cuMemsetD8", d.set, addr, 0x5a, uintptr(n))
		}
		if err == nil {
			err = d.try("cuMemcpyDtoH", d.download, address(host), addr, uintptr(n))
		}
		if err == nil && (host[0] != 0x5a || host[n-1] != 0x5a) {
			err = errors.New("memory that was set holds something else")
		}
		return false, errors.Join(err, d.try("cuMemFree", d.free, addr))
	})
	return done, err
}
