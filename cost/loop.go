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
	at := 0 // of the matrix of the next route
	next := func() []float32 {
		if at == len(dist) {
			at = 0
		}
		at += size
		return dist[at-size : at]
	}
	i := 0
	for ; i+1 < len(costs); i += 2 {
		costs[i], costs[i+1] = twoRoutes(r.Of(i), r.Of(i+1), next(), next(), nodes)
	}
	if i < len(costs) {
		costs[i], _ = twoRoutes(r.Of(i), nil, next(), nil, nodes)
	}
	for i := range costs {
		edges += max(len(r.Of(i))-1, 0)
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
