// Package transfer moves data between host and device, and launches kernels,
// in the ways a trainer may do it, so that each way's price can be measured by
// itself. Moves are the data-movement variants: a batch's distance matrices
// go to the device, or do not. Launches are the launch variants: n tiny kernels
// run one by one, or as a graph, or over streams.
package transfer

import (
	"errors"
	"fmt"

	"gputax/device"
	"gputax/vrp"
)

// Mover moves the distance matrices of batches of one shape.
type Mover interface {
	// Move makes b's distances available to the device, as the variant does.
	// Device work may still be running when it returns.
	Move(b *vrp.Batch) error
	// Moved is what is on the device after Move, for tests; nil where nothing
	// moved.
	Moved() ([]float32, error)
	// Close frees what the mover holds.
	Close() error
}

// Move is one data-movement variant.
type Move struct {
	Name  string
	About string
	Open  func(rec *device.Recorder, batch int, size vrp.Size) (Mover, error)
}

// Moves are all data-movement variants. A new one is a file of its own and a
// line here.
var Moves = []Move{
	{"keep_on_host", "nothing moves", openKeep},
	{"one_by_one", "every matrix up by itself", openOneByOne},
	{"round_trip", "every matrix up by itself, and back down again", openRoundTrip},
	{"batched", "all matrices in one copy", openBatched},
	{"batched_pinned", "staged in pinned memory, one copy", openBatchedPinned},
	{"pinned_async", "staged in two pinned halves that copy while the other is filled", openPinnedAsync},
}

// NamedMove is the data-movement variant of that name.
func NamedMove(name string) (Move, error) {
	for _, m := range Moves {
		if m.Name == name {
			return m, nil
		}
	}
	return Move{}, fmt.Errorf("transfer: no move variant %q", name)
}

// target is the device's side, which every mover but keep_on_host has.
type target struct {
	rec    *device.Recorder
	dist   device.Buffer
	matrix int // bytes of one
	batch  int
}

func openTarget(rec *device.Recorder, batch int, size vrp.Size) (target, error) {
	matrix := 4 * size.Nodes() * size.Nodes()
	dist, err := rec.Alloc(batch * matrix)
	return target{rec: rec, dist: dist, matrix: matrix, batch: batch}, err
}

// check refuses a batch of another shape.
func (t *target) check(b *vrp.Batch) error {
	if got := 4 * len(b.Dist); got != t.dist.Size() || b.B != t.batch {
		return fmt.Errorf("transfer: a batch of %d with %d bytes of distances; this mover was opened for %d with %d",
			b.B, got, t.batch, t.dist.Size())
	}
	return nil
}

// at is the room of matrix i.
func (t *target) at(i int) device.Buffer { return t.dist.Slice(i*t.matrix, t.matrix) }

func (t *target) Moved() ([]float32, error) {
	out := make([]float32, t.dist.Size()/4)
	return out, errors.Join(t.rec.Drain(), t.rec.Download(device.Bytes(out), t.dist))
}

func (t *target) Close() error { return t.rec.Free(t.dist) }
