package bench_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"gputax/bench"
)

// manyResults is a file of so many result lines, with four units of times and
// memory and four exact ones. Values are rounded, as go test rounds them, so
// there are ties, which take the tests longest.
func manyResults(r *rand.Rand, benchmarks, count int) string {
	var b strings.Builder
	for _, unit := range []string{"launches/op", "h2d-copies/op", "h2d-B/op", "syncs/op"} {
		fmt.Fprintf(&b, "Unit %s better=lower assume=exact\n", unit)
	}
	b.WriteString("goos: linux\ngoarch: amd64\npkg: gputax/bench\ncpu: some processor\n")
	for i := range benchmarks {
		for range count {
			t := float64(1000*(1+i%7)) * (1 + 0.02*r.NormFloat64())
			fmt.Fprintf(&b, "BenchmarkEpoch/variant=v%d/device=cuda:0/batch=128/n=10-16 \t%d\t%.0f ns/op\t%.2f MB/s\t%d B/op\t%d allocs/op\t%d launches/op\t76 h2d-copies/op\t448028 h2d-B/op\t%d syncs/op\n",
				i, 1+i, t, 1e5/t, 100+r.IntN(5), 3+r.IntN(2), i, i%3)
		}
	}
	return b.String()
}

// Two files of 10,000 results each, however they are divided into benchmarks,
// are compared in well under a second on an idle core; the limit is loose for
// busy machines.
func TestCompareManyResults(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ benchmarks, count int }{{1000, 10}, {400, 25}, {10, 1000}} {
		old, new := manyResults(r, c.benchmarks, c.count), manyResults(r, c.benchmarks, c.count)
		start := time.Now()
		got := compareTexts(t, old, new, bench.CompareOptions{})
		if err := got.WriteText(io.Discard, false); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%d benchmarks of %d: %v", c.benchmarks, c.count, took)
		}
		if want := 8 * c.benchmarks; len(got.Rows) != want || len(got.Failed()) > 0 {
			t.Errorf("%d rows, want %d; %s", len(got.Rows), want, got.Summary())
		}
	}
}

func BenchmarkCompareManyResults(b *testing.B) {
	for _, c := range []struct{ benchmarks, count int }{{1000, 10}, {400, 25}, {10, 1000}} {
		b.Run(fmt.Sprintf("benchmarks=%d", c.benchmarks), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			old, new := manyResults(r, c.benchmarks, c.count), manyResults(r, c.benchmarks, c.count)
			runtime.GC()
			b.ReportAllocs()
			for b.Loop() {
				if err := compareTexts(b, old, new, bench.CompareOptions{}).WriteText(io.Discard, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
