package findings

import (
	"testing"

	"gputax/profiles"
)

func TestImplicitSync(t *testing.T) {
	// A step: an upload, host work, and kernels that run on when it ends.
	step := func(upload func(b *builder)) func(*builder) {
		return func(b *builder) {
			b.steps(3, func(int) {
				upload(b)
				b.wait(30_000)
				b.launch("k", 200_000)
			})
		}
	}
	testRule(t, implicitSync, []ruleCase{
		// In steps 1 and 2 the upload waits for the kernel; 30+4 us of idle
		// time follow each, and 1 us of latency more than a gap.
		{"pageable", step(func(b *builder) { b.upload(1000, 0) }), 2, 2 * 35_000},
		{"blocking from pinned memory", step(func(b *builder) {
			b.copy(profiles.HostToDevice, profiles.MemPinned, 1000, true)
		}), 2, 2 * 35_000},
		{"asynchronous, and waited for", step(func(b *builder) {
			b.copy(profiles.HostToDevice, profiles.MemPinned, 1000, false)
			b.sync()
		}), 2, 2 * 35_000},
		{"asynchronous", step(func(b *builder) { b.copy(profiles.HostToDevice, profiles.MemPinned, 1000, false) }), 0, 0},
		{"a read, which the host needs", step(func(b *builder) { b.download(1000, 0) }), 0, 0},
		{"nothing to wait for", func(b *builder) {
			b.steps(3, func(int) {
				b.upload(1000, 0)
				b.launch("k", 200_000)
				b.sync()
			})
		}, 0, 0},
	})
}
