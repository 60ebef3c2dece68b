package findings

import (
	"testing"

	"gputax/profiles"
)

func TestAPISync(t *testing.T) {
	step := func(body func(b *builder)) func(*builder) {
		return func(b *builder) {
			b.steps(3, func(int) {
				b.launch("k", 100_000)
				body(b)
				b.wait(30_000)
			})
		}
	}
	testRule(t, apiSync, []ruleCase{
		// Each wait takes 3 us, and 30+4 us of idle time follow it and 1 us of
		// latency more than a gap; after the last nothing does.
		{"one a step", step((*builder).sync), 3, 3*3_000 + 2*35_000},
		{"none", step(func(*builder) {}), 0, 0},
		{"for a read", step(func(b *builder) {
			b.copy(profiles.DeviceToHost, profiles.MemPinned, 1000, false)
			b.sync()
		}), 0, 0},
		{"one an item, which has its own rule", func(b *builder) {
			b.steps(2, func(int) {
				for range 20 {
					b.launch("k", 1_000)
					b.sync()
				}
			})
		}, 0, 0},
		{"after the steps", func(b *builder) {
			b.steps(2, func(int) { b.launch("k", 100_000) })
			b.sync()
		}, 0, 0},
	})
}
