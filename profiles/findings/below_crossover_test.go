package findings

import (
	"testing"

	"gputax/profiles"
)

func TestBelowCrossover(t *testing.T) {
	phase := func(n int, flops int64) func(*builder) {
		return func(b *builder) {
			b.steps(2, func(int) {
				b.phase("cost")
				for range n {
					d := b.detail(b.launch("add", 1_000))
					d.Flops, d.MemBytes = flops, 10
				}
				b.sync()
			})
		}
	}
	// On the device a hundred take 402 us: 4 us each, and the first's latency.
	// The host: 101 ns each for the loop, 1 for each flop and 10 for the bytes,
	// and a copy each way of 1,000 bytes, 11 us.
	testRule(t, belowCrossover, []ruleCase{
		{"next to nothing, over and over", phase(100, 1), 200, 2 * (402_000 + 1_000 - 100*112 - 22_000)},
		{"work that the host would take long for", phase(100, 2_000), 0, 0},
		{"a few kernels", phase(7, 1), 0, 0},
		{"in a graph", func(b *builder) { b.steps(2, func(int) { b.graph(100, 1_000) }) }, 0, 0},
		{"work not declared", func(b *builder) {
			b.rec.Source.Unseen[profiles.DeclaredWork] = "not declared"
			phase(100, 1)(b)
		}, 0, 0},
	})
	b := newBuilder()
	phase(100, 1)(b)
	if r := Run(b.recording(t), nil); !skips(r, belowCrossover, "needs a device profile") {
		t.Errorf("without a profile: %+v", r.Skipped)
	}
}
