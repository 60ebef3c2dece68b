package findings

import "testing"

func TestTensorPerItem(t *testing.T) {
	testRule(t, tensorPerItem, []ruleCase{
		{"ten a step", func(b *builder) {
			b.steps(2, func(int) {
				for range 10 {
					b.alloc()
					b.upload(1000, 0)
					b.free()
				}
			})
		}, 20, 18 * (8_000 + 11_000 + 2_000)},
		{"a few", func(b *builder) {
			b.steps(2, func(int) {
				for range 7 {
					b.alloc()
					b.upload(1000, 0)
				}
			})
		}, 0, 0},
		{"large ones", func(b *builder) {
			b.steps(2, func(int) {
				for range 10 {
					b.alloc()
					b.upload(1<<20, 0)
				}
			})
		}, 0, 0},
		{"scratch memory, which nothing is copied to", func(b *builder) {
			b.steps(2, func(int) {
				for range 10 {
					b.alloc()
					b.launch("k", 1_000)
					b.upload(1000, 0)
				}
			})
		}, 0, 0},
	})
}
