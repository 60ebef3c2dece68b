package profiles

import (
	"errors"
	"math"

	"gputax/device/cuda/cupti"
)

// cuptiOps is an OpSource: the device's side of a capture on a card.
type cuptiOps struct {
	lib     *cupti.Library
	session *cupti.Session
	now     func() int64
	pushed  bool
	err     error // the first of Correlate
}

var _ OpSource = (*cuptiOps)(nil)

// CUPTIOps is the source of ops for a Capture on a CUDA device. Where there is
// no CUPTI the error says why, in one line.
func CUPTIOps() (OpSource, error) {
	lib, err := cupti.Open()
	if err != nil {
		return nil, err
	}
	return &cuptiOps{lib: lib}, nil
}

// Start implements OpSource.
func (c *cuptiOps) Start(now func() int64) (err error) {
	c.now, c.err, c.pushed = now, nil, false
	c.session, err = c.lib.Start()
	return err
}

// Correlate implements OpSource.
func (c *cuptiOps) Correlate(id uint64) {
	var err error
	if c.pushed {
		err = c.session.Pop()
	}
	if c.pushed = id != Apart; c.pushed {
		err = errors.Join(err, c.session.Push(id))
	}
	if c.err == nil {
		c.err = err
	}
}

// Stop implements OpSource.
func (c *cuptiOps) Stop(rec *Recording) error {
	offset := c.now() - int64(c.session.Elapsed())
	trace, err := c.session.Stop()
	if err := errors.Join(c.err, err); err != nil {
		return err
	}
	rec.Source.Name = c.lib.String()
	addOps(rec, trace, offset)
	return nil
}

// addOps adds a trace's ops to rec, whose clock is offset from the trace's.
func addOps(rec *Recording, trace *cupti.Trace, offset int64) {
	rec.Warnings = append(rec.Warnings, trace.Warnings...)
	streams := map[[3]uint32]int32{}
	copies := map[uint32]int{} // where they are in rec.Ops, by correlation
	for i := range trace.Ops {
		o := &trace.Ops[i]
		if first, ok := copies[o.Correlation]; ok && trace.Part(o) {
			whole := rec.Ops.At(first)
			whole.Bytes += int64(o.Bytes)
			whole.Dur = max(whole.Dur, offset+int64(trace.At(o.End))-whole.Start)
			continue
		}
		if o.Kind == cupti.OpCopy {
			copies[o.Correlation] = rec.Ops.Len()
		}
		start := offset + int64(trace.At(o.Start))
		dur := int64(trace.At(o.End)) + offset - start
		if o.Start == 0 { // CUPTI has no times for it
			start, dur = rec.Start, 0
		}
		rec.Ops.Add(Op{
			Kind: opKinds[o.Kind], Start: start, Dur: dur, Bytes: int64(o.Bytes), Name: rec.Names.ID(opName(o)),
			Call: callOf(o.External), Detail: -1, Stream: streamOf(streams, o), Device: uint8(o.Device),
			Blocks: blocks(o.Grid), Threads: uint16(o.Block[0] * o.Block[1] * o.Block[2]),
			Dir: dirs[o.Copy], Mem: mems[o.Host()], InGraph: o.InGraph,
		})
	}
}

var opKinds = map[cupti.OpKind]OpKind{cupti.OpKernel: OpKernel, cupti.OpCopy: OpCopy, cupti.OpMemset: OpMemset}

// dirs is which way a copy of CUPTI's kinds goes; arrays are on the device.
var dirs = map[uint8]Dir{
	1: HostToDevice, 2: DeviceToHost, 3: HostToDevice, 4: DeviceToHost,
	5: DeviceToDevice, 6: DeviceToDevice, 7: DeviceToDevice, 8: DeviceToDevice, 9: HostToHost, 10: PeerToPeer,
}

var mems = map[cupti.Memory]Mem{
	cupti.Pageable: MemPageable, cupti.Pinned: MemPinned, cupti.OnDevice: MemDevice, cupti.Managed: MemManaged,
}

func opName(o *cupti.Op) string {
	switch {
	case o.Kind == cupti.OpMemset:
		return "memset"
	case o.Up():
		return "upload"
	case o.Down():
		return "download"
	case o.Kind == cupti.OpCopy:
		return "copy"
	case o.Name == "":
		return "kernel"
	}
	return o.Name
}

// callOf is the id that was given to Correlate.
func callOf(id uint64) int32 {
	if id > math.MaxInt32 {
		return -1
	}
	return int32(id)
}

// blocks is how many a grid has, as many as fit.
func blocks(grid [3]int32) int32 {
	n := int64(grid[0]) * int64(grid[1]) * int64(grid[2])
	return int32(min(n, math.MaxInt32))
}

// streamOf numbers streams as they appear: CUPTI's own numbers are by context.
func streamOf(seen map[[3]uint32]int32, o *cupti.Op) int32 {
	key := [3]uint32{o.Device, o.Context, o.Stream}
	n, ok := seen[key]
	if !ok {
		n = int32(len(seen))
		seen[key] = n
	}
	return n
}
