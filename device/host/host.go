// Package host runs kernels as Go functions on this CPU. Its device memory is
// ordinary memory, its copies are real copies, and every call returns when its
// work is done, so streams and events order nothing that is not in order yet.
package host

import (
	"fmt"
	"math"
	"time"

	"gputax/device"
)

// Device is this CPU.
type Device struct {
	start   time.Time
	total   int64
	used    int64
	streams device.Stream
	events  device.Event
	graph   *Graph // being captured
}

var _ device.Device = (*Device)(nil)

// DefaultMemory is how much memory New lends: enough for any workload of this
// project, and a limit that a runaway allocation meets before the machine's.
const DefaultMemory = 8 << 30

// New is a device with DefaultMemory.
func New() *Device { return NewSize(DefaultMemory) }

// NewSize is a device with so many bytes of memory.
func NewSize(memory int64) *Device {
	return &Device{start: time.Now(), total: memory}
}

// Name implements device.Device.
func (d *Device) Name() string { return "host" }

// Clock implements device.Device.
func (d *Device) Clock() device.Clock { return device.Real }

// Now implements device.Device.
func (d *Device) Now() time.Duration { return time.Since(d.start) }

// Memory implements device.Device.
func (d *Device) Memory() (total, free int64) { return d.total, d.total - d.used }

// Alloc implements device.Device. Blocks are aligned to 8 bytes at least.
func (d *Device) Alloc(size int) (*device.Block, error) {
	if int64(size) > d.total-d.used {
		return nil, fmt.Errorf("%w: %d of %d bytes free", device.ErrOutOfMemory, d.total-d.used, d.total)
	}
	d.used += int64(size)
	return &device.Block{Host: aligned(size), Size: size}, nil
}

// AllocPinned implements device.Device. It takes nothing from the device's
// memory.
func (d *Device) AllocPinned(size int) (*device.Block, error) {
	return &device.Block{Host: aligned(size), Size: size, Pinned: true}, nil
}

// aligned gives size bytes that hold any device.Element at any element offset.
func aligned(size int) []byte {
	return device.Bytes(make([]float32, (size+3)/4))[:size:size]
}

// Free implements device.Device.
func (d *Device) Free(b *device.Block) error {
	if !b.Pinned {
		d.used -= int64(b.Size)
	}
	return nil
}

// NewStream implements device.Device.
func (d *Device) NewStream() (device.Stream, error) {
	d.streams++
	return d.streams, nil
}

// NewEvent implements device.Device.
func (d *Device) NewEvent() (device.Event, error) {
	d.events++
	return d.events - 1, nil
}

// Copy implements device.Device.
func (d *Device) Copy(c device.Copy) error {
	if d.graph != nil {
		d.graph.Nodes = append(d.graph.Nodes, Node{Copy: c})
		return nil
	}
	move(c)
	return nil
}

func move(c device.Copy) {
	if c.Direction == device.HostToDevice {
		copy(c.Device.Host(), c.Host)
	} else {
		copy(c.Host, c.Device.Host())
	}
}

// Launch implements device.Device.
func (d *Device) Launch(_ device.Stream, k *device.Kernel, args device.Args) error {
	if d.graph != nil {
		d.graph.Nodes = append(d.graph.Nodes, Node{Kernel: k, Args: append(device.Args(nil), args...)})
		return nil
	}
	k.Body(args)
	return nil
}

// Record implements device.Device.
func (d *Device) Record(device.Event, device.Stream) error { return nil }

// Wait implements device.Device.
func (d *Device) Wait(device.Stream, device.Event) error { return nil }

// Sync implements device.Device.
func (d *Device) Sync(device.Stream) error { return nil }

// HostWork implements device.Device.
func (d *Device) HostWork(device.HostWork) {}

// SharedMemory implements device.Device: bodies need none.
func (d *Device) SharedMemory() int { return math.MaxInt }

// Close implements device.Device.
func (d *Device) Close() error { return nil }
