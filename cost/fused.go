package cost

import (
	"errors"
	"fmt"

	"gputax/device"
	"gputax/vrp"
)

// fused copies the routes to pinned memory in groups, one for each block of one
// kernel that adds them all up and reads them there: for so few bytes a copy to
// the device would take longer than the kernel. The launch is captured once and
// replayed as long as the batch keeps its shape: on an H200, replaying a graph
// of one kernel and waiting for it takes two thirds of the time of launching it
// and waiting (docs/results/h200/latency.txt).
//
// A kernel that reads each route where vrp.Routes has it needs no such copy, but
// two reads across the bus, one after the other: where it is, and then itself.
// That took as long as a copy route by route. One block that brings everything
// near at once took longer.
type fused struct {
	resident
	routes device.Pinned // the groups
	room   int           // nodes that every route has room for; it only grows
	graph  *device.Graph
	shape  shape // that graph was captured for
}

// shape is everything that a captured launch has fixed.
type shape struct {
	costs, dist, routes                device.Buffer
	count, batch, nodes, group, stride int
}

// A group is as many routes as a block has warps, and their offsets first, one
// more than there are routes, the first of them 0. Very long routes, which would
// not fit a block's memory otherwise, are groups of one.
const (
	groupRoutes = 8
	groupWords  = 12 << 10
)

func openFused(rec *device.Recorder) (Method, error) {
	return &fused{resident: resident{rec: rec}}, nil
}

func (m *fused) Cost(r *vrp.Routes) error {
	if err := checkCount(m.batch, r); err != nil {
		return err
	}
	if err := m.expect(r.Len()); err != nil || r.Len() == 0 {
		return err
	}
	// Rounded up, so that slightly longer routes fit the same graph.
	m.room = max(m.room, (r.Longest()+3)&^3)
	group := groupRoutes
	if 1+group*(1+m.room) > groupWords {
		group = 1
	}
	stride := 1 + group*(1+m.room)
	groups := (r.Len() + group - 1) / group
	if err := m.reserve(4 * groups * stride); err != nil {
		return err
	}
	routes := m.routes.Slice(0, 4*groups*stride)
	layOut(device.View[int32](routes.Bytes()), r, group, stride)
	m.rec.HostWork(device.HostWork{Calls: int64(groups), Bytes: 4 * int64(len(r.Offsets)+len(r.Nodes))})
	if err := m.capture(shape{m.Result(), m.dist, routes.Buffer(), r.Len(), m.batch.B, m.batch.Nodes(), group, stride}); err != nil {
		return err
	}
	if err := m.rec.Replay(device.Default, m.graph); err != nil {
		return err
	}
	return checkNodes(m.batch, r) // while the kernel runs, which leaves out what is not there
}

// layOut writes routes as groups, each of stride words.
func layOut(text []int32, r *vrp.Routes, group, stride int) {
	for first := 0; first < r.Len(); first += group {
		last := min(first+group, r.Len())
		from, to := r.Offsets[first], r.Offsets[last]
		for k := range group + 1 {
			text[k] = r.Offsets[min(first+k, last)] - from
		}
		copy(text[group+1:], r.Nodes[from:to])
		text = text[stride:]
	}
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
		device.Int(s.count), device.Int(s.batch), device.Int(s.nodes), device.Int(s.group), device.Int(s.stride))
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

// reserve makes routes hold at least size bytes, and waits for an earlier Cost
// that may still read them.
func (m *fused) reserve(size int) error {
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
// the matrix of instance i mod batch. Routes are in groups, as layOut makes
// them. What goes to or from a node that is not there counts nothing.
var routeCosts = &device.Kernel{
	Symbol: "cost_routes",
	Module: module,
	Dims: func(a device.Args) device.Dims {
		group, stride := a.Int(6), a.Int(7)
		return device.Dims{X: (a.Int(3) + group - 1) / group, Threads: 32 * group, Shared: 4 * stride}
	},
	Params: intParams([]string{"costs", "dist", "routes"}, "count", "batch", "nodes", "group", "stride"),
	Check: func(a device.Args) error {
		count, batch, nodes, group, stride := a.Int(3), a.Int(4), a.Int(5), a.Int(6), a.Int(7)
		if group < 1 || group > 32 || stride < group+1 {
			return fmt.Errorf("groups of %d routes in %d words: %w", group, stride, device.ErrArguments)
		}
		return errors.Join(a.Need(0, count), a.Need(1, batch*nodes*nodes), a.Need(2, (count+group-1)/group*stride))
	},
	Work: func(a device.Args) device.Work {
		count, group, stride := int64(a.Int(3)), int64(a.Int(6)), int64(a.Int(7))
		words := (count + group - 1) / group * stride
		edges := max(words-3*count, 0)
		return device.Work{Flops: edges, ReadBytes: 4 * (words + edges), WriteBytes: 4 * count}
	},
	Body: func(a device.Args) {
		costs, dist, routes := a.F32(0), a.F32(1), a.I32(2)
		batch, nodes, group, stride := a.Int(4), a.Int(5), a.Int(6), a.Int(7)
		for i := range a.Int(3) {
			text := routes[i/group*stride:][:stride]
			row, d := text[group+1:][text[i%group]:text[i%group+1]], dist[i%batch*nodes*nodes:]
			var sum float32
			for j := 1; j < len(row); j++ {
				if from, to := uint32(row[j-1]), uint32(row[j]); max(from, to) < uint32(nodes) {
					sum += d[int(from)*nodes+int(to)]
				}
			}
			costs[i] = sum
		}
	},
}
