package cost

import (
	"errors"

	"gputax/device"
	"gputax/vrp"
)

// fused sends all routes in one asynchronous copy, offsets first, and adds
// them all up in one kernel.
type fused struct {
	resident
	staging device.Pinned
	routes  device.Buffer
}

func openFused(rec *device.Recorder) (Method, error) {
	return &fused{resident: resident{rec: rec}}, nil
}

func (m *fused) Cost(r *vrp.Routes) error {
	if err := m.begin(r); err != nil {
		return err
	}
	words := len(r.Offsets) + len(r.Nodes)
	if err := m.room(4 * words); err != nil {
		return err
	}
	staged := device.View[int32](m.staging.Slice(0, 4*words).Bytes())
	copy(staged, r.Offsets)
	copy(staged[len(r.Offsets):], r.Nodes)
	m.rec.HostWork(device.HostWork{Bytes: int64(4 * words)})
	if err := m.rec.UploadAsync(device.Default, m.routes, m.staging.Slice(0, 4*words)); err != nil {
		return err
	}
	return m.rec.Launch(device.Default, routeCosts, device.Buf(m.Result()), device.Buf(m.dist),
		device.Buf(m.routes.Slice(0, 4*words)), device.Int(r.Len()), device.Int(m.batch.B), device.Int(m.batch.Nodes()))
}

// room makes staging and routes hold at least size bytes, and waits for an
// earlier Cost that may still read staging.
func (m *fused) room(size int) error {
	if m.rec.Pending(device.Default) {
		if err := m.rec.Sync(device.Default); err != nil {
			return err
		}
	}
	if m.staging.Size() >= size {
		return nil
	}
	if err := m.rec.FreePinned(m.staging); err != nil {
		return err
	}
	m.staging = device.Pinned{}
	staging, err := m.rec.AllocPinned(size)
	if err != nil {
		return err
	}
	m.staging = staging
	return grow(m.rec, &m.routes, size)
}

func (m *fused) Close() error {
	return errors.Join(m.resident.Close(), m.rec.FreePinned(m.staging), m.rec.Free(m.routes))
}

// routeCosts is Loop, one thread a route. routes holds count+1 offsets and then
// the nodes.
var routeCosts = &device.Kernel{
	Symbol: "cost_routes",
	Module: module,
	Dims:   cover(3),
	Params: []device.Param{{Name: "costs"}, {Name: "dist"}, {Name: "routes"},
		{Name: "count", Kind: device.KindInt}, {Name: "batch", Kind: device.KindInt}, {Name: "nodes", Kind: device.KindInt}},
	Check: func(a device.Args) error {
		count, batch, nodes := a.Int(3), a.Int(4), a.Int(5)
		return errors.Join(a.Need(0, count), a.Need(1, batch*nodes*nodes), a.Need(2, count+1))
	},
	Work: func(a device.Args) device.Work {
		edges := int64(max(a.Words(2)-2*a.Int(3)-1, 0))
		return device.Work{Flops: edges, ReadBytes: int64(a.Buffer(2).Size()) + 4*edges, WriteBytes: 4 * int64(a.Int(3))}
	},
	Body: func(a device.Args) {
		count, batch, nodes, words := a.Int(3), a.Int(4), a.Int(5), a.I32(2)
		r := vrp.Routes{Offsets: words[:count+1], Nodes: words[count+1:]}
		Loop(a.F32(0)[:count], a.F32(1)[:batch*nodes*nodes], nodes, &r)
	},
}
