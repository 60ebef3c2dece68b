package profiles

import (
	"math"
	"time"

	"gputax/device"
	"gputax/device/sim"
)

// spy is a device that times every launch of a kind it has not seen: it
// captures the launch many times over in a graph and replays that, where the
// launch would have run.
type spy struct {
	device.Device
	seen      map[sim.KernelTime]bool
	found     []sim.KernelTime
	capturing bool
	graph     []func() error // launches of the workload's own capture
}

// copies is how many launches are timed together.
const spyCopies = 20

func (s *spy) BeginCapture(stream device.Stream) error {
	s.capturing = true
	return s.Device.BeginCapture(stream)
}

func (s *spy) EndCapture(stream device.Stream) (any, error) {
	s.capturing = false
	g, err := s.Device.EndCapture(stream)
	if err != nil {
		return nil, err
	}
	for _, timeIt := range s.graph { // what the capture held back
		if err := timeIt(); err != nil {
			return nil, err
		}
	}
	s.graph = nil
	return g, nil
}

func (s *spy) Launch(stream device.Stream, k *device.Kernel, args device.Args) error {
	if err := s.Device.Launch(stream, k, args); err != nil {
		return err
	}
	w := k.WorkOf(args)
	kind := sim.KernelTime{Symbol: k.Symbol, Flops: w.Flops, TensorFlops: w.TensorFlops, Bytes: w.ReadBytes + w.WriteBytes}
	if s.seen[kind] {
		return nil
	}
	s.seen[kind] = true
	copied := append(device.Args(nil), args...)
	timeIt := func() error { return s.time(kind, k, copied) }
	if s.capturing {
		s.graph = append(s.graph, timeIt)
		return nil
	}
	return timeIt()
}

// time adds kind with its time to what was found.
func (s *spy) time(kind sim.KernelTime, k *device.Kernel, args device.Args) error {
	if err := s.Device.Sync(device.Default); err != nil {
		return err
	}
	one, err := s.replay(1, k, args)
	if err != nil {
		return err
	}
	many, err := s.replay(1+spyCopies, k, args)
	if err != nil {
		return err
	}
	kind.NS = math.Round(max(many-one, 0) / spyCopies)
	s.found = append(s.found, kind)
	return nil
}

// replay is the shortest time of a few replays of a graph of n launches, in ns.
func (s *spy) replay(n int, k *device.Kernel, args device.Args) (float64, error) {
	if err := s.Device.BeginCapture(device.Default); err != nil {
		return 0, err
	}
	for range n {
		if err := s.Device.Launch(device.Default, k, args); err != nil {
			return 0, err
		}
	}
	g, err := s.Device.EndCapture(device.Default)
	if err != nil {
		return 0, err
	}
	best := math.Inf(1)
	for range 5 {
		start := time.Now()
		if err := s.Device.Replay(device.Default, g); err != nil {
			return 0, err
		}
		if err := s.Device.Sync(device.Default); err != nil {
			return 0, err
		}
		best = min(best, float64(time.Since(start)))
	}
	return best, s.Device.FreeGraph(g)
}
