package cost

import (
	"errors"

	"gputax/device"
	"gputax/vrp"
)

// fused lays all routes out in pinned memory, a row each, and adds them all up
// in one kernel, which reads them where they are: for so few bytes a copy would
// take longer than the kernel.
type fused struct {
	resident
	rows device.Pinned
}

// endOfRoute stands after the last node of a row.
const endOfRoute = -1

func openFused(rec *device.Recorder) (Method, error) {
	return &fused{resident: resident{rec: rec}}, nil
}

func (m *fused) Cost(r *vrp.Routes) error {
	if err := m.begin(r); err != nil {
		return err
	}
	stride := r.Longest() + 1
	if err := m.room(4 * r.Len() * stride); err != nil {
		return err
	}
	rows := m.rows.Slice(0, 4*r.Len()*stride)
	words := device.View[int32](rows.Bytes())
	for i := range r.Len() {
		row := words[i*stride : (i+1)*stride]
		row[copy(row, r.Of(i))] = endOfRoute
	}
	m.rec.HostWork(device.HostWork{Calls: int64(r.Len()), Bytes: int64(rows.Size())})
	return m.rec.Launch(device.Default, routeCosts, device.Buf(m.Result()), device.Buf(m.dist), device.Buf(rows.Buffer()),
		device.Int(r.Len()), device.Int(m.batch.B), device.Int(m.batch.Nodes()), device.Int(stride))
}

// room makes rows hold at least size bytes, and waits for an earlier Cost that
// may still read them.
func (m *fused) room(size int) error {
	if m.rec.Pending(device.Default) {
		if err := m.rec.Sync(device.Default); err != nil {
			return err
		}
	}
	if m.rows.Size() >= size {
		return nil
	}
	if err := m.rec.FreePinned(m.rows); err != nil {
		return err
	}
	m.rows = device.Pinned{}
	rows, err := m.rec.AllocPinned(size)
	m.rows = rows
	return err
}

func (m *fused) Close() error {
	return errors.Join(m.resident.Close(), m.rec.FreePinned(m.rows))
}

// routeCosts is the sum over row i of routes, up to endOfRoute, of the distances
// between neighbours, by the matrix of instance i mod batch.
var routeCosts = &device.Kernel{
	Symbol: "cost_routes",
	Module: module,
	Dims:   func(a device.Args) device.Dims { return device.Cover(32*a.Int(3), threads) },
	Params: intParams([]string{"costs", "dist", "routes"}, "count", "batch", "nodes", "stride"),
	Check: func(a device.Args) error {
		count, batch, nodes, stride := a.Int(3), a.Int(4), a.Int(5), a.Int(6)
		return errors.Join(a.Need(0, count), a.Need(1, batch*nodes*nodes), a.Need(2, count*stride))
	},
	Work: func(a device.Args) device.Work {
		edges := int64(a.Int(3)) * int64(max(a.Int(6)-2, 0))
		return device.Work{Flops: edges, ReadBytes: int64(a.Buffer(2).Size()) + 4*edges, WriteBytes: 4 * int64(a.Int(3))}
	},
	Body: func(a device.Args) {
		costs, dist, routes := a.F32(0), a.F32(1), a.I32(2)
		batch, nodes, stride := a.Int(4), a.Int(5), a.Int(6)
		for i := range a.Int(3) {
			row, d := routes[i*stride:(i+1)*stride], dist[i%batch*nodes*nodes:]
			var sum float32
			for j := 1; j < stride && row[j-1] != endOfRoute && row[j] != endOfRoute; j++ {
				sum += d[int(row[j-1])*nodes+int(row[j])]
			}
			costs[i] = sum
		}
	},
}
