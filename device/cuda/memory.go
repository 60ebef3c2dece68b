package cuda

import (
	"runtime"
	"unsafe"

	"gputax/device"
	"gputax/device/cuda/cupti"
)

// Memory implements device.Device. Free is what the card had free when the
// device was opened, less what the device has lent since: cuMemGetInfo itself
// moves with other processes, and in granules of megabytes.
func (d *Device) Memory() (total, free int64) { return d.total, d.free }

// Alloc implements device.Device. The memory is zeroed when it returns, so any
// stream may use it; that is done on a stream apart, to wait for nothing else.
func (d *Device) Alloc(size int) (*device.Block, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer leave()
	b := &device.Block{Size: size}
	if r := d.drv.memAlloc(&b.Addr, uintptr(size)); r != 0 {
		return nil, d.drv.outOfMemory(r, "cuMemAlloc(%d bytes)", size)
	}
	if r := d.zero(b); r != 0 {
		d.drv.memFree(b.Addr)
		return nil, d.drv.fail(r, "cuMemsetD8Async(%d bytes)", size)
	}
	d.free -= int64(size)
	d.blocks[b] = struct{}{}
	return b, nil
}

// zero sets b to 0 and waits for it, as a part of its allocation: whoever
// observes the driver counts neither.
func (d *Device) zero(b *device.Block) result {
	defer cupti.BeginImplied().EndImplied()
	if r := d.drv.memsetD8Async(b.Addr, 0, uintptr(b.Size), d.zeroing); r != 0 {
		return r
	}
	return d.drv.streamSynchronize(d.zeroing)
}

// AllocPinned implements device.Device.
func (d *Device) AllocPinned(size int) (*device.Block, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer leave()
	var p unsafe.Pointer
	if r := d.drv.memHostAlloc(&p, uintptr(size), 0); r != 0 {
		return nil, d.drv.fail(r, "cuMemHostAlloc(%d bytes)", size)
	}
	// Unified addressing gives the device the host's own address.
	b := &device.Block{Host: unsafe.Slice((*byte)(p), size), Addr: uint64(uintptr(p)), Size: size, Pinned: true}
	clear(b.Host)
	d.blocks[b] = struct{}{}
	return b, nil
}

// Free implements device.Device. The driver waits for work that uses the
// memory.
func (d *Device) Free(b *device.Block) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer leave()
	if b.Pinned {
		if r := d.drv.memFreeHost(unsafe.Pointer(unsafe.SliceData(b.Host))); r != 0 {
			return d.drv.fail(r, "cuMemFreeHost(%d bytes)", b.Size)
		}
	} else {
		if r := d.drv.memFree(b.Addr); r != 0 {
			return d.drv.fail(r, "cuMemFree(%d bytes)", b.Size)
		}
		d.free += int64(b.Size)
	}
	delete(d.blocks, b)
	return nil
}

// Copy implements device.Device. A blocking copy is an asynchronous one on the
// Default stream and a wait for it. From and to pageable memory the driver
// first waits for the stream, then copies through pinned memory of its own,
// and may return from an upload before the last part has arrived: hence the
// wait here too.
func (d *Device) Copy(c device.Copy) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer leave()
	stream := d.streams[device.Default]
	if c.Mode == device.Async {
		stream = d.streams[c.Stream]
	}
	host, size := unsafe.Pointer(unsafe.SliceData(c.Host)), uintptr(len(c.Host))
	if c.Direction == device.HostToDevice {
		if r := d.drv.memcpyHtoDAsync(c.Device.Addr(), host, size, stream); r != 0 {
			return d.drv.fail(r, "cuMemcpyHtoDAsync(%d bytes)", size)
		}
	} else {
		if r := d.drv.memcpyDtoHAsync(host, c.Device.Addr(), size, stream); r != 0 {
			return d.drv.fail(r, "cuMemcpyDtoHAsync(%d bytes)", size)
		}
	}
	if c.Mode != device.Async {
		if r := d.settle(stream); r != 0 {
			return d.drv.fail(r, "cuStreamSynchronize after a copy of %d bytes", size)
		}
	}
	runtime.KeepAlive(c.Host)
	return nil
}
