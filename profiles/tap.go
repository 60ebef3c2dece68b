package profiles

import (
	"errors"
	"slices"
	"time"

	"gputax/device"
	"gputax/device/host"
	"gputax/device/sim"
)

// tap is a device between a Recorder and another device: it passes every call
// on, and has its logbook note it.
type tap struct {
	device.Device
	watch device.Watcher // the device, where it is one
	sim   *sim.Device    // the device, where it is one
	host  *host.Device   // the device, where it is one
	timer device.Timer   // times each op by events; nil where something better tells
	log   *logbook

	graphs    map[any][]node // captured graphs, by the device's own handle
	single    [1]node        // scratch: an op by itself
	nodes     []node         // of the graph being captured
	capture   int            // the call that is the capture
	capturing bool
	draining  bool
}

var (
	_ device.Device  = (*tap)(nil)
	_ device.Watcher = (*tap)(nil)
)

func newTap(dev device.Device, log *logbook) *tap {
	t := &tap{Device: dev, log: log, graphs: map[any][]node{}}
	t.watch, _ = dev.(device.Watcher)
	t.sim, _ = dev.(*sim.Device)
	t.host, _ = dev.(*host.Device)
	if t.sim == nil && t.host == nil && log.ops == nil {
		t.timer, _ = dev.(device.Timer)
	}
	return t
}

// EnterPhase implements device.Watcher.
func (t *tap) EnterPhase(name string) {
	t.log.enterPhase(name)
	if t.watch != nil {
		t.watch.EnterPhase(name)
	}
}

// EnterStep implements device.Watcher.
func (t *tap) EnterStep(n int) {
	t.log.enterStep(n)
	if t.watch != nil {
		t.watch.EnterStep(n)
	}
}

// Padded implements device.Watcher.
func (t *tap) Padded(useful, total int64) {
	t.log.padded(useful, total)
	if t.watch != nil {
		t.watch.Padded(useful, total)
	}
}

// Draining implements device.Watcher.
func (t *tap) Draining(on bool) {
	t.draining = on
	if t.watch != nil {
		t.watch.Draining(on)
	}
}

// Alloc implements device.Device.
func (t *tap) Alloc(size int) (*device.Block, error) {
	call := t.log.begin(Call{Kind: CallAlloc, Bytes: int64(size), Mem: MemDevice}, "allocate")
	b, err := t.Device.Alloc(size)
	t.log.end(call, err)
	return b, err
}

// AllocPinned implements device.Device.
func (t *tap) AllocPinned(size int) (*device.Block, error) {
	call := t.log.begin(Call{Kind: CallAlloc, Bytes: int64(size), Mem: MemPinned}, "allocate pinned")
	b, err := t.Device.AllocPinned(size)
	t.log.end(call, err)
	return b, err
}

// Free implements device.Device.
func (t *tap) Free(b *device.Block) error {
	c, name := Call{Kind: CallFree, Bytes: int64(b.Size), Mem: MemDevice, Blocking: t.freeWaits()}, "free"
	if b.Pinned {
		c.Mem, c.Blocking, name = MemPinned, false, "free pinned"
	}
	call := t.log.begin(c, name)
	err := t.Device.Free(b)
	t.log.end(call, err)
	t.log.forget(b)
	return err
}

// freeWaits says whether freeing device memory waits for the device, as the
// CUDA driver does.
func (t *tap) freeWaits() bool {
	if t.sim != nil {
		return t.sim.Profile().FreeWaits != 0
	}
	return t.host == nil
}

// Copy implements device.Device.
func (t *tap) Copy(c device.Copy) error {
	if t.capturing {
		t.nodes = append(t.nodes, t.log.captured(t.log.copyNode(c)))
		return t.Device.Copy(c)
	}
	if !t.log.on {
		return t.Device.Copy(c)
	}
	n := &t.single[0]
	*n = t.log.copyNode(c)
	n.detail.Content = t.log.content(n)
	timed := t.startTimer(c.Stream)
	call := t.log.begin(Call{Kind: CallCopy, Bytes: n.op.Bytes, Blocking: c.Mode != device.Async}, n.name)
	err := t.Device.Copy(c)
	t.log.end(call, err)
	return errors.Join(err, t.ran(call, c.Stream, timed, err, t.single[:]))
}

// Launch implements device.Device.
func (t *tap) Launch(s device.Stream, k *device.Kernel, args device.Args) error {
	if t.capturing {
		n := t.log.captured(t.log.kernelNode(k, args))
		n.args = slices.Clone(args)
		t.nodes = append(t.nodes, n)
		return t.Device.Launch(s, k, args)
	}
	if !t.log.on {
		return t.Device.Launch(s, k, args)
	}
	n := &t.single[0]
	*n = t.log.kernelNode(k, args)
	n.detail.Content = t.log.content(n)
	timed := t.startTimer(s)
	call := t.log.begin(Call{Kind: CallLaunch}, n.name)
	err := t.Device.Launch(s, k, args)
	t.log.end(call, err)
	n.detail.After = t.log.content(n)
	return errors.Join(err, t.ran(call, s, timed, err, t.single[:]))
}

