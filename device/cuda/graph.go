package cuda

import "gputax/device"

// graph is captured work: as captured, and as the card runs it.
type graph struct {
	graph, exec uintptr
}

// BeginCapture implements device.Device. The capture is a relaxed one: the
// Recorder refuses what must not happen during it, and what may, loading a
// module at a kernel's first launch, a stricter mode would take for a mistake.
// It also binds the capture to no thread.
func (d *Device) BeginCapture(s device.Stream) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer leave()
	if r := d.drv.streamBeginCapture(d.streams[s], captureRelaxed); r != 0 {
		return d.drv.fail(r, "cuStreamBeginCapture(stream %d)", s)
	}
	d.capturing = s
	return nil
}

// EndCapture implements device.Device; what it returns is a *graph. Copies in
// it are by address: they read and write pinned memory when it runs.
func (d *Device) EndCapture(s device.Stream) (any, error) {
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer leave()
	d.capturing = noStream
	g := &graph{}
	if r := d.drv.streamEndCapture(d.streams[s], &g.graph); r != 0 {
		return nil, d.drv.fail(r, "cuStreamEndCapture(stream %d)", s)
	}
	if r := d.drv.graphInstantiate(&g.exec, g.graph, 0); r != 0 {
		err := d.drv.fail(r, "cuGraphInstantiateWithFlags")
		d.drv.graphDestroy(g.graph)
		return nil, err
	}
	d.graphs[g] = struct{}{}
	return g, nil
}

// Replay implements device.Device.
func (d *Device) Replay(s device.Stream, captured any) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer leave()
	if r := d.drv.graphLaunch(captured.(*graph).exec, d.streams[s]); r != 0 {
		return d.drv.fail(r, "cuGraphLaunch(stream %d)", s)
	}
	return nil
}

// FreeGraph implements device.Device. The driver lets a replay that still runs
// come to its end.
func (d *Device) FreeGraph(captured any) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer leave()
	g := captured.(*graph)
	delete(d.graphs, g)
	execResult, graphResult := d.drv.graphExecDestroy(g.exec), d.drv.graphDestroy(g.graph)
	if execResult != 0 {
		return d.drv.fail(execResult, "cuGraphExecDestroy")
	}
	if graphResult != 0 {
		return d.drv.fail(graphResult, "cuGraphDestroy")
	}
	return nil
}
