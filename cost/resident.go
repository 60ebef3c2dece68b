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
	own   device.Buffer // for Load
	dist  device.Buffer // own, or the caller's
	costs device.Buffer
	count int // routes of the last Cost
}

// Load uploads all distances in one copy.
func (m *resident) Load(b *vrp.Batch) error {
	if err := grow(m.rec, &m.own, 4*len(b.Dist)); err != nil {
		return err
	}
	if err := m.Use(b, m.own.Slice(0, 4*len(b.Dist))); err != nil {
		return err
	}
	return m.rec.Upload(m.dist, device.Bytes(b.Dist))
}

func (m *resident) Use(b *vrp.Batch, dist device.Buffer) error {
	if dist.Size() < 4*len(b.Dist) {
		return fmt.Errorf("cost: %d bytes of distances, the batch has %d", dist.Size(), 4*len(b.Dist))
	}
	m.batch, m.dist = b, dist
	return nil
}

// begin checks routes and makes room for their costs.
func (m *resident) begin(r *vrp.Routes) error {
	if err := checkRoutes(m.batch, r); err != nil {
		return err
	}
	return m.expect(r.Len())
}

// expect makes room for the costs of count routes.
func (m *resident) expect(count int) error {
	m.count = count
	return grow(m.rec, &m.costs, 4*count)
}

// matrix is the distance matrix that route i runs on.
func (m *resident) matrix(i int) device.Buffer {
	n := 4 * m.batch.Nodes() * m.batch.Nodes()
	return m.dist.Slice(i%m.batch.B*n, n)
}

func (m *resident) Result() device.Buffer { return m.costs.Slice(0, 4*m.count) }

func (m *resident) Costs(dst []float32) error {
	if len(dst) != m.count {
		return fmt.Errorf("cost: room for %d costs, there are %d", len(dst), m.count)
	}
	return m.rec.Download(device.Bytes(dst), m.Result())
}

func (m *resident) Close() error {
	return errors.Join(m.rec.Free(m.own), m.rec.Free(m.costs))
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
