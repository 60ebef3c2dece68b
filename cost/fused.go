package cost

import (
	"errors"

	"gputax/device"
	"gputax/vrp"
)

// fused copies the routes to pinned memory as they are and adds them all up in
// one kernel, which reads them there: for so few bytes a copy to the device
// would take longer than the kernel. The launch is captured once and replayed as
// long as the batch keeps its shape: on an H200, replaying a graph of one kernel
// and waiting for it takes two thirds of the time of launching it and waiting
// (docs/results/h200/latency.txt).
type fused struct {
	resident
	routes device.Pinned // the offsets, and then the nodes
	words  int           // of routes that the kernel is given; it only grows
	graph  *device.Graph
	shape  shape // that graph was captured for
}

// shape is everything that a captured launch has fixed.
type shape struct {
	costs, dist, routes        device.Buffer
	count, batch, nodes, words int
}

func openFused(rec *device.Recorder) (Method, error) {
	return &fused{resident: resident{rec: rec}}, nil
}

func (m *fused) Cost(r *vrp.Routes) error {
	if err := m.begin(r); err != nil {
		return err
	}
	// Rounded up, so that slightly longer routes fit the same graph.
	m.words = max(m.words, (len(r.Offsets)+len(r.Nodes)+255)&^255)
	if err := m.room(4 * m.words); err != nil {
		return err
	}
	if r.Len() == 0 {
		return nil
	}
	routes := m.routes.Slice(0, 4*m.words)
	words := device.View[int32](routes.Bytes())
	copy(words[copy(words, r.Offsets):], r.Nodes)
	m.rec.HostWork(device.HostWork{Calls: 2, Bytes: 4 * int64(len(r.Offsets)+len(r.Nodes))})
	if err := m.capture(shape{m.Result(), m.dist, routes.Buffer(), r.Len(), m.batch.B, m.batch.Nodes(), m.words}); err != nil {
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
	err := m.rec.Launch(device.Default, routeCosts, device.Buf(s.costs), device.Buf(s.dist), device.Buf(s.routes),
		device.Int(s.count), device.Int(s.batch), device.Int(s.nodes), device.Int(s.words))
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

// room makes routes hold at least size bytes, and waits for an earlier Cost that
// may still read them.
func (m *fused) room(size int) error {
	if m.rec.Pending(device.Default) {
		if err := m.rec.Sync(device.Default); err != nil {
			return err
		}
	}
	if m.routes.Size() >= size {
		return nil
	}
	if err := errors.Join(m.drop(), m.rec.FreePinned(m.routes)); err != nil {
		return err
	}
	m.routes = device.Pinned{}
	routes, err := m.rec.AllocPinned(size)
	m.routes = routes
	return err
}

func (m *fused) Close() error {
	return errors.Join(m.rec.Drain(), m.drop(), m.resident.Close(), m.rec.FreePinned(m.routes))
}

// routeCosts is the sum over route i of the distances between neighbours, by
// the matrix of instance i mod batch. Routes are count+1 offsets and then the
// nodes, as in vrp.Routes, with room for some more.
var routeCosts = &device.Kernel{
	Symbol: "cost_routes",
	Module: module,
	Dims: func(a device.Args) device.Dims {
		if words := a.Int(6); words <= nearWords && words%4 == 0 {
			return device.Dims{X: 1, Threads: 1024, Shared: 4 * words}
		}
		return device.Cover(32*a.Int(3), threads)
	},
	Params: intParams([]string{"costs", "dist", "routes"}, "count", "batch", "nodes", "words"),
	Check: func(a device.Args) error {
		count, batch, nodes, words := a.Int(3), a.Int(4), a.Int(5), a.Int(6)
		return errors.Join(a.Need(0, count), a.Need(1, batch*nodes*nodes), a.Need(2, words), a.Need(2, count+1))
	},
	Work: func(a device.Args) device.Work {
		edges := max(int64(a.Int(6))-2*int64(a.Int(3)), 0)
		return device.Work{Flops: edges, ReadBytes: 4 * (int64(a.Int(6)) + edges), WriteBytes: 4 * int64(a.Int(3))}
	},
	Body: func(a device.Args) {
		costs, dist, routes := a.F32(0), a.F32(1), a.I32(2)
		count, batch, nodes := a.Int(3), a.Int(4), a.Int(5)
		for i := range count {
			row, d := routes[count+1:][routes[i]:routes[i+1]], dist[i%batch*nodes*nodes:]
			var sum float32
			for j := 1; j < len(row); j++ {
				sum += d[int(row[j-1])*nodes+int(row[j])]
			}
			costs[i] = sum
		}
	},
}

// nearWords is how many words of routes a block brings into its shared memory.
const nearWords = 12 << 10
