package findings

import "testing"

func TestLowOccupancy(t *testing.T) {
	kernels := func(blocks int32, d int64) func(*builder) {
		return func(b *builder) {
			b.steps(2, func(int) {
				for range 10 {
					b.launch("k", d).Blocks = blocks
				}
			})
		}
	}
	testRule(t, lowOccupancy, []ruleCase{
		// On 32 multiprocessors 8 blocks take a quarter.
		{"eight blocks", kernels(8, 100_000), 20, 20 * 75_000},
		{"one block, down to the least", kernels(1, 100_000), 20, 20 * 90_000},
		{"enough", kernels(32, 100_000), 0, 0},
		{"short", kernels(8, 9_000), 0, 0},
		{"layout not known", kernels(0, 100_000), 0, 0},
		{"some of many", func(b *builder) {
			b.steps(2, func(int) {
				for range 10 {
					b.launch("few", 100_000).Blocks = 8
					b.launch("many", 100_000).Blocks = 64
					b.launch("short", 9_000).Blocks = 8
				}
			})
		}, 20, 20 * 75_000},
	})
}
