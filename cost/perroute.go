package cost

import (
	"errors"

	"gputax/device"
	"gputax/vrp"
)

// perRoute follows the write-ups' compute_route_cost_gpu: a zero is made on
// the device for each route and each edge's distance is added to it, so a
// batch is a launch a route and a launch an edge.
type perRoute struct {
	resident
}

func openPerRoute(rec *device.Recorder) (Method, error) {
	return &perRoute{resident{rec: rec}}, nil
}

func (m *perRoute) Cost(r *vrp.Routes) error {
	if err := m.begin(r); err != nil {
		return err
	}
	for i := range r.Len() {
		if err := m.route(i, r.Of(i)); err != nil {
			return err
		}
	}
	return nil
}

// route queues the cost of one route.
func (m *perRoute) route(i int, route []int32) error {
	cost, dist := m.costs.Slice(4*i, 4), m.matrix(i)
	if err := m.rec.Launch(device.Default, zeroCost, device.Buf(cost)); err != nil {
		return err
	}
	for j := 1; j < len(route); j++ {
		edge := int(route[j-1])*m.batch.Nodes() + int(route[j])
		if err := m.rec.Launch(device.Default, addEdge, device.Buf(cost), device.Buf(dist), device.Int(edge)); err != nil {
			return err
		}
	}
	return nil
}

// perRouteItem also reads every cost back before the next route, as .item()
// does: a copy of four bytes and a wait.
type perRouteItem struct {
	perRoute
	item device.Pinned
}

func openPerRouteItem(rec *device.Recorder) (Method, error) {
	item, err := rec.AllocPinned(4)
	if err != nil {
		return nil, err
	}
	return &perRouteItem{perRoute: perRoute{resident{rec: rec}}, item: item}, nil
}

func (m *perRouteItem) Cost(r *vrp.Routes) error {
	if err := m.begin(r); err != nil {
		return err
	}
	for i := range r.Len() {
		if err := m.route(i, r.Of(i)); err != nil {
			return err
		}
		if err := m.rec.DownloadAsync(device.Default, m.item, m.costs.Slice(4*i, 4)); err != nil {
			return err
		}
		if err := m.rec.Sync(device.Default); err != nil {
			return err
		}
	}
	return nil
}

func (m *perRouteItem) Close() error {
	return errors.Join(m.resident.Close(), m.rec.FreePinned(m.item))
}

var zeroCost = &device.Kernel{
	Symbol: "cost_zero",
	Module: module,
	Dims:   one,
	Params: []device.Param{{Name: "cost"}},
	Check:  func(a device.Args) error { return a.Need(0, 1) },
	Work:   func(device.Args) device.Work { return device.Work{WriteBytes: 4} },
	Body:   func(a device.Args) { a.F32(0)[0] = 0 },
}

// addEdge is cost[0] += dist[edge].
var addEdge = &device.Kernel{
	Symbol: "cost_add_edge",
	Module: module,
	Dims:   one,
	Params: []device.Param{{Name: "cost"}, {Name: "dist"}, {Name: "edge", Kind: device.KindInt}},
	Check: func(a device.Args) error {
		if err := a.Need(0, 1); err != nil {
			return err
		}
		return a.Need(1, a.Int(2)+1)
	},
	Work: func(device.Args) device.Work { return device.Work{Flops: 1, ReadBytes: 8, WriteBytes: 4} },
	Body: func(a device.Args) { a.F32(0)[0] += a.F32(1)[a.Int(2)] },
}
