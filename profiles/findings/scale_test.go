package findings

import (
	"fmt"
	"testing"
)

// long is a recording of about that many calls, in steps of a thousand.
func long(calls int) *builder {
	b := newBuilder()
	b.steps(calls/1000, func(step int) {
		b.phase("upload")
		for i := range 100 {
			b.upload(484, uint64(1+step*100+i))
		}
		b.phase("forward")
		for i := range 850 {
			b.detail(b.launch("k", 1_000)).Content = uint64(1 + step*1000 + i)
		}
		for range 50 {
			b.sync()
		}
	})
	return b
}

// Twice the events take about twice the time and memory.
func BenchmarkRun(b *testing.B) {
	for _, calls := range []int{1 << 17, 1 << 20} {
		b.Run(fmt.Sprintf("calls=%d", calls), func(b *testing.B) {
			rec, p := long(calls).recording(b), testProfile()
			b.ReportAllocs()
			for b.Loop() {
				if len(Run(rec, p).Findings) == 0 {
					b.Fatal("nothing found")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rec.Calls.Len()), "ns/call")
		})
	}
}
