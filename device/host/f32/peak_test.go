package f32

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// peakLoops is how often one call runs the loop of twelve multiply-adds.
const peakLoops = 1 << 15

// peak is a Body that keeps threads busy with multiply-adds on registers alone.
type peak struct {
	path  string
	lanes int
	loop  func(n int)
}

func (p *peak) Range(lo, hi int) {
	for range hi - lo {
		p.loop(peakLoops)
	}
}

// run uses all threads once and returns the number of operations.
func (p *peak) run() (flop float64) {
	calls := 8 * runtime.GOMAXPROCS(0)
	For(calls, 1, p)
	return float64(calls) * peakLoops * 12 * 2 * float64(p.lanes)
}

// BenchmarkPeak measures the most multiply-adds that the CPU does, on all threads at once.
func BenchmarkPeak(b *testing.B) {
	for _, p := range peaks() {
		b.Run("path="+p.path, func(b *testing.B) {
			flop := 0.0
			for b.Loop() {
				flop += p.run()
			}
			b.ReportMetric(flop/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// BenchmarkShare measures MatMul and the peak in turns, so that both see the same clock rate and the same neighbours,
// and reports the rate of the one as a share of the other.
func BenchmarkShare(b *testing.B) {
	for _, p := range peaks() {
		for op, opName := range opNames {
			for _, s := range benchShapes[:4] {
				if Trans(op) == TN {
					s.m, s.k = s.k, s.m
				}
				mm := randomMatMul(newRand(7), Trans(op), s.m, s.n, s.k, 0)
				b.Run(fmt.Sprintf("op=%s/shape=%dx%dx%d/path=%s", opName, s.m, s.n, s.k, p.path), func(b *testing.B) {
					withPath(b, p.path, 0, func() { reportShare(b, p, &mm) })
				})
			}
		}
	}
}

func reportShare(b *testing.B, p *peak, mm *MatMul) {
	var flop, peakFlop float64
	var spent, peakSpent time.Duration
	for b.Loop() {
		start := time.Now()
		peakFlop += p.run()
		middle := time.Now()
		mm.Run()
		peakSpent += middle.Sub(start)
		spent += time.Since(middle)
		flop += 2 * float64(mm.M) * float64(mm.N) * float64(mm.K)
	}
	b.ReportMetric(100*(flop/spent.Seconds())/(peakFlop/peakSpent.Seconds()), "%peak")
}
