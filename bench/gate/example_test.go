package gate_test

import (
	"context"
	"fmt"

	"gputax/bench/gate"
)

// version is a side whose benchmarks need no building.
type version struct{ launches int }

func (version) Packages() []string { return []string{"example.com/trainer"} }

func (v version) Run(context.Context, gate.Request) ([]byte, error) {
	return fmt.Appendf(nil, "Unit launches/op better=lower assume=exact\npkg: example.com/trainer\nBenchmarkEpoch 1 %d launches/op\n", v.launches), nil
}

// Any two versions that can run their benchmarks can be gated. Those of a Git
// repository are built by gate.Open.
func Example() {
	report, err := gate.Run(context.Background(), version{804}, version{9397}, gate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Verdict())
	for _, row := range report.Comparison.Failed() {
		fmt.Printf("%s %s: %g -> %g\n", row.Benchmark, row.Unit, row.Old.Center, row.New.Center)
	}
	// Output:
	// regression
	// Epoch launches/op: 804 -> 9397
}
