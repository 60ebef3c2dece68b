package cupti

import (
	"strings"

	"gputax/device"
)

// Counts is how often things happened in a trace.
type Counts struct {
	// Counters have the meaning that device.Recorder gives them. MappedBytes is
	// not seen, and 0.
	Counters device.Counters
	// Memsets is how often device memory was set.
	Memsets int64
	// Copies and bytes that went neither up nor down: between buffers of a
	// device, between devices, on the host.
	OtherCopies, OtherBytes int64
}

// Count counts t. Launches, copies and memsets are the device's operations:
// what is captured into a graph counts when it is replayed. Graph launches,
// waits, allocations and frees are calls that succeeded; one that is made inside
// another, or that is part of another (BeginImplied), does not count.
func (t *Trace) Count() Counts {
	var c Counts
	for i := range t.Calls {
		call := &t.Calls[i]
		if call.Result != 0 || call.Inner || call.Implied {
			continue
		}
		switch call.Kind {
		case CallGraphLaunch:
			c.Counters[device.GraphLaunches]++
		case CallSync:
			c.Counters[device.Syncs]++
		case CallAlloc:
			c.Counters[device.Allocs]++
		case CallFree:
			c.Counters[device.Frees]++
		}
	}
	parts := map[uint32]bool{} // copies seen, by correlation
	for i := range t.Ops {
		o := &t.Ops[i]
		switch o.Kind {
		case OpKernel:
			if o.InGraph {
				c.Counters[device.GraphKernels]++
			} else {
				c.Counters[device.Launches]++
			}
		case OpMemset:
			if o.Call < 0 || !t.Calls[o.Call].Implied {
				c.Memsets++
			}
		case OpCopy:
			whole := !parts[o.Correlation] || !t.Part(o)
			parts[o.Correlation] = true
			c.addCopy(o, whole)
		}
	}
	return c
}

// Part says whether o, where another copy has its correlation, is a part of that
// one: the driver may make a copy in parts, each with a record. A graph's copies
// share their correlation and are whole, as are those of a call that makes many.
func (t *Trace) Part(o *Op) bool {
	return o.Kind == OpCopy && !o.InGraph && (o.Call < 0 || !strings.Contains(t.Calls[o.Call].Name, "Batch"))
}

// addCopy counts a copy's bytes, and the copy itself unless it is a later part
// of one.
func (c *Counts) addCopy(o *Op, whole bool) {
	n := int64(0)
	if whole {
		n = 1
	}
	switch {
	case o.Up():
		c.Counters[device.UploadCopies] += n
		c.Counters[device.UploadBytes] += int64(o.Bytes)
	case o.Down():
		c.Counters[device.DownloadCopies] += n
		c.Counters[device.DownloadBytes] += int64(o.Bytes)
	default:
		c.OtherCopies += n
		c.OtherBytes += int64(o.Bytes)
		return
	}
	if o.Host() == Pageable {
		c.Counters[device.PageableCopies] += n
	}
}
