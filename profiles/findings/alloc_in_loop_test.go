package findings

import "testing"

func TestAllocInLoop(t *testing.T) {
	testRule(t, allocInLoop, []ruleCase{
		{"one a step", func(b *builder) {
			b.steps(3, func(int) {
				b.alloc()
				b.launch("k", 1_000)
				b.sync()
				b.free()
			})
		}, 3, 3 * (8_000 + 2_000)},
		{"while the device works", func(b *builder) {
			b.steps(3, func(int) {
				b.launch("k", 1_000_000)
				b.alloc()
				b.free()
			})
		}, 0, 0},
		{"in the first step, which makes room", func(b *builder) {
			b.steps(3, func(step int) {
				if step == 0 {
					b.alloc()
				}
				b.wait(20_000)
			})
		}, 0, 0},
		{"before the loop", func(b *builder) {
			b.alloc()
			b.steps(3, func(int) { b.launch("k", 1_000) })
			b.free()
		}, 0, 0},
	})
}
