package cost

import (
	"errors"

	"gputax/device"
	"gputax/vrp"
)

// fused lays all routes out in pinned memory, a row each, and adds them all up
// in one kernel, which reads them where they are: for so few bytes a copy would
// take longer than the kernel. The launch is captured once and replayed as long
// as the batch keeps its shape: on an H200, replaying a graph of one kernel and
// waiting for it takes two thirds of the time of launching it and waiting
// (docs/results/h200/latency.txt).
type fused struct {
	resident
	rows   device.Pinned
	stride int // words a row; it only grows
	graph  *device.Graph
	shape  shape // that graph was captured for
}

// shape is everything that a captured launch has fixed.
type shape struct {
	costs, dist, rows           device.Buffer
	count, batch, nodes, stride int
}

// endOfRoute stands after the last node of a row; what comes after it is not
// looked at.
const endOfRoute = -1

func openFused(rec *device.Recorder) (Method, error) {
	return &fused{resident: resident{rec: rec}}, nil
}

func (m *fused) Cost(r *vrp.Routes) error {
	if err := m.begin(r); err != nil {
		return err
	}
	// A row has room for some more nodes than the longest route has now, so
	// that a slightly longer one fits the same graph.
	m.stride = max(m.stride, (r.Longest()+1+7)&^7)
	size := 4 * r.Len() * m.stride
	if err := m.room(size); err != nil {
		return err
	}
	rows := m.rows.Slice(0, size)
	words := device.View[int32](rows.Bytes())
	for i := range r.Len() {
		row := words[i*m.stride : (i+1)*m.stride]
		row[copy(row, r.Of(i))] = endOfRoute
	}
	m.rec.HostWork(device.HostWork{Calls: int64(r.Len()), Bytes: int64(len(r.Nodes)+r.Len()) * 4})
	if r.Len() == 0 {
		return nil
	}
	if err := m.capture(shape{m.Result(), m.dist, rows.Buffer(), r.Len(), m.batch.B, m.batch.Nodes(), m.stride}); err != nil {
		return err
	}
	return m.rec.Replay(device.Default, m.graph)
}

// capture makes graph the launch for s.
func (m *fused) capture(s shape) error {
	if m.graph != nil && m.shape == s {
		return nil
	}
	if err := m.drop(); err != nil {
		return err
	}
	if err := m.rec.BeginCapture(device.Default); err != nil {
		return err
	}
	err := m.rec.Launch(device.Default, routeCosts, device.Buf(s.costs), device.Buf(s.dist), device.Buf(s.rows),
		device.Int(s.count), device.Int(s.batch), device.Int(s.nodes), device.Int(s.stride))
	graph, endErr := m.rec.EndCapture()
	if err := errors.Join(err, endErr); err != nil {
		return err
	}
	m.graph, m.shape = graph, s
	return nil
}

// drop gives the graph back.
func (m *fused) drop() error {
	err := m.rec.FreeGraph(m.graph)
	m.graph = nil
	return err
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
	if err := errors.Join(m.drop(), m.rec.FreePinned(m.rows)); err != nil {
		return err
	}
	m.rows = device.Pinned{}
	rows, err := m.rec.AllocPinned(size)
	m.rows = rows
	return err
}

func (m *fused) Close() error {
	return errors.Join(m.rec.Drain(), m.drop(), m.resident.Close(), m.rec.FreePinned(m.rows))
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
