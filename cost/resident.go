package cost

import (
	"errors"
	"fmt"

	"gputax/device"
	"gputax/vrp"
)

// resident is what every method on the device shares: a batch's distances and
// costs in device memory.
type resident struct {
	rec   *device.Recorder
	batch *vrp.Batch
	dist  device.Buffer
	costs device.Buffer
}

// Load uploads all distances in one copy.
func (m *resident) Load(b *vrp.Batch) error {
	if err := grow(m.rec, &m.dist, 4*len(b.Dist)); err != nil {
		return err
	}
	if err := grow(m.rec, &m.costs, 4*b.B); err != nil {
		return err
	}
	m.batch = b
	return m.rec.Upload(m.dist, device.Bytes(b.Dist))
}

// matrix is the distance matrix of instance i.
func (m *resident) matrix(i int) device.Buffer {
	n := 4 * m.batch.Nodes() * m.batch.Nodes()
	return m.dist.Slice(i*n, n)
}

// results is the costs of the batch.
func (m *resident) results() device.Buffer { return m.costs.Slice(0, 4*m.batch.B) }

func (m *resident) Costs(dst []float32) error {
	if m.batch == nil || len(dst) != m.batch.B {
		return fmt.Errorf("cost: room for %d costs of another batch", len(dst))
	}
	return m.rec.Download(device.Bytes(dst), m.results())
}

func (m *resident) Close() error {
	return errors.Join(m.rec.Free(m.dist), m.rec.Free(m.costs))
}

// grow makes b hold at least size bytes; what it held is lost when it grows.
func grow(rec *device.Recorder, b *device.Buffer, size int) error {
	if b.Size() >= size {
		return nil
	}
	if err := rec.Free(*b); err != nil {
		return err
	}
	*b = device.Buffer{}
	bigger, err := rec.Alloc(size)
	if err != nil {
		return err
	}
	*b = bigger
	return nil
}
