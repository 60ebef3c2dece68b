package device

// Counter names one exact number of events.
type Counter int

const (
	Launches       Counter = iota // kernels launched one by one
	GraphLaunches                 // graphs replayed
	GraphKernels                  // kernels run by those graphs
	UploadCopies                  // host to device, by hand or by a graph
	UploadBytes                   //
	DownloadCopies                // device to host, by hand or by a graph
	DownloadBytes                 //
	MappedBytes                   // pinned memory that kernels were given to read or write in place
	PageableCopies                // of those copies, both ways, the pageable ones
	Syncs                         // waits for a stream; blocking copies wait too, and count as copies
	Allocs                        // device and pinned allocations
	Frees                         //
	counterCount
)

// units are the counters' names in benchmark results, in the order reports
// show them.
var units = [counterCount]string{
	Launches:       "launches/op",
	GraphLaunches:  "graph-launches/op",
	GraphKernels:   "graph-kernels/op",
	UploadCopies:   "h2d-copies/op",
	UploadBytes:    "h2d-B/op",
	DownloadCopies: "d2h-copies/op",
	DownloadBytes:  "d2h-B/op",
	MappedBytes:    "mapped-B/op",
	PageableCopies: "pageable-copies/op",
	Syncs:          "syncs/op",
	Allocs:         "dev-allocs/op",
	Frees:          "dev-frees/op",
}

// Unit is the counter's unit in benchmark results.
func (c Counter) Unit() string { return units[c] }

// Counters holds one number for each Counter: c[device.Launches].
type Counters [counterCount]int64

// Add adds o to c.
func (c *Counters) Add(o *Counters) {
	for i := range c {
		c[i] += o[i]
	}
}

// Sub is c less o.
func (c Counters) Sub(o Counters) Counters {
	for i := range c {
		c[i] -= o[i]
	}
	return c
}
