package findings

import (
	"testing"

	"gputax/profiles"
)

func TestSyncPerItem(t *testing.T) {
	items := func(n int, read func(b *builder)) func(*builder) {
		return func(b *builder) {
			b.steps(2, func(int) {
				for range n {
					b.launch("k", 1_000)
					read(b)
				}
			})
		}
	}
	asyncRead := func(b *builder) {
		b.copy(profiles.DeviceToHost, profiles.MemPinned, 4, false)
		b.sync()
	}
	// A read takes the device 4 us and comes 1 us after the kernel; the wait
	// takes 3 us more, and every launch but the first 2 us to begin.
	testRule(t, syncPerItem, []ruleCase{
		{"a read and a wait an item", items(50, asyncRead), 100, (100*8_000 + 99*2_000) / 100 * 98},
		{"a wait an item", items(50, (*builder).sync), 100, (100*3_000 + 99*2_000) / 100 * 98},
		{"a blocking read an item", items(50, func(b *builder) { b.download(4, 0) }), 100, (100*10_004 + 99*2_000) / 100 * 98},
		{"a few", items(15, asyncRead), 0, 0},
		{"large results", items(50, func(b *builder) { b.download(4096, 0) }), 0, 0},
		{"reads with nothing launched between", func(b *builder) {
			b.steps(2, func(int) {
				b.launch("k", 1_000)
				for range 50 {
					asyncRead(b)
				}
			})
		}, 0, 0},
		{"waits for uploads", items(50, func(b *builder) {
			b.copy(profiles.HostToDevice, profiles.MemPinned, 4, false)
			b.sync()
		}), 0, 0},
	})
}
