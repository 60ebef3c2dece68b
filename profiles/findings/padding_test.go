package findings

import (
	"testing"

	"gputax/profiles"
)

func TestPadding(t *testing.T) {
	pad := func(useful int64, copies int, kernel int64) func(*builder) {
		return func(b *builder) {
			b.steps(2, func(step int) {
				b.phase("cost")
				for range copies {
					b.upload(100, 0)
				}
				b.rec.Padded = append(b.rec.Padded, profiles.Padding{Phase: b.name, Step: int32(step), Useful: useful, Total: 100})
				b.launch("gather", kernel)
				b.sync()
			})
		}
	}
	testRule(t, padding, []ruleCase{
		{"half of a long kernel", pad(50, 1, 1_000_000), 2, 2 * 500_000},
		// Forty copies of 100 bytes, 10.1 us each, a launch, 1 us of kernel and
		// the wait; against one copy of 2,000 bytes and a launch.
		{"half, and the kernel is nothing", pad(50, 40, 1_000), 2, 2 * (40*10_100 + 4_000 + 2_000 + 1_000 + 1_000 + 3_000 - 12_000 - 7_000 - 500)},
		{"a little", pad(90, 40, 1_000), 0, 0},
		{"not declared", func(b *builder) {
			pad(50, 40, 1_000)(b)
			b.rec.Padded = nil
		}, 0, 0},
	})
}
