package profiles

// OpSource sees what a device does by itself, apart from the calls that cause
// it: CUPTI's activity records do. Capture uses one where it is given one, and
// then takes times, streams and layouts of ops from it; what only the host
// knows, such as declared work and contents, comes from the calls.
//
// Capture calls, in this order and from one goroutine:
//
//	Start(now)       just before the op
//	Correlate(i)     before every call to the device, i its index in Calls
//	Correlate(Apart) before calls that are none of the recording's
//	Stop(rec)        after the op, when the device has done all it was given
type OpSource interface {
	// Start begins to record. The function now tells the time that ops are to
	// be on, in nanoseconds: a source with a clock of its own reads both, here
	// and in Stop, and converts.
	Start(now func() int64) error
	// Correlate says that what this goroutine issues from here on belongs to
	// call number id. It must be cheap, and must not fail: what goes wrong is
	// Stop's to tell. A goroutine may move to another thread between two calls
	// to the device, yet not inside one.
	Correlate(id uint64)
	// Stop ends recording and adds to rec.Ops, which is empty before it, every
	// op that it saw between Start and Stop, in any order. Op.Call is the id it
	// belongs to, or -1 where it is Apart or not known; names go into
	// rec.Names; Op.Detail is -1. It may set rec.Source.Name, add to
	// rec.Source.Unseen and rec.Warnings, and touches nothing else.
	Stop(rec *Recording) error
}

// Apart is the id of what belongs to no call.
const Apart = ^uint64(0)
