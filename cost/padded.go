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
	routes  device.Buffer // routes x longest
	lengths device.Buffer // routes
	mask    device.Buffer // routes x edges
	stacked device.Buffer // batch x nodes x nodes
	index   device.Buffer // routes x edges
	edges   device.Buffer // routes x edges
	sizes   []int32       // lengths, on the host
}

func openPadded(rec *device.Recorder) (Method, error) {
	return &padded{resident: resident{rec: rec}}, nil
}

func (m *padded) Cost(r *vrp.Routes) error {
	if err := m.begin(r); err != nil {
		return err
	}
	count, nodes, longest := r.Len(), m.batch.Nodes(), max(r.Longest(), 1)
	edges := longest - 1
	if err := m.room(count, nodes, longest); err != nil {
		return err
	}
	if err := m.pad(r, longest); err != nil {
		return err
	}
	if err := m.stack(); err != nil {
		return err
	}
	m.rec.Padded(int64(len(r.Nodes)), int64(count*longest))
	C, E, cells := device.Int(count), device.Int(edges), device.Int(count*edges)
	return errors.Join(
		m.rec.Launch(device.Default, maskEdges, device.Buf(m.mask), device.Buf(m.lengths), C, E),
		m.rec.Launch(device.Default, indexEdges, device.Buf(m.index), device.Buf(m.routes), C, E, device.Int(nodes), device.Int(m.batch.B)),
		m.rec.Launch(device.Default, gatherEdges, device.Buf(m.edges), device.Buf(m.stacked), device.Buf(m.index), cells),
		m.rec.Launch(device.Default, maskValues, device.Buf(m.edges), device.Buf(m.mask), cells),
		m.rec.Launch(device.Default, sumRows, device.Buf(m.Result()), device.Buf(m.edges), C, E),
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
func (m *padded) room(count, nodes, longest int) error {
	edges := longest - 1
	return errors.Join(
		grow(m.rec, &m.routes, 4*count*longest),
		grow(m.rec, &m.lengths, 4*count),
		grow(m.rec, &m.mask, 4*count*edges),
		grow(m.rec, &m.stacked, 4*m.batch.B*nodes*nodes),
		grow(m.rec, &m.index, 4*count*edges),
		grow(m.rec, &m.edges, 4*count*edges),
	)
}

func (m *padded) Close() error {
	err := m.resident.Close()
	for _, b := range []device.Buffer{m.routes, m.lengths, m.mask, m.stacked, m.index, m.edges} {
		err = errors.Join(err, m.rec.Free(b))
	}
	return err
}
