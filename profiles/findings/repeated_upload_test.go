package findings

import "testing"

func TestRepeatedUpload(t *testing.T) {
	testRule(t, repeatedUpload, []ruleCase{
		{"a table sent in every step", func(b *builder) {
			b.steps(4, func(step int) {
				b.upload(1000, 7)
				b.upload(1000, uint64(100+step))
				b.upload(500, uint64(100+step))
			})
		}, 0, 0}, // one of two of that size is new: three of eight repeat
		{"a table of its own size", func(b *builder) {
			b.steps(4, func(step int) {
				b.upload(1000, 7)
				b.upload(500, uint64(100+step))
			})
		}, 3, 3 * 11_000},
		{"the same item over and over", func(b *builder) {
			b.steps(2, func(step int) {
				for range 10 {
					b.upload(4, 7)
				}
			})
		}, 19, 19 * 10_004},
		{"fresh data", func(b *builder) {
			b.steps(4, func(step int) { b.upload(1000, uint64(1+step)) })
		}, 0, 0},
		{"contents not known", func(b *builder) {
			b.steps(4, func(int) { b.upload(1000, 0) })
		}, 0, 0},
		{"what comes back", func(b *builder) {
			b.steps(4, func(int) { b.download(1000, 7) })
		}, 0, 0},
	})
}
