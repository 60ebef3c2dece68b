// Package sim is a simulated GPU: kernels run as their Go bodies, so results
// are right, and time is virtual, computed from a device profile and the work
// that kernels and host code declare. The same calls give the same virtual
// time to the last digit on any machine.
package sim

import (
	"time"

	"gputax/device"
	"gputax/device/host"
)

// Device is a simulated GPU.
type Device struct {
	*host.Device // memory, results and capture
	profile      *Profile
	clock        clock
	capturing    bool
	see          func(*Op) // see Observe
	op           Op        // scratch, so that telling of an op needs no heap
}

var _ device.Device = (*Device)(nil)

// New is a device that runs by p.
func New(p *Profile) *Device {
	return &Device{
		Device:  host.NewSize(int64(p.MemoryBytes)),
		profile: p,
		clock:   clock{c: newCosts(p), streams: make([]int64, 1), known: newKernelTimes(p.Kernels)},
	}
}

// Profile is what the device runs by.
func (d *Device) Profile() *Profile { return d.profile }

// Name implements device.Device.
func (d *Device) Name() string { return "sim:" + d.profile.Name }

// Clock implements device.Device.
func (d *Device) Clock() device.Clock { return device.Virtual }

// Now implements device.Device: the host's virtual time.
func (d *Device) Now() time.Duration { return time.Duration(d.clock.host) }

// Alloc implements device.Device.
func (d *Device) Alloc(size int) (*device.Block, error) {
	d.clock.host += d.clock.c.alloc
	return d.Device.Alloc(size)
}

// AllocPinned implements device.Device.
func (d *Device) AllocPinned(size int) (*device.Block, error) {
	d.clock.host += d.clock.c.allocPinned
	return d.Device.AllocPinned(size)
}

// Free implements device.Device.
func (d *Device) Free(b *device.Block) error {
	if d.clock.c.freeWaits && !b.Pinned {
		for _, t := range d.clock.streams {
			d.clock.wait(t)
		}
	}
	d.clock.host += d.clock.c.free
	return d.Device.Free(b)
}

// NewStream implements device.Device.
func (d *Device) NewStream() (device.Stream, error) {
	d.clock.streams = append(d.clock.streams, 0)
	return d.Device.NewStream()
}

// NewEvent implements device.Device.
func (d *Device) NewEvent() (device.Event, error) {
	d.clock.events = append(d.clock.events, 0)
	return d.Device.NewEvent()
}

// Copy implements device.Device.
func (d *Device) Copy(c device.Copy) error {
	if !d.capturing {
		if at := d.clock.transfer(c); d.see != nil {
			d.saw(Op{Stream: c.Stream, Copy: c}, at)
		}
	}
	return d.Device.Copy(c)
}

// Launch implements device.Device.
func (d *Device) Launch(s device.Stream, k *device.Kernel, args device.Args) error {
	if !d.capturing {
		if at := d.clock.launch(s, k, args); d.see != nil {
			d.saw(Op{Stream: s, Kernel: k, Args: args}, at)
		}
	}
	return d.Device.Launch(s, k, args)
}

// Record implements device.Device.
func (d *Device) Record(e device.Event, s device.Stream) error {
	d.clock.host += d.clock.c.eventHost
	d.clock.events[e] = max(d.clock.streams[s], d.clock.host)
	return nil
}

// Wait implements device.Device.
func (d *Device) Wait(s device.Stream, e device.Event) error {
	d.clock.host += d.clock.c.eventHost
	d.clock.streams[s] = max(d.clock.streams[s], d.clock.events[e])
	return nil
}

// Sync implements device.Device.
func (d *Device) Sync(s device.Stream) error {
	d.clock.wait(d.clock.streams[s])
	d.clock.host += d.clock.c.syncHost
	return nil
}

// BeginCapture implements device.Device.
func (d *Device) BeginCapture(s device.Stream) error {
	d.capturing = true
	return d.Device.BeginCapture(s)
}

// EndCapture implements device.Device.
func (d *Device) EndCapture(s device.Stream) (any, error) {
	d.capturing = false
	return d.Device.EndCapture(s)
}

// Replay implements device.Device: one call of the host, then each node in
// turn on the stream.
func (d *Device) Replay(s device.Stream, graph any) error {
	c := &d.clock
	c.host += c.c.graphHost
	c.streams[s] = max(c.streams[s], c.host+c.c.launchLatency)
	g := graph.(*host.Graph)
	if d.see != nil {
		return d.replay(s, g)
	}
	for i := range g.Nodes {
		c.node(s, &g.Nodes[i])
	}
	return d.Device.Replay(s, graph)
}

// HostWork implements device.Device.
func (d *Device) HostWork(w device.HostWork) { d.clock.hostWork(w) }
