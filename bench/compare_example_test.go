package bench_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"gputax/bench"
)

// A tool of yours judges two files of results, whoever wrote them.
func ExampleCompare() {
	old, err := bench.ReadFiles("testdata/compare/benchstat_old.txt")
	if err != nil {
		log.Fatal(err)
	}
	new, err := bench.ReadFiles("testdata/compare/benchstat_new.txt")
	if err != nil {
		log.Fatal(err)
	}
	c, err := bench.Compare(new, old, bench.CompareOptions{}) // taking the change back
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range c.Failed() {
		fmt.Printf("%s is %.1f%% worse in %s, by %.1f%% to %.1f%% with 95%% confidence\n",
			r.Benchmark, 100*r.Delta, r.Unit, 100*r.Effect.Lo, 100*r.Effect.Hi)
	}
	fmt.Println(c.Verdict())
	// Output:
	// Encode/format=json-48 is 20.8% worse in sec/op, by 20.0% to 22.0% with 95% confidence
	// regression
}

// Counters need one sample each, and any increase fails.
func ExampleComparison_WriteText() {
	read := func(name, text string) *bench.Results {
		r, err := bench.Read(strings.NewReader(text), name)
		if err != nil {
			log.Fatal(err)
		}
		return r
	}
	old := read("main", `Unit launches/op better=lower assume=exact
Unit sim-ns/op better=lower assume=exact
BenchmarkEpoch/variant=fused 1 806 launches/op 5110000 sim-ns/op
`)
	new := read("branch", `BenchmarkEpoch/variant=fused 1 9397 launches/op 5110000 sim-ns/op
`)
	c, err := bench.Compare(old, new, bench.CompareOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.WriteText(os.Stdout, false); err != nil {
		log.Fatal(err)
	}
	// Output:
	// old: main
	// new: branch
	//
	// exact                unit         old   new     change
	// Epoch/variant=fused  launches/op  806  9397  +1065.88%  WORSE
	//
	// 1 exact row equal
	// FAIL: 1 worse, 1 same
}

// How many samples it takes depends on how many rows are judged together.
func ExampleSamplesNeeded() {
	fmt.Println(bench.SamplesNeeded(bench.DefaultAlpha, 1, false))
	fmt.Println(bench.SamplesNeeded(bench.DefaultAlpha, 100, false))
	fmt.Println(bench.SamplesNeeded(bench.DefaultAlpha, 100, true)) // pairs
	// Output:
	// 5
	// 9
	// 15
}
