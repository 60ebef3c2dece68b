package bench

import (
	"errors"
	"fmt"
	"testing"

	"gputax/device"
)

// Observer counts what an op does from outside of it, for ops that do not use
// a Recorder. profiles.Observer is one, for CUDA by any binding or library.
type Observer interface {
	// Count runs op and counts what it does.
	Count(op func() error) (device.Counters, []error, error)
	// Sees says whether it can see a counter at all.
	Sees(c device.Counter) bool
}

// Observe benchmarks an op that runs on a GPU by whatever means, and gives it
// the counters that Run gives as metrics; those that o cannot see are left out.
// The op must wait for its device work, as its time is taken around it. It is
// observed after the timed ops, never while it is timed, and twice: where the
// counts differ the benchmark says so.
func Observe(b *testing.B, o Observer, op func() error) {
	b.Helper()
	if err := op(); err != nil { // warms up
		b.Fatalf("bench: warm-up: %v", err)
	}
	n := 0
	for b.Loop() {
		n++
		if err := op(); err != nil {
			b.Fatalf("bench: op %d: %v", n, err)
		}
	}
	counted, warnings, err := o.Count(op)
	if err != nil {
		b.Fatalf("bench: observed op: %v", err)
	}
	again, _, err := o.Count(op)
	if err != nil {
		b.Fatalf("bench: observed op: %v", err)
	}
	if again != counted {
		warnings = append(warnings, errors.New("the op does not do the same work every time; counters are those of the first of 2 observed"))
	}
	for _, w := range warnings {
		b.Log(fmt.Errorf("bench: %w", w))
	}
	metrics := []Metric{{Unit: timeUnit(device.Real, "")}}
	for c, v := range counted {
		if o.Sees(device.Counter(c)) {
			metrics = append(metrics, Metric{device.Counter(c).Unit(), float64(v)})
			b.ReportMetric(float64(v), device.Counter(c).Unit())
		}
	}
	if err := announceOnStdout(metrics); err != nil {
		b.Fatal(err)
	}
}
