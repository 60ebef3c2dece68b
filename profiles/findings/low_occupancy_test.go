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
		// On 32 multiprocessors 8 blocks take a quarter; the last has no next.
		{"eight blocks", kernels(8, 100_000), 20, 19 * 75_000},
		{"one block, down to the least", kernels(1, 100_000), 20, 19 * 90_000},
		{"enough", kernels(32, 100_000), 0, 0},
		{"short", kernels(8, 9_000), 0, 0},
		{"layout not known", kernels(0, 100_000), 0, 0},
	})
}
