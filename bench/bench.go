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
//
// What is then done with results is here too, for any producer's:
//
//  1. ReadFiles reads benchmark files, and refuses what is not whole.
//  2. Compare judges new results by old ones: times by rank tests and Holm's
//     correction, exact units by equality. A Comparison has a verdict and writes
//     itself as text, markdown, JSON and CSV. Package bench/gate makes the
//     samples for it, from two versions run in alternation.
//  3. Explain prices the change of every counter and says how much of a
//     difference that explains; Ablate switches factors one by one and together
//     and gives each its Shapley share.
package bench

import (
	"errors"
	"strings"
	"testing"

	"gputax/device"
)

// Run benchmarks op on dev. Each op ends when the device has done all its
// work; that last wait is in the time but not in the counters.
func Run(b *testing.B, dev device.Device, op Op) {
	b.Helper()
	run(b, device.NewRecorder(dev), Work{Op: op})
}

func run(b *testing.B, rec *device.Recorder, w Work) {
	b.Helper()
	s, err := measure(rec, b.Loop, w)
	if err != nil {
		b.Fatal(err)
	}
	for _, w := range s.Warnings {
		b.Log(w)
	}
	metrics := s.Metrics()
	if s.Clock == device.Virtual {
		b.ReportMetric(0, "ns/op") // zero leaves it out
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
	// RealOnly keeps it off simulated devices: its work is not the device's.
	RealOnly bool
	// Setup makes the work on rec.
	Setup func(rec *device.Recorder) (Work, error)
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

// Opener opens a device by name.
type Opener func(name string) (device.Device, error)

// RunsOn says whether the case is for the device of that name.
func (c *Case) RunsOn(dev string) bool { return !c.RealOnly || !strings.HasPrefix(dev, "sim:") }

// RunCases runs every case on every device as a sub-benchmark of b, each on a
// device of its own, so that no result depends on what ran before it.
func RunCases(b *testing.B, open Opener, devices []string, cases []Case) {
	for _, c := range cases {
		for _, name := range devices {
			if !c.RunsOn(name) {
				continue
			}
			b.Run(c.sub(name), func(b *testing.B) { runCase(b, open, name, c) })
		}
	}
}

func runCase(b *testing.B, open Opener, name string, c Case) {
	dev, err := open(name)
	if err != nil {
		b.Fatal(err)
	}
	rec := device.NewRecorder(dev)
	w, err := c.Setup(rec)
	if err != nil {
		b.Fatal(err)
	}
	run(b, rec, w)
	if w.Close != nil {
		err = w.Close()
	}
	if err := errors.Join(err, dev.Close()); err != nil {
		b.Fatal(err)
	}
}
