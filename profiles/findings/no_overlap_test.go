package findings

import (
	"testing"

	"gputax/profiles"
)

func TestNoOverlap(t *testing.T) {
	step := func(kernel, bytes int64) func(*builder) {
		return func(b *builder) {
			b.steps(3, func(int) {
				b.upload(bytes, 0)
				b.launch("k", kernel)
				b.sync()
			})
		}
	}
	testRule(t, noOverlap, []ruleCase{
		// 100,000 bytes take 109 us.
		{"an upload before each kernel", step(500_000, 100_000), 3, 3 * 109_000},
		{"with little to hide behind", step(20_000, 100_000), 3, 3 * 20_000},
		{"a short one", step(500_000, 100), 0, 0},
		{"too little to matter", step(50_000_000, 100_000), 0, 0},
		{"while kernels run", func(b *builder) {
			b.steps(3, func(int) {
				b.launch("k", 500_000)
				free := b.dev
				b.dev = b.host + 10_000 // another stream
				b.copy(profiles.HostToDevice, profiles.MemPinned, 1_000_000, false).Stream = 1
				b.dev = max(free, b.dev)
				b.sync()
			})
		}, 0, 0},
		{"reads", func(b *builder) {
			b.steps(3, func(int) {
				b.launch("k", 500_000)
				b.download(100_000, 0)
			})
		}, 0, 0},
	})
}