// Record implements device.Device.
func (t *tap) Record(e device.Event, s device.Stream) error {
	call := t.log.begin(Call{}, "record event")
	err := t.Device.Record(e, s)
	t.log.end(call, err)
	return err
}

// Wait implements device.Device.
func (t *tap) Wait(s device.Stream, e device.Event) error {
	call := t.log.begin(Call{}, "wait for event")
	err := t.Device.Wait(s, e)
	t.log.end(call, err)
	return err
}

// Sync implements device.Device. A harness's is not counted.
func (t *tap) Sync(s device.Stream) error {
	c, name := Call{Kind: CallSync, Blocking: true}, "sync"
	if t.draining {
		c.Kind, name = CallOther, "drain"
	}
	call := t.log.begin(c, name)
	err := t.Device.Sync(s)
	t.log.end(call, err)
	return err
}

// BeginCapture implements device.Device. What is captured is one call, until
// EndCapture: nothing in it runs.
func (t *tap) BeginCapture(s device.Stream) error {
	t.capture = t.log.begin(Call{}, "capture graph")
	err := t.Device.BeginCapture(s)
	if err != nil {
		t.log.end(t.capture, err)
		return err
	}
	t.capturing, t.nodes = true, nil
	return nil
}

// EndCapture implements device.Device.
func (t *tap) EndCapture(s device.Stream) (any, error) {
	t.capturing = false
	graph, err := t.Device.EndCapture(s)
	t.log.end(t.capture, err)
	if err == nil {
		t.graphs[graph] = t.nodes
	}
	return graph, err
}

// Replay implements device.Device.
func (t *tap) Replay(s device.Stream, graph any) error {
	if !t.log.on {
		return t.Device.Replay(s, graph)
	}
	nodes := t.graphs[graph]
	timed := t.startTimer(s)
	call := t.log.begin(Call{Kind: CallGraphLaunch}, "launch graph")
	if t.host != nil {
		err := t.replayOnHost(call, s, graph.(*host.Graph), nodes)
		t.log.end(call, err)
		return err
	}
	t.log.replaying = nodes
	err := t.Device.Replay(s, graph)
	t.log.end(call, err)
	if t.sim != nil { // whose ops were seen one by one
		return err
	}
	return errors.Join(err, t.ran(call, s, timed, err, nodes))
}

// replayOnHost runs a graph node by node, so that each has its own time.
func (t *tap) replayOnHost(call int, s device.Stream, g *host.Graph, nodes []node) error {
	one := &host.Graph{}
	for i := range g.Nodes {
		n := nodes[i]
		n.detail.Content = t.log.content(&n)
		one.Nodes = g.Nodes[i : i+1]
		start := t.log.now()
		if err := t.Device.Replay(s, one); err != nil {
			return err
		}
		t.log.op(call, s, start, t.log.now()-start, &n)
	}
	return nil
}

// FreeGraph implements device.Device.
func (t *tap) FreeGraph(graph any) error {
	call := t.log.begin(Call{}, "free graph")
	err := t.Device.FreeGraph(graph)
	t.log.end(call, err)
	delete(t.graphs, graph)
	return err
}

// HostWork implements device.Device.
func (t *tap) HostWork(w device.HostWork) {
	if t.log.on {
		t.log.hostWork(w, t.Device.HostWork)
	} else {
		t.Device.HostWork(w)
	}
}

// startTimer marks, where ops are timed by events, that one follows.
func (t *tap) startTimer(s device.Stream) bool {
	return t.timer != nil && s == device.Default && t.timer.StartTimer() == nil
}

// ran notes that call ran the ops: when it was seen, by events, or else when
// the call was made.
func (t *tap) ran(call int, s device.Stream, timed bool, err error, nodes []node) error {
	var took time.Duration
	var stopped int64
	if timed {
		var stopErr error
		if took, stopErr = t.timer.StopTimer(); stopErr != nil {
			return stopErr
		}
		stopped = t.log.now()
	}
	if err != nil {
		return nil // the call says it
	}
	c := t.log.rec.Calls.At(call)
	for i := range nodes {
		n := &nodes[i]
		start, dur := c.Start, c.Dur
		switch {
		case t.sim != nil:
			start, dur = t.log.seen.start, t.log.seen.end-t.log.seen.start
		case timed: // and it was over when the host had waited
			dur = int64(took) / int64(len(nodes))
			start = min(c.Start, stopped-int64(took)) + int64(i)*dur
		}
		if n.detail.Content == 0 { // a download that only now is there
			n.detail.Content = t.log.downloaded(n)
		}
		t.log.op(call, s, start, dur, n)
	}
	return nil
}
