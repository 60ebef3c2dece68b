package cuda

import (
	"math"
	"unsafe"

	"gputax/device"
)

// Launch implements device.Device. After a kernel's first launch it allocates
// nothing, and costs little more than the driver's own call.
func (d *Device) Launch(s device.Stream, k *device.Kernel, args device.Args) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer leave()
	f, err := d.function(k)
	if err != nil {
		return err
	}
	dims := k.Dims(args)
	if dims.X == 0 {
		return nil
	}
	if dims.Shared > f.shared {
		if r := d.drv.funcSetAttribute(f.handle, functionMaxDynamicShared, int32(unsigned(dims.Shared))); r != 0 {
			return d.drv.fail(r, "cuFuncSetAttribute(%s, %d bytes of shared memory)", k.Symbol, dims.Shared)
		}
		f.shared = dims.Shared
	}
	f.set(args)
	grid := [3]uint32{unsigned(dims.X), 1, 1}
	if dims.Y != 0 {
		grid[1] = unsigned(dims.Y)
	}
	if dims.Z != 0 {
		grid[2] = unsigned(dims.Z)
	}
	r := d.drv.launchKernel(f.handle, grid, unsigned(dims.Threads), unsigned(dims.Shared), d.streams[s], unsafe.SliceData(f.params))
	if r != 0 {
		return d.drv.fail(r, "cuLaunchKernel(%s, %dx%dx%d blocks of %d threads and %d bytes of shared memory)",
			k.Symbol, grid[0], grid[1], grid[2], dims.Threads, dims.Shared)
	}
	return nil
}

// set puts each argument in its slot: an address in all eight bytes, a number
// in the first four, which on these little-endian machines are the low ones.
func (f *function) set(args device.Args) {
	for i := range f.slots {
		if args.Kind(i) == device.KindBuffer {
			f.slots[i] = args.Buffer(i).Addr()
		} else {
			f.slots[i] = uint64(args.Bits(i))
		}
	}
}

// unsigned is n as the driver takes it. What does not fit becomes a size that
// the driver refuses, never another that it would take.
func unsigned(n int) uint32 {
	if n < 0 || n > math.MaxInt32 {
		return math.MaxInt32 + 1
	}
	return uint32(n)
}
