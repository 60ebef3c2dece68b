// Package bench is the harness for benchmarks of device work on testing.B, and
// the same measurement for commands.
//
// A benchmark is a few lines, and gets exact counters and phase times as
// metrics beside its time:
//
//	func BenchmarkMyEpoch(b *testing.B) {
//		bench.Run(b, dev, func(rec *device.Recorder) error {
//			return epoch(rec)
//		})
//	}
//
// On a simulated device the time is reported as sim-ns/op and ns/op is left
// out. Output goes straight into benchstat.
package bench

import (
	"testing"

	"gputax/device"
)

// Run benchmarks op on dev. Each op ends when the device has done all its
// work; that last wait is in the time but not in the counters.
func Run(b *testing.B, dev device.Device, op Op) {
	b.Helper()
	run(b, device.NewRecorder(dev), op)
}

func run(b *testing.B, rec *device.Recorder, op Op) {
	b.Helper()
	s, err := measure(rec, b.Loop, op)
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range s.Warnings {
		b.Log(w)
	}
	metrics := s.Metrics()
	if s.Clock == device.Virtual {
		b.ReportMetric(0, "ns/op") // zero leaves it out
	} else {
		metrics = metrics[1:] // testing's own ns/op
	}
	for _, m := range metrics {
		b.ReportMetric(m.Value, m.Unit)
	}
	// With b.Loop the whole benchmark has run before testing prints its name,
	// so these lines stand between results, never inside one.
	if err := announceOnStdout(metrics); err != nil {
		b.Fatal(err)
	}
}

// Case is one benchmark of a matrix: an op with the setup it needs.
type Case struct {
	Bench   string // the benchmark's name without "Benchmark": Cost
	Variant string // padded
	Params  string // what else names it, as key=value parts: batch=128/n=10
	About   string // the variant, in a line
	// Setup makes the op on rec; done, where not nil, frees what it took.
	Setup func(rec *device.Recorder) (op Op, done func() error, err error)
}

// Name is the case's name on a device, without "Benchmark".
func (c *Case) Name(dev string) string { return c.Bench + "/" + c.sub(dev) }

func (c *Case) sub(dev string) string {
	name := "variant=" + c.Variant + "/device=" + dev
	if c.Params != "" {
		name += "/" + c.Params
	}
	return name
}

// RunCases runs every case on every device as a sub-benchmark of b.
func RunCases(b *testing.B, devs []device.Device, cases []Case) {
	for _, c := range cases {
		for _, dev := range devs {
			b.Run(c.sub(dev.Name()), func(b *testing.B) { runCase(b, dev, c) })
		}
	}
}

func runCase(b *testing.B, dev device.Device, c Case) {
	rec := device.NewRecorder(dev)
	op, done, err := c.Setup(rec)
	if err != nil {
		b.Fatal(err)
	}
	run(b, rec, op)
	if done == nil {
		return
	}
	if err := done(); err != nil {
		b.Fatal(err)
	}
}
