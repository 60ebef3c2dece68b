package profiles

import "fmt"

// OpSource sees what a device does by itself, apart from the calls that cause
// it: CUPTI's activity records do. Capture uses one where it is given one, and
// then takes times, streams and layouts of ops from it; what only the host
// knows, such as declared work and contents, comes from the calls.
//
// Capture calls, in this order and from one goroutine:
//
//	Start(now)       just before the op
//	Correlate(i)     before every call to the device, i its index in Calls
//	Correlate(Apart) after that call
//	Stop(rec)        after the op, when the device has done all it was given
//
// From Correlate(i) to Correlate(Apart) the goroutine keeps its thread, so that
// a source may push an external correlation id there and pop it.
type OpSource interface {
	// Start begins to record. The function now tells the time that ops are to
	// be on, in nanoseconds: a source with a clock of its own reads both, here
	// and in Stop, and converts.
	Start(now func() int64) error
	// Correlate says that what this thread issues from here on belongs to call
	// number id. It must be cheap, and must not fail: what goes wrong is Stop's
	// to tell.
	Correlate(id uint64)
	// Stop ends recording and adds to rec.Ops, which is empty before it, every
	// op that it saw between Start and Stop, in any order. Op.Call is the id it
	// belongs to, or -1 where it is Apart or not known; names go into
	// rec.Names; Op.Detail is -1. It may set rec.Source.Name, to say who it is,
	// add to rec.Source.Unseen and rec.Warnings, and touches nothing else.
	Stop(rec *Recording) error
}

// Apart is the id of what belongs to no call.
const Apart = ^uint64(0)

// stopOps ends the source of ops and joins what it saw to what the calls knew.
func (l *logbook) stopOps() error {
	if l.ops == nil {
		return nil
	}
	ours, name := l.rec.Ops, l.rec.Source.Name
	l.rec.Ops = Log[Op]{}
	if err := l.ops.Stop(l.rec); err != nil {
		return err
	}
	if l.rec.Source.Name != name {
		l.rec.Config = append(l.rec.Config, Setting{"device seen by", l.rec.Source.Name})
		l.rec.Source.Name = name
	}
	l.join(&ours)
	return nil
}

// join gives the ops that were seen, in l.rec, what the calls knew of them, in
// ours. An op of ours that was not seen stays, at its call's time.
func (l *logbook) join(ours *Log[Op]) {
	sortLog(&l.rec.Ops, func(o *Op) int64 { return o.Start })
	seen := map[int32][]int{} // the ops that were seen, by call, in order
	for i, o := range l.rec.Ops.All() {
		if o.Call >= int32(l.rec.Calls.Len()) {
			o.Call = -1
		}
		if o.Kind != OpMemset { // a call of ours makes none that it knows of
			seen[o.Call] = append(seen[o.Call], i)
		}
	}
	lost := 0
	for _, o := range ours.All() {
		left := seen[o.Call]
		if len(left) == 0 || l.rec.Ops.At(left[0]).Kind != o.Kind {
			l.rec.Ops.Add(*o)
			lost++
			continue
		}
		s := l.rec.Ops.At(left[0])
		seen[o.Call] = left[1:]
		s.Detail, s.Name, s.Stream, s.Mem, s.InGraph = o.Detail, o.Name, o.Stream, o.Mem, o.InGraph
		if o.Kind == OpKernel {
			s.Bytes = o.Bytes // that it works on in place
		}
	}
	if lost > 0 {
		l.rec.Warnings = append(l.rec.Warnings,
			fmt.Sprintf("%d of %d ops were not seen on the device; their times are those of their calls", lost, ours.Len()))
	}
}
