package bench_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"gputax/bench"
)

// Two switches of a program, one of which only costs with the other.
func ExampleAblate() {
	factors := []bench.Factor{{Name: "cost", From: "cpu", To: "gpu"}, {Name: "copies", From: "1", To: "9"}}
	run := func(_ context.Context, on []bool) (ns float64, err error) {
		ns = 5e6 // the rest of the program
		copies := 1.0
		if on[1] {
			copies = 9
		}
		if on[0] {
			return ns + copies*4e6, nil
		}
		return ns + copies*1e3, nil
	}
	a, err := bench.Ablate(context.Background(), factors, run, bench.AblateOptions{Exact: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	a.WriteText(os.Stdout, bench.Style{Width: 60, ASCII: true})
	// Output:
	// none switched -> all switched
	// 5.00 ms -> 41.0 ms: 36.0 ms more (8.20x)
	//
	//   cost      cpu -> gpu  +20.0 ms   56%  ###################
	//   copies    1 -> 9      +16.0 ms   44%  ###############
	//   together              +36.0 ms  100%
	//
	// Two switched together, beyond each by itself (half is in the share of each):
	//   cost with copies  +32.0 ms  #############################
	//
	// The largest share is that of cost: +20.0 ms, 56% of the difference.
	// Shapley shares of all 4 combinations, each run once: its time is exact.
}

// Two files of results, and what a launch costs.
func ExampleExplain() {
	read := func(text string) *bench.Results {
		r, err := bench.Read(strings.NewReader(text), "bench.txt")
		if err != nil {
			panic(err)
		}
		return r
	}
	old := read("BenchmarkStep 1 2000000 sim-ns/op 100 launches/op 400000 sim-cost-ns/op\n")
	new := read("BenchmarkStep 1 6000000 sim-ns/op 1100 launches/op 4390000 sim-cost-ns/op\n")
	x, err := bench.Explain(old, new, "Step", bench.ExplainOptions{Prices: &bench.Prices{Of: "my card", Launch: 3950}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(x.Culprit, "/", x.Phases[0].Name)
	fmt.Println(x.Verdict)
	// Output:
	// kernel launches / cost
	// The culprit is kernel launches, in phase cost: 99% of the difference, of the 99% that counted events explain.
}
