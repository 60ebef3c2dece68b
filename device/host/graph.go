package host

import "gputax/device"

// Graph is captured work, in the order it was issued.
type Graph struct {
	Nodes []Node
}

// Node is one launch, or one copy where Kernel is nil.
type Node struct {
	Kernel *device.Kernel
	Args   device.Args
	Copy   device.Copy
}

// BeginCapture implements device.Device.
func (d *Device) BeginCapture(device.Stream) error {
	d.graph = &Graph{}
	return nil
}

// EndCapture implements device.Device; what it returns is a *Graph.
func (d *Device) EndCapture(device.Stream) (any, error) {
	g := d.graph
	d.graph = nil
	return g, nil
}

// Replay implements device.Device.
func (d *Device) Replay(_ device.Stream, graph any) error {
	for _, n := range graph.(*Graph).Nodes {
		if n.Kernel != nil {
			n.Kernel.Body(n.Args)
		} else {
			move(n.Copy)
		}
	}
	return nil
}

// FreeGraph implements device.Device.
func (d *Device) FreeGraph(any) error { return nil }
