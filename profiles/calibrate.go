package profiles

import (
	"fmt"
	"slices"
	"time"

	"gputax/device"
	"gputax/device/sim"
)

// Calibration is what Calibrate measures a device with.
type Calibration struct {
	Dev   device.Device
	Name  string // of the profile
	About string // of the hardware and software
	Date  string // goes into every constant's source

	// Rounds is how often everything is measured; constants are medians.
	Rounds int
	// Workloads are run once each, to learn which kernels they launch with how
	// much work; each of those launches is then timed by itself.
	Workloads []Workload
	// Item is a plain loop of the host that takes Items scalar steps.
	Item  func()
	Items int
	// Progress, where not nil, is told what is measured next.
	Progress func(what string)
}

// Workload is something that launches kernels.
type Workload struct {
	Name string
	Run  func(rec *device.Recorder) error
}

// Calibrate measures a device profile.
func Calibrate(c Calibration) (*sim.Profile, error) {
	m := &meter{Calibration: c, rec: device.NewRecorder(c.Dev),
		p: &sim.Profile{Name: c.Name, About: c.About, Status: "measured", From: map[string]string{}}}
	if err := Measurable(c.Dev); err != nil {
		return nil, err
	}
	if m.Rounds < 1 {
		return nil, fmt.Errorf("profiles: calibrate: %d rounds: want at least 1", m.Rounds)
	}
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{"launches", m.launches}, {"gaps", m.gap}, {"copies", m.copies}, {"allocations", m.allocations},
		{"the host", m.host}, {"memory", m.memory}, {"kernels", m.kernels},
	} {
		m.progress(part.name)
		if err := part.measure(); err != nil {
			return nil, fmt.Errorf("profiles: calibrate %s: %w", part.name, err)
		}
	}
	return m.p, nil
}

// Measurable refuses a device that Calibrate cannot measure.
func Measurable(dev device.Device) error {
	if dev.Clock() != device.Real {
		return fmt.Errorf("profiles: calibrate: %s is simulated; its profile is what it runs by", dev.Name())
	}
	return nil
}

// meter is a calibration in progress.
type meter struct {
	Calibration
	rec *device.Recorder
	p   *sim.Profile
}

func (m *meter) progress(what string) {
	if m.Progress != nil {
		m.Progress(what)
	}
}

// time is the median over rounds of what f takes, in ns, divided by n.
func (m *meter) time(n int, f func() error) (spread, error) {
	var all samples
	for range m.Rounds {
		if err := m.rec.Drain(); err != nil {
			return spread{}, err
		}
		start := time.Now()
		if err := f(); err != nil {
			return spread{}, err
		}
		all = append(all, float64(time.Since(start))/float64(n))
	}
	return all.spread(), nil
}

// samples is times of the same thing, in ns.
type samples []float64

func (s samples) spread() spread {
	s = slices.Sorted(slices.Values(s))
	return spread{s[len(s)/2], s[0], s[len(s)-1]}
}

// spread is a median with the least and the most.
type spread struct{ median, least, most float64 }

// set stores a constant with where it comes from.
func (m *meter) set(name string, at *float64, value float64, how string) {
	*at = max(value, 0)
	m.p.From[name] = fmt.Sprintf("measured %s, median of %d rounds: %s", m.Date, m.Rounds, how)
}

func (s spread) String() string {
	return fmt.Sprintf("%.0f ns (%.0f to %.0f)", s.median, s.least, s.most)
}

// batchSize is how many calls are timed together, so that the clock's own time
// is small against theirs.
const batchSize = 200

