// Package device is the seam between work and where it runs.
//
//  1. A backend (device/host, device/sim, device/cuda) implements Device.
//  2. A Recorder wraps one Device. Code that does work calls the Recorder: it
//     checks every argument, counts every event in the current phase, and
//     hands the call on. No backend checks or counts for itself, so counters
//     and errors are the same everywhere.
//  3. A Kernel carries its Go body (the reference every backend must agree
//     with), its PTX symbol and the work it declares, so rates and simulated
//     times are derived in one place.
//
// A Recorder and its Device belong to one goroutine.
package device

import "time"

// Device is what a backend implements: small enough to read on one screen.
// Its methods trust their arguments; call them through a Recorder, which
// checks them. Work on one stream runs in the order it was issued; work on
// different streams is ordered only by events and by Sync.
type Device interface {
	// Name is the device's name in benchmark names: host, sim:h200, cuda:0.
	Name() string
	// Clock says whether Now is measured or simulated.
	Clock() Clock
	// Now is the time on the host's side of the device since it was opened.
	Now() time.Duration
	// Memory is the device's memory, in bytes: all of it, and what is free.
	Memory() (total, free int64)

	// Alloc gives size bytes of device memory, zeroed; size is at least 1.
	Alloc(size int) (*Block, error)
	// AllocPinned gives size bytes of host memory that the device can read and
	// write by itself, zeroed.
	AllocPinned(size int) (*Block, error)
	// Free gives back a block of either kind.
	Free(*Block) error

	// NewStream makes the next stream. The first call returns 1, the second 2:
	// stream 0, Default, is always there.
	NewStream() (Stream, error)
	// NewEvent makes the next event: 0, 1, 2, ...
	NewEvent() (Event, error)

	// Copy moves bytes between host and device as c says.
	Copy(c Copy) error
	// Launch starts k on s. The slice args is the caller's again on return.
	Launch(s Stream, k *Kernel, args Args) error
	// Record marks the point that s has reached.
	Record(e Event, s Stream) error
	// Wait makes later work on s wait for the point e last marked.
	Wait(s Stream, e Event) error
	// Sync returns when all work issued to s is done.
	Sync(s Stream) error

	// BeginCapture starts collecting what is issued to s instead of running it.
	BeginCapture(s Stream) error
	// EndCapture ends that and returns the collected work in the backend's own
	// form; Replay and FreeGraph get it back.
	EndCapture(s Stream) (any, error)
	// Replay runs captured work on s.
	Replay(s Stream, graph any) error
	// FreeGraph gives back captured work.
	FreeGraph(graph any) error

	// SharedMemory is the most shared memory, in bytes, that a block of a compiled
	// kernel can have.
	SharedMemory() int

	// HostWork tells of work the host did by itself. Simulated devices charge
	// for it; on the others it already took its time.
	HostWork(w HostWork)

	// Close gives back everything the device holds.
	Close() error
}

// Clock tells measured time from simulated time.
type Clock uint8

const (
	Real    Clock = iota // Now is measured; reported as ns/op
	Virtual              // Now is simulated; reported as sim-ns/op
)

// Stream is an ordered queue of device work.
type Stream int32

// Default is the stream every device has; blocking copies run on it.
const Default Stream = 0

// Event is a point in a stream that other streams can wait for.
type Event int32

// Direction is which way a copy goes.
type Direction uint8

const (
	HostToDevice Direction = iota
	DeviceToHost
)

// Mode is how a copy is made.
type Mode uint8

const (
	Pageable Mode = iota // from or to any host memory; returns when done
	Staged               // from or to pinned memory; returns when done
	Async                // from or to pinned memory; returns at once
)

// Copy is one move of len(Host) bytes between Host and the start of Device.
// Pageable and Staged copies wait for all earlier work on the Default stream;
// Async copies are work on Stream.
type Copy struct {
	Direction Direction
	Mode      Mode
	Stream    Stream
	Device    Buffer
	Host      []byte
}

// Work is what a kernel declares about one launch.
type Work struct {
	Flops       int64 // floating-point operations
	TensorFlops int64 // of matrix units, where it may use them
	ReadBytes   int64 // the fewest bytes it must read from device memory
	WriteBytes  int64 // and write
}

// HostWork is work the host does by itself, in the terms a device profile
// prices: calls and items price an interpreted loop, bytes and flops a
// vectorised one.
type HostWork struct {
	Calls int64 // function calls
	Items int64 // scalar steps
	Bytes int64 // bytes moved in bulk
	Flops int64 // floating-point operations in bulk

	// Workers, where not zero, says that background workers did it, each a
	// piece at a time and up to Ahead pieces before they were asked for; the
	// host waits only for what is not ready.
	Workers, Ahead int
}
