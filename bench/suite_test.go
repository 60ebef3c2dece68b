package bench_test

import (
	"flag"
	"testing"

	"gputax/bench"
	"gputax/bench/suite"
	"gputax/device/catalog"
	"gputax/model"
	"gputax/model/gorgonia"
	"gputax/trainer"
)

// devices is every device this machine can open: host, the simulated ones, and
// cuda where there is one.
func devices(tb testing.TB) []string {
	tb.Helper()
	entries, err := catalog.List()
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Why != nil {
			tb.Logf("%s waits for a device: %v", e.Name, e.Why)
			continue
		}
		names = append(names, e.Name)
	}
	return names
}

var full = flag.Bool("full", false, "benchmark whole epochs instead of a few steps")

// library is Gorgonia, what a Go user would pick today: a row of the epoch.
type library struct{}

func (library) Open(cfg model.Config, batch int) (trainer.HostGradient, error) {
	return gorgonia.NewSingle(cfg, batch)
}

func BenchmarkEpoch(b *testing.B)    { runSuite(b, "Epoch") }
func BenchmarkCost(b *testing.B)     { runSuite(b, "Cost") }
func BenchmarkTransfer(b *testing.B) { runSuite(b, "Transfer") }
func BenchmarkLaunch(b *testing.B)   { runSuite(b, "Launch") }

func runSuite(b *testing.B, name string) {
	bench.RunCases(b, catalog.Open, devices(b), suite.Named(name, suite.Options{Full: *full, HostEngine: library{}}))
}
