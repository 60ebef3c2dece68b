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
	batch := len(dist) / (nodes * nodes)
	for i, instance := 0, 0; i < len(costs); i, instance = i+1, instance+1 {
		if instance == batch {
			instance = 0
		}
		costs[i] = 0
		route := r.Of(i)
		if len(route) == 0 {
			continue
		}
		d := dist[instance*nodes*nodes : (instance+1)*nodes*nodes]
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

func (m *loop) Result() device.Buffer { return device.Buffer{} }

func (m *loop) Close() error { return nil }
