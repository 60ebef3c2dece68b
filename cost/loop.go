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
	if cap(m.costs) < b.B {
		m.costs = make([]float32, b.B)
	}
	m.costs = m.costs[:b.B]
	return nil
}

func (m *loop) Cost(r *vrp.Routes) error {
	if err := checkRoutes(m.batch, r); err != nil {
		return err
	}
	edges := Loop(m.costs, m.batch.Dist, m.batch.Nodes(), r)
	m.rec.HostWork(device.HostWork{Calls: int64(r.Len()), Items: int64(edges)})
	return nil
}

// Loop writes the cost of each route to costs, by the distance matrices of
// nodes x nodes in dist, and returns how many edges it added up.
func Loop(costs, dist []float32, nodes int, r *vrp.Routes) (edges int) {
	for i := range costs {
		costs[i] = 0
		route := r.Of(i)
		if len(route) == 0 {
			continue
		}
		d := dist[i*nodes*nodes : (i+1)*nodes*nodes]
		var sum float32
		row := int(route[0]) * nodes
		for _, node := range route[1:] {
			sum += d[row+int(node)]
			row = int(node) * nodes
		}
		costs[i] = sum
		edges += len(route) - 1
	}
	return edges
}

func (m *loop) Costs(dst []float32) error {
	if len(dst) != len(m.costs) {
		return fmt.Errorf("cost: room for %d costs, there are %d", len(dst), len(m.costs))
	}
	copy(dst, m.costs)
	return nil
}

func (m *loop) Close() error { return nil }