// launches measures everything about launching: plain, synced, by graph.
func (m *meter) launches() error {
	counter, err := m.rec.Alloc(4)
	if err != nil {
		return err
	}
	launch := func() error { return m.rec.Launch(device.Default, tick, device.Buf(counter)) }
	if err := launch(); err != nil { // loads the module
		return err
	}
	plain, err := m.time(batchSize, repeat(batchSize, launch))
	if err != nil {
		return err
	}
	idle, err := m.time(batchSize, repeat(batchSize, func() error { return m.rec.Sync(device.Default) }))
	if err != nil {
		return err
	}
	synced, err := m.time(batchSize, repeat(batchSize, func() error {
		if err := launch(); err != nil {
			return err
		}
		return m.rec.Sync(device.Default)
	}))
	if err != nil {
		return err
	}
	event, err := m.rec.NewEvent()
	if err != nil {
		return err
	}
	record, err := m.time(batchSize, repeat(batchSize, func() error { return m.rec.Record(event, device.Default) }))
	if err != nil {
		return err
	}
	submit, node, err := m.graphs(launch)
	if err != nil {
		return err
	}
	p := m.p
	m.set("launch_host_ns", &p.LaunchHost, plain.median, "a launch "+plain.String())
	m.set("sync_host_ns", &p.SyncHost, idle.median, "a sync of an idle stream "+idle.String())
	m.set("kernel_floor_ns", &p.KernelFloor, node, fmt.Sprintf("a node of a graph %.0f ns", node))
	m.set("launch_latency_ns", &p.LaunchLatency, synced.median-plain.median-idle.median-node,
		fmt.Sprintf("launch and sync %v, less launch, sync and kernel", synced))
	m.set("event_host_ns", &p.EventHost, record.median, "a record "+record.String())
	m.set("graph_host_ns", &p.GraphHost, submit.median, "a replay of 400 kernels, not waited for, "+submit.String())
	m.set("graph_node_ns", &p.GraphNode, node, "from graphs of 200 and of 400 kernels, "+fmt.Sprintf("%.0f ns", node))
	return m.rec.Free(counter)
}

// graphs is the host's time to replay a graph of 400 launches, and the device's
// for each of them.
func (m *meter) graphs(launch func() error) (submit spread, node float64, err error) {
	var whole [2]spread
	for i, n := range []int{200, 400} {
		g, err := m.capture(n, launch)
		if err != nil {
			return submit, 0, err
		}
		if submit, err = m.time(1, func() error { return m.rec.Replay(device.Default, g) }); err != nil {
			return submit, 0, err
		}
		if whole[i], err = m.time(1, func() error {
			if err := m.rec.Replay(device.Default, g); err != nil {
				return err
			}
			return m.rec.Sync(device.Default)
		}); err != nil {
			return submit, 0, err
		}
		if err := m.rec.FreeGraph(g); err != nil {
			return submit, 0, err
		}
	}
	return submit, (whole[1].median - whole[0].median) / 200, nil
}

// capture is a graph of n times f, replayed once so that it is loaded.
func (m *meter) capture(n int, f func() error) (*device.Graph, error) {
	if err := m.rec.BeginCapture(device.Default); err != nil {
		return nil, err
	}
	err := repeat(n, f)()
	g, endErr := m.rec.EndCapture()
	if err != nil {
		return nil, err
	}
	if endErr != nil {
		return nil, endErr
	}
	if err := m.rec.Replay(device.Default, g); err != nil {
		return nil, err
	}
	return g, m.rec.Sync(device.Default)
}

func repeat(n int, f func() error) func() error {
	return func() error {
		for range n {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}

// kernels times every different launch of the workloads.
func (m *meter) kernels() error {
	seen := map[sim.KernelTime]bool{}
	for _, w := range m.Workloads {
		m.progress("kernels of " + w.Name)
		s := &spy{Device: m.Dev, seen: seen}
		if err := w.Run(device.NewRecorder(s)); err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		m.p.Kernels = append(m.p.Kernels, s.found...)
	}
	sim.SortKernels(m.p.Kernels)
	best := func(work func(sim.KernelTime) int64) float64 {
		rate := 1.0
		for _, k := range m.p.Kernels {
			rate = max(rate, float64(work(k))/max(k.NS, 1)*1e9)
		}
		return rate
	}
	flops := best(func(k sim.KernelTime) int64 { return k.Flops })
	tensor := best(func(k sim.KernelTime) int64 { return k.TensorFlops })
	m.set("flops_per_s", &m.p.FlopsPerS, flops, "the best rate of any kernel of the workloads")
	m.set("tensor_flops_per_s", &m.p.TensorPerS, max(tensor, flops), "the best rate of any kernel of the workloads")
	return nil
}
