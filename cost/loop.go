package cost

import (
	"fmt"

	"gputax/device"
	"gputax/vrp"
)

// loop is the reference: what every other method must agree with.
type loop struct {
	rec   *device.Recorder
	batch *vrp.Batch
	costs []float32
}

func openLoop(rec *device.Recorder) (Method, error) { return &loop{rec: rec}, nil }

func (m *loop) Load(b *vrp.Batch) error {
	m.batch = b
	return nil
}

func (m *loop) Use(b *vrp.Batch, _ device.Buffer) error { return m.Load(b) }

func (m *loop) Cost(r *vrp.Routes) error {
	if err := checkRoutes(m.batch, r); err != nil {
		return err
	}
	if cap(m.costs) < r.Len() {
		m.costs = make([]float32, r.Len())
	}
	m.costs = m.costs[:r.Len()]
	edges := Loop(m.costs, m.batch.Dist, m.batch.Nodes(), r)
	m.rec.HostWork(device.HostWork{Calls: int64(r.Len()), Items: int64(edges)})
	return nil
}

// Loop writes the cost of each route to costs and returns how many edges it
// added up. dist holds a matrix of nodes x nodes for each instance; route i
// belongs to instance i mod their number.
func Loop(costs, dist []float32, nodes int, r *vrp.Routes) (edges int) {
	size := nodes * nodes
	i, at := 0, 0 // the next route, and where its matrix is
	for ; i+1 < len(costs); i += 2 {
		a, b := r.Of(i), r.Of(i+1)
		other := at + size
		if other == len(dist) {
			other = 0
		}
		costs[i], costs[i+1] = twoRoutes(a, b, dist[at:at+size], dist[other:other+size], nodes)
		edges += max(len(a)-1, 0) + max(len(b)-1, 0)
		if at = other + size; at == len(dist) {
			at = 0
		}
	}
	if i < len(costs) {
		a := r.Of(i)
		costs[i], _ = twoRoutes(a, nil, dist[at:at+size], nil, nodes)
		edges += max(len(a)-1, 0)
	}
	return edges
}

// twoRoutes adds up two routes side by side: a sum waits for the one before it,
// and two of them wait at the same time.
func twoRoutes(a, b []int32, distA, distB []float32, nodes int) (sumA, sumB float32) {
	rowA, rowB := 0, 0
	if len(a) > 0 {
		rowA, a = int(a[0])*nodes, a[1:]
	}
	if len(b) > 0 {
		rowB, b = int(b[0])*nodes, b[1:]
	}
	both := min(len(a), len(b))
	other := b[:both]
	for j, nodeA := range a[:both] {
		nodeB := other[j]
		sumA += distA[rowA+int(nodeA)]
		sumB += distB[rowB+int(nodeB)]
		rowA, rowB = int(nodeA)*nodes, int(nodeB)*nodes
	}
	for _, node := range a[both:] {
		sumA += distA[rowA+int(node)]
		rowA = int(node) * nodes
	}
	for _, node := range b[both:] {
		sumB += distB[rowB+int(node)]
		rowB = int(node) * nodes
	}
	return sumA, sumB
}

func (m *loop) Costs(dst []float32) error {
	if len(dst) != len(m.costs) {
		return fmt.Errorf("cost: room for %d costs, there are %d", len(dst), len(m.costs))
	}
	copy(dst, m.costs)
	return nil
}

func (m *loop) Result() device.Buffer { return device.Buffer{} }

func (m *loop) Close() error { return nil }
