package sim

import (
	"time"

	"gputax/device"
	"gputax/device/host"
)

// Op is one kernel or copy on the virtual clock.
type Op struct {
	Stream     device.Stream
	Start, End time.Duration
	Kernel     *device.Kernel // nil for a copy
	Args       device.Args    // of the kernel
	Copy       device.Copy    // where Kernel is nil
	InGraph    bool
}

// Observe has see told of every kernel and copy from here on, each when its
// time is known and before its body runs; nil ends that. What it is told is
// see's only until it returns. Nothing takes longer for it on the virtual clock.
func (d *Device) Observe(see func(*Op)) { d.see = see }

// saw tells whoever observes, and there must be one, of a launch or copy.
func (d *Device) saw(op Op, at span) {
	d.op = op
	d.op.Start, d.op.End = time.Duration(at.start), time.Duration(at.end)
	d.see(&d.op)
}

// replay is the nodes of a graph one by one, so that whoever observes sees the
// contents that each works on.
func (d *Device) replay(s device.Stream, g *host.Graph) error {
	one := &host.Graph{}
	for i, n := range g.Nodes {
		at := d.clock.node(s, &n)
		d.saw(Op{Stream: s, Kernel: n.Kernel, Args: n.Args, Copy: n.Copy, InGraph: true}, at)
		one.Nodes = g.Nodes[i : i+1]
		if err := d.Device.Replay(s, one); err != nil {
			return err
		}
	}
	return nil
}
