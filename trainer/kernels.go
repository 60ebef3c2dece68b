package trainer

import (
	"errors"
	"math"
	"sync"

	"gputax/device"
	"gputax/device/host/f32"
	"gputax/vrp"
)

// Where things are in the status buffer: sums over an epoch, and where the
// first number that is not finite showed up.
const (
	statusCost     = iota // float: sum over steps of the mean cost
	statusBaseline        // float: the same for the baseline
	statusLoss            // float: of the last step
	statusNorm            // float: of the last step's gradient
	statusBadPhase        // int: 0, or a bad phase's number
	statusBadStep         // int: the step it was in
	statusScale           // float: what the gradient is multiplied by
	statusWords
)

// The phases in which a number can turn bad, by their number in the status.
var badPhases = [...]string{"", "cost", "forward", "backward"}

const (
	badCost     = 1
	badForward  = 2
	badBackward = 3
)

// controlStep is where model.Control holds the number of the step.
const controlStep = 2

func finite(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// report notes a bad number, if it is the first.
func report(status, control []int32, phase int32, ok bool) {
	if !ok && status[statusBadPhase] == 0 {
		status[statusBadPhase], status[statusBadStep] = phase, control[controlStep]
	}
}

var copyKernel = &device.Kernel{
	Symbol: "trainer_copy",
	Module: module,
	Dims:   cover(2),
	Params: []device.Param{{Name: "to"}, {Name: "from"}, {Name: "n", Kind: device.KindInt}},
	Check:  func(a device.Args) error { return errors.Join(a.Need(0, a.Int(2)), a.Need(1, a.Int(2))) },
	Work: func(a device.Args) device.Work {
		n := 4 * int64(a.Int(2))
		return device.Work{ReadBytes: n, WriteBytes: n}
	},
	Body: func(a device.Args) { copy(a.I32(0)[:a.Int(2)], a.I32(1)) },
}

// copyWords queues to = from, elements of four bytes.
func copyWords(rec *device.Recorder, to, from device.Buffer) error {
	return rec.Launch(device.Default, copyKernel, device.Buf(to), device.Buf(from), device.Int(from.Size()/4))
}

// instancesKernel is vrp.Source.Fill with the seed in control and the batch
// numbered first plus the step in control, its demands in units of the
// capacity.
var instancesKernel = &device.Kernel{
	Symbol: "trainer_instances",
	Module: module,
	Dims:   cover(3),
	Params: []device.Param{{Name: "coords"}, {Name: "demands"}, {Name: "control"},
		{Name: "batch", Kind: device.KindInt}, {Name: "nodes", Kind: device.KindInt}, {Name: "capacity", Kind: device.KindInt},
		{Name: "maxDemand", Kind: device.KindInt}, {Name: "firstLo", Kind: device.KindInt}, {Name: "firstHi", Kind: device.KindInt}},
	Check: func(a device.Args) error {
		n := a.Int(3) * a.Int(4)
		return errors.Join(a.Need(0, 2*n), a.Need(1, n), a.Need(2, controlStep+1))
	},
	Work: func(a device.Args) device.Work {
		n := int64(a.Int(3)) * int64(a.Int(4))
		return device.Work{Flops: 30 * n, WriteBytes: 12 * n}
	},
	Body: func(a device.Args) {
		batch, nodes, control := a.Int(3), a.Int(4), a.I32(2)
		seed := word64(control[0], control[1])
		first := (word64(int32(a.Int(7)), int32(a.Int(8))) + uint64(uint32(control[controlStep]))) * uint64(batch)
		d := drawers.Get().(*drawer)
		defer drawers.Put(d)
		if len(d.demands) != nodes {
			d.demands = make([]int32, nodes)
		}
		for i := range batch {
			d.source.Draw(a.F32(0)[i*nodes*2:(i+1)*nodes*2], d.demands, seed, first+uint64(i))
			normalise(a.F32(1)[i*nodes:(i+1)*nodes], d.demands, a.Int(5))
		}
	},
}

// drawer is scratch for the body above, which must not allocate every time.
type drawer struct {
	source  *vrp.Source
	demands []int32
}

var drawers = sync.Pool{New: func() any { return &drawer{source: vrp.NewSource()} }}

func word64(lo, hi int32) uint64 { return uint64(uint32(hi))<<32 | uint64(uint32(lo)) }

// routeCosts is costs[i] = the length of the closed route through actions[i],
// by coordinates of instance i mod batch: the sums of vrp.Distances and
// cost.Loop, to the bit.
var routeCosts = &device.Kernel{
	Symbol: "trainer_route_costs",
	Module: module,
	Dims:   func(a device.Args) device.Dims { return device.Cover(32*a.Int(3), threads) },
	Params: []device.Param{{Name: "costs"}, {Name: "actions"}, {Name: "coords"},
		{Name: "routes", Kind: device.KindInt}, {Name: "batch", Kind: device.KindInt},
		{Name: "steps", Kind: device.KindInt}, {Name: "nodes", Kind: device.KindInt}},
	Check: func(a device.Args) error {
		return errors.Join(a.Need(0, a.Int(3)), a.Need(1, a.Int(3)*a.Int(5)), a.Need(2, a.Int(4)*a.Int(6)*2))
	},
	Work: func(a device.Args) device.Work {
		n := int64(a.Int(3)) * int64(a.Int(5)+1)
		return device.Work{Flops: 6 * n, ReadBytes: 4*n + int64(a.Buffer(2).Size()), WriteBytes: 4 * int64(a.Int(3))}
	},
	Body: func(a device.Args) {
		costs, actions, coords := a.F32(0), a.I32(1), a.F32(2)
		batch, steps, nodes := a.Int(4), a.Int(5), a.Int(6)
		for i := range a.Int(3) {
			at := coords[i%batch*nodes*2:]
			var sum float32
			here := int32(0)
			for _, node := range actions[i*steps : (i+1)*steps] {
				sum += distance(at, here, node)
				here = node
			}
			costs[i] = sum + distance(at, here, 0)
		}
	},
}

// distance is one element of vrp.Distances.
func distance(coords []float32, a, b int32) float32 {
	dx := float64(coords[2*a] - coords[2*b])
	dy := float64(coords[2*a+1] - coords[2*b+1])
	return float32(math.Sqrt(dx*dx + dy*dy))
}

// advantageKernel is advantage[i] = (costs[i] - costs[batch+i]) / batch, and
// adds the two mean costs to the status.
var advantageKernel = &device.Kernel{
	Symbol: "trainer_advantage",
	Module: module,
	Dims:   oneBlock,
	Params: []device.Param{{Name: "advantage"}, {Name: "costs"}, {Name: "status"}, {Name: "control"}, {Name: "batch", Kind: device.KindInt}},
	Check: func(a device.Args) error {
		return errors.Join(a.Need(0, a.Int(4)), a.Need(1, 2*a.Int(4)), a.Need(2, statusWords), a.Need(3, controlStep+1))
	},
	Work: func(a device.Args) device.Work {
		n := int64(a.Int(4))
		return device.Work{Flops: 4 * n, ReadBytes: 8 * n, WriteBytes: 4 * n}
	},
	Body: func(a device.Args) {
		advantage, costs, status, batch := a.F32(0), a.F32(1), a.F32(2), a.Int(4)
		var sum, base float32
		for i := range batch {
			sum += costs[i]
			base += costs[batch+i]
			advantage[i] = (costs[i] - costs[batch+i]) / float32(batch)
		}
		status[statusCost] += sum / float32(batch)
		status[statusBaseline] += base / float32(batch)
		report(a.I32(2), a.I32(3), badCost, finite(sum) && finite(base))
	},
}

// lossKernel is the loss, the sum of advantage[i]*logprob[i], into the status.
var lossKernel = &device.Kernel{
	Symbol: "trainer_loss",
	Module: module,
	Dims:   oneBlock,
	Params: []device.Param{{Name: "status"}, {Name: "advantage"}, {Name: "logprob"}, {Name: "control"}, {Name: "batch", Kind: device.KindInt}},
	Check: func(a device.Args) error {
		return errors.Join(a.Need(0, statusWords), a.Need(1, a.Int(4)), a.Need(2, a.Int(4)), a.Need(3, controlStep+1))
	},
	Work: func(a device.Args) device.Work {
		n := int64(a.Int(4))
		return device.Work{Flops: 2 * n, ReadBytes: 8 * n, WriteBytes: 4}
	},
	Body: func(a device.Args) {
		status, advantage, logprob := a.F32(0), a.F32(1), a.F32(2)
		var loss float32
		for i := range a.Int(4) {
			loss += float32(advantage[i] * logprob[i])
		}
		status[statusLoss] = loss
		report(a.I32(0), a.I32(3), badForward, finite(loss))
	},
}

// clipKernel leaves the factor that brings the gradient's norm down to limit
// in the status: 1 where it is below, 0 once a number was not finite, so that
// the parameters stay good.
var clipKernel = &device.Kernel{
	Symbol: "trainer_clip",
	Module: module,
	Dims:   spread(4),
	Params: []device.Param{{Name: "status"}, {Name: "grads"}, {Name: "control"}, {Name: "limit", Kind: device.KindFloat}, {Name: "n", Kind: device.KindInt}},
	Check: func(a device.Args) error {
		return errors.Join(a.Need(0, statusWords), a.Need(1, a.Int(4)), a.Need(2, controlStep+1))
	},
	Work: func(a device.Args) device.Work {
		n := int64(a.Int(4))
		return device.Work{Flops: 2 * n, ReadBytes: 4 * n, WriteBytes: 8}
	},
	Body: func(a device.Args) {
		status, limit := a.F32(0), a.Float(3)
		norm := float32(math.Sqrt(f32.SumSquares(a.F32(1)[:a.Int(4)])))
		status[statusNorm] = norm
		report(a.I32(0), a.I32(2), badBackward, finite(norm))
		status[statusScale] = 1
		if norm > limit {
			status[statusScale] = limit / norm
		}
		if a.I32(0)[statusBadPhase] != 0 {
			status[statusScale] = 0
		}
	},
}

// adamKernel is one step of Adam on params, with the gradient scaled as the
// status says and the learning rate in rate[0], unless the status says that
// something is bad; then it does nothing. It also counts the step.
var adamKernel = &device.Kernel{
	Symbol: "trainer_adam",
	Module: module,
	Dims:   spread(7),
	Params: []device.Param{{Name: "params"}, {Name: "m"}, {Name: "v"}, {Name: "grads"}, {Name: "status"}, {Name: "control"}, {Name: "rate"},
		{Name: "n", Kind: device.KindInt}},
	Check: func(a device.Args) error {
		n := a.Int(7)
		return errors.Join(a.Need(0, n), a.Need(1, n), a.Need(2, n), a.Need(3, n), a.Need(4, statusWords), a.Need(5, controlStep+1), a.Need(6, 1))
	},
	Work: func(a device.Args) device.Work {
		n := int64(a.Int(7))
		return device.Work{Flops: 12 * n, ReadBytes: 16 * n, WriteBytes: 12 * n}
	},
	Body: func(a device.Args) {
		control := a.I32(5)
		control[controlStep]++
		if a.I32(4)[statusBadPhase] != 0 {
			return
		}
		n := a.Int(7)
		f32.Adam(a.F32(0)[:n], a.F32(1)[:n], a.F32(2)[:n], a.F32(3)[:n], int(control[controlStep]), a.F32(6)[0], adamBeta1, adamBeta2, adamEps, a.F32(4)[statusScale])
	},
}

// Adam's constants.
const (
	adamBeta1 = 0.9
	adamBeta2 = 0.999
	adamEps   = 1e-8
)
