package cost

import (
	"errors"

	"gputax/device"
	"gputax/vrp"
)

// padded does what the write-ups call vectorised: it fills a zeroed tensor of
// routes row by row, makes a mask from their lengths, stacks all distance
// matrices into one tensor, turns neighbouring nodes into indices, gathers,
// masks and sums.
type padded struct {
	resident
	routes  device.Buffer // batch x longest
	lengths device.Buffer // batch
	mask    device.Buffer // batch x edges
	stacked device.Buffer // batch x nodes x nodes
	index   device.Buffer // batch x edges
	edges   device.Buffer // batch x edges
	sizes   []int32       // lengths, on the host
}

func openPadded(rec *device.Recorder) (Method, error) {
	return &padded{resident: resident{rec: rec}}, nil
}

func (m *padded) Cost(r *vrp.Routes) error {
	if err := checkRoutes(m.batch, r); err != nil {
		return err
	}
	batch, nodes, longest := r.Len(), m.batch.Nodes(), max(r.Longest(), 1)
	edges := longest - 1
	if err := m.room(batch, nodes, longest); err != nil {
		return err
	}
	if err := m.pad(r, longest); err != nil {
		return err
	}
	if err := m.stack(); err != nil {
		return err
	}
	B, E := device.Int(batch), device.Int(edges)
	return errors.Join(
		m.rec.Launch(device.Default, maskEdges, device.Buf(m.mask), device.Buf(m.lengths), B, E),
		m.rec.Launch(device.Default, indexEdges, device.Buf(m.index), device.Buf(m.routes), B, E, device.Int(nodes)),
		m.rec.Launch(device.Default, gatherEdges, device.Buf(m.edges), device.Buf(m.stacked), device.Buf(m.index), device.Int(batch*edges)),
		m.rec.Launch(device.Default, maskValues, device.Buf(m.edges), device.Buf(m.mask), device.Int(batch*edges)),
		m.rec.Launch(device.Default, sumRows, device.Buf(m.results()), device.Buf(m.edges), B, E),
	)
}

// pad zeroes the tensor of routes and copies each into its row.
func (m *padded) pad(r *vrp.Routes, longest int) error {
	if err := m.rec.Launch(device.Default, zeroInts, device.Buf(m.routes), device.Int(r.Len()*longest)); err != nil {
		return err
	}
	m.sizes = m.sizes[:0]
	for i := range r.Len() {
		route := r.Of(i)
		m.sizes = append(m.sizes, int32(len(route)))
		if err := m.rec.Upload(m.routes.Slice(4*i*longest, 4*longest), device.Bytes(route)); err != nil {
			return err
		}
	}
	m.rec.HostWork(device.HostWork{Calls: int64(r.Len())})
	return m.rec.Upload(m.lengths, device.Bytes(m.sizes))
}

// stack copies every distance matrix into one tensor.
func (m *padded) stack() error {
	size := 4 * m.batch.Nodes() * m.batch.Nodes()
	for i := range m.batch.B {
		err := m.rec.Launch(device.Default, copyWords, device.Buf(m.stacked.Slice(i*size, size)), device.Buf(m.matrix(i)), device.Int(size/4))
		if err != nil {
			return err
		}
	}
	return nil
}

// room makes every tensor large enough.
func (m *padded) room(batch, nodes, longest int) error {
	edges := longest - 1
	return errors.Join(
		grow(m.rec, &m.routes, 4*batch*longest),
		grow(m.rec, &m.lengths, 4*batch),
		grow(m.rec, &m.mask, 4*batch*edges),
		grow(m.rec, &m.stacked, 4*batch*nodes*nodes),
		grow(m.rec, &m.index, 4*batch*edges),
		grow(m.rec, &m.edges, 4*batch*edges),
	)
}

func (m *padded) Close() error {
	err := m.resident.Close()
	for _, b := range []device.Buffer{m.routes, m.lengths, m.mask, m.stacked, m.index, m.edges} {
		err = errors.Join(err, m.rec.Free(b))
	}
	return err
}
