package device

import (
	"fmt"
	"time"
)

// Recorder checks, counts and passes on every call to one Device. Recording
// allocates nothing per event and costs tens of nanoseconds, so it is always
// on. Make one with NewRecorder; it belongs to one goroutine.
type Recorder struct {
	dev     Device
	watch   Watcher // dev, where it is one
	phases  []Phase
	current int           // index in phases
	since   time.Duration // when the current phase was entered
	args    Args          // scratch, so that a caller's arguments need no heap
	pending []bool        // by stream: work may still be running
	events  int
	capture *Graph // being captured, or nil
	stream  Stream // that it is captured from
	step    int    // the next
}

// Phase is a named part of an op, with what happened in it.
type Phase struct {
	Name     string
	Time     time.Duration // host-side time; queued device work is not waited for
	Counters Counters
}

// NewRecorder wraps dev. Events before the first Phase belong to the phase "".
func NewRecorder(dev Device) *Recorder {
	watch, _ := dev.(Watcher)
	return &Recorder{
		dev:     dev,
		watch:   watch,
		phases:  append(make([]Phase, 0, 16), Phase{}),
		args:    make(Args, 0, 32),
		pending: make([]bool, 1),
		since:   dev.Now(),
	}
}

// Device is what the recorder wraps.
func (r *Recorder) Device() Device { return r.dev }

// Now is the device's clock.
func (r *Recorder) Now() time.Duration { return r.dev.Now() }

// Phase makes name the current phase and returns the one before, so that a
// part of a phase can be named apart: p := rec.Phase("cost"); ...; rec.Phase(p).
func (r *Recorder) Phase(name string) (before string) {
	r.clockPhase()
	if r.watch != nil {
		r.watch.EnterPhase(name)
	}
	before = r.phases[r.current].Name
	for i := range r.phases {
		if r.phases[i].Name == name {
			r.current = i
			return before
		}
	}
	r.phases = append(r.phases, Phase{Name: name})
	r.current = len(r.phases) - 1
	return before
}

// clockPhase gives the time since the last call to the current phase.
func (r *Recorder) clockPhase() {
	now := r.dev.Now()
	r.phases[r.current].Time += now - r.since
	r.since = now
}

// Phases is a copy of every phase seen, in order of first appearance; the
// unnamed one comes first.
func (r *Recorder) Phases() []Phase {
	r.clockPhase()
	return append([]Phase(nil), r.phases...)
}

// Counters is the sum over all phases.
func (r *Recorder) Counters() Counters {
	var sum Counters
	for i := range r.phases {
		sum.Add(&r.phases[i].Counters)
	}
	return sum
}

// Reset sets all counters and phase times to zero, and steps count from the
// first again; the current phase stays.
func (r *Recorder) Reset() {
	for i := range r.phases {
		r.phases[i].Time = 0
		r.phases[i].Counters = Counters{}
	}
	r.since = r.dev.Now()
	r.step = 0
}

// count adds n events to the current phase, or to the graph being captured.
func (r *Recorder) count(c Counter, n int64) {
	if r.capture != nil {
		r.capture.content[c] += n
		return
	}
	r.phases[r.current].Counters[c] += n
}

// eager refuses what cannot be part of a graph while one is captured.
func (r *Recorder) eager(what string) error {
	if r.capture != nil {
		return fmt.Errorf("device: %s: %w", what, ErrCapturing)
	}
	return nil
}

// Alloc gives size bytes of device memory, zeroed.
func (r *Recorder) Alloc(size int) (Buffer, error) {
	b, err := r.alloc("allocate", size, r.dev.Alloc)
	if err != nil {
		return Buffer{}, err
	}
	return Buffer{block: b, size: size}, nil
}

// AllocPinned gives size bytes of page-locked host memory, zeroed.
func (r *Recorder) AllocPinned(size int) (Pinned, error) {
	b, err := r.alloc("allocate pinned", size, r.dev.AllocPinned)
	if err != nil {
		return Pinned{}, err
	}
	return Pinned{block: b, size: size}, nil
}

func (r *Recorder) alloc(what string, size int, from func(int) (*Block, error)) (*Block, error) {
	if size < 0 {
		return nil, fmt.Errorf("device: %s %d bytes: %w", what, size, ErrSize)
	}
	if err := r.eager(what); err != nil || size == 0 {
		return nil, err
	}
	b, err := from(size)
	if err != nil {
		return nil, fmt.Errorf("device: %s: %s %d bytes: %w", r.dev.Name(), what, size, err)
	}
	b.owner = r.dev
	r.count(Allocs, 1)
	return b, nil
}

// Free gives back the whole block that b is a view of. Freeing an empty buffer
// does nothing.
func (r *Recorder) Free(b Buffer) error { return r.free(b.block) }

// FreePinned is Free for pinned memory.
func (r *Recorder) FreePinned(p Pinned) error { return r.free(p.block) }

func (r *Recorder) free(b *Block) error {
	if b == nil {
		return nil
	}
	if err := r.eager("free"); err != nil {
		return err
	}
	if err := b.check(r.dev); err != nil {
		return fmt.Errorf("device: free %d bytes: %w", b.Size, err)
	}
	if err := r.dev.Free(b); err != nil {
		return fmt.Errorf("device: free %d bytes: %w", b.Size, err)
	}
	b.freed = true
	b.Host = nil
	r.count(Frees, 1)
	return nil
}

// HostWork declares work the host did by itself; see HostWork.
func (r *Recorder) HostWork(w HostWork) { r.dev.HostWork(w) }
