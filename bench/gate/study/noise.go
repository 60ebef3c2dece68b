package main

import (
	"fmt"
	"math"
	"slices"
)

// describe prints how noisy the samples are.
func describe(pools []*pool) {
	fmt.Printf("samples: %d pairs of runs of each of %d benchmarks\n\n", len(pools[0].pairs), len(pools))
	fmt.Printf("%-58s %10s %8s %8s\n", "benchmark", "ns/op", "spread", "linking")
	for _, p := range pools {
		var times, ratios []float64
		for _, pr := range p.pairs {
			times = append(times, pr.runs[0].ns)
			ratios = append(ratios, math.Log(pr.runs[1].ns/pr.runs[0].ns))
		}
		spread := (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / 1.349
		fmt.Printf("%-58s %10.4g %7.1f%% %+7.1f%%\n", p.name, quantile(times, 0.5), 100*spread, 100*math.Expm1(quantile(ratios, 0.5)))
	}
	fmt.Println("\nspread: of the ratio in a pair, as the standard deviation of its middle half; linking: the median ratio.")
}

func quantile(x []float64, q float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[int(q*float64(len(x)-1)+0.5)]
}
