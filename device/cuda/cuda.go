// Package cuda drives NVIDIA GPUs through the CUDA driver, which it loads at
// run time: no cgo, no build tag and no toolkit, and a binary that runs where
// there is no driver and says so.
//
//	dev, err := cuda.Open(0)
//	r := device.NewRecorder(dev)
//
// Kernels run from the PTX in their Module, which the driver compiles for the
// card at a kernel's first launch.
//
// A Device belongs to one goroutine at a time, as every device.Device does, but
// to no thread: each method holds its thread while it makes the context
// current there and calls. That costs a launch one short call more, and lets a
// goroutine have several devices, and a benchmark open one and use it in its
// parts. Locking a thread to the device in Open was rejected: nothing would
// tell a caller on another goroutine that its calls go to another context.
package cuda

import (
	"errors"
	"runtime"
	"time"
	"unsafe"

	"gputax/device"
)

// Device is one CUDA device. Make it with Open.
type Device struct {
	drv    *driver
	name   string
	about  string
	shared int // bytes a block can have
	start  time.Time
	handle int32   // the CUdevice
	ctx    uintptr // its primary context; 0 before Open is done and after Close

	total, free int64 // bytes; see Memory

	streams   []uintptr // by device.Stream
	events    []uintptr // by device.Event
	timing    [2]uintptr
	zeroing   uintptr // a stream of our own, for Alloc
	capturing device.Stream
	draining  bool    // Syncs are a harness's
	ranges    *ranges // of phases; nil where no tool listens

	blocks    map[*device.Block]struct{}
	modules   map[*device.Module]uintptr
	functions map[*device.Kernel]*function
	graphs    map[*graph]struct{}
}

var _ device.Device = (*Device)(nil)

// Name implements device.Device.
func (d *Device) Name() string { return d.name }

// Describe is the card's name, compute capability and memory, and the driver's
// version, for reports.
func (d *Device) Describe() string { return d.about }

// SharedMemory implements device.Device.
func (d *Device) SharedMemory() int { return d.shared }

// Clock implements device.Device.
func (d *Device) Clock() device.Clock { return device.Real }

// Now implements device.Device.
func (d *Device) Now() time.Duration { return time.Since(d.start) }

// HostWork implements device.Device: it already took its time.
func (d *Device) HostWork(device.HostWork) {}

var errClosed = errors.New("the device is closed")

// enter holds the goroutine's thread and makes the context current on it, as
// every call that follows needs. Where it gives no error, leave ends it.
func (d *Device) enter() error {
	if d.ctx == 0 {
		return errClosed
	}
	runtime.LockOSThread()
	if r := d.drv.ctxSetCurrent(d.ctx); r != 0 {
		runtime.UnlockOSThread()
		return d.drv.fail(r, "cuCtxSetCurrent")
	}
	return nil
}

func leave() { runtime.UnlockOSThread() }

// Close implements device.Device. It waits for what still runs, frees what the
// caller did not, and gives back this device's share of the context. It goes
// on past errors and returns the first.
func (d *Device) Close() error {
	if d.ctx == 0 {
		return nil
	}
	d.EnterPhase("")
	first := d.enter()
	if first == nil {
		first = d.release()
		leave()
	}
	d.ctx = 0
	if r := d.drv.primaryCtxRelease(d.handle); r != 0 && first == nil {
		first = d.drv.fail(r, "cuDevicePrimaryCtxRelease")
	}
	return first
}

// release gives back what the device made in its context.
func (d *Device) release() (first error) {
	note := func(r result, call string) {
		if r != 0 && first == nil {
			first = d.drv.fail(r, "%s", call)
		}
	}
	if d.capturing != noStream {
		var graph uintptr
		if d.drv.streamEndCapture(d.streams[d.capturing], &graph) == 0 {
			note(d.drv.graphDestroy(graph), "cuGraphDestroy")
		}
	}
	for _, s := range d.streams {
		note(d.drv.streamSynchronize(s), "cuStreamSynchronize")
	}
	for g := range d.graphs {
		note(d.drv.graphExecDestroy(g.exec), "cuGraphExecDestroy")
		note(d.drv.graphDestroy(g.graph), "cuGraphDestroy")
	}
	for b := range d.blocks {
		if b.Pinned {
			note(d.drv.memFreeHost(unsafe.Pointer(unsafe.SliceData(b.Host))), "cuMemFreeHost")
		} else {
			note(d.drv.memFree(b.Addr), "cuMemFree")
		}
	}
	for _, e := range append(d.events, d.timing[:]...) {
		if e != 0 {
			note(d.drv.eventDestroy(e), "cuEventDestroy")
		}
	}
	for _, s := range d.streams {
		note(d.drv.streamDestroy(s), "cuStreamDestroy")
	}
	if d.zeroing != 0 {
		note(d.drv.streamDestroy(d.zeroing), "cuStreamDestroy")
	}
	for _, m := range d.modules {
		note(d.drv.moduleUnload(m), "cuModuleUnload")
	}
	note(d.drv.ctxSetCurrent(0), "cuCtxSetCurrent") // leaves the thread as it was
	return first
}
