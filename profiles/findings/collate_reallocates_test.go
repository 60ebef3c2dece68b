package findings

import (
	"testing"

	"gputax/device"
)

func TestCollateReallocates(t *testing.T) {
	collate := func(phase string, w device.HostWork) func(*builder) {
		return func(b *builder) {
			b.steps(2, func(int) {
				b.phase(phase)
				b.work(50_000, w)
				b.phase("forward")
				b.launch("k", 1_000)
				b.sync()
			})
		}
	}
	items := device.HostWork{Calls: 200, Items: 100, Bytes: 10_000}
	testRule(t, collateReallocates, []ruleCase{
		// 5,000 bytes and two calls would take 5.2 us.
		{"item by item", collate("collate", items), 600, 2 * (50_000 - 5_200)},
		{"in bulk", collate("collate", device.HostWork{Calls: 2, Bytes: 1 << 20}), 0, 0},
		{"elsewhere", collate("cost", items), 0, 0},
		{"by the heap's count", func(b *builder) {
			collate("collate", device.HostWork{Calls: 2})(b)
			for i := range b.rec.Phases {
				if b.rec.Phases[i].Name == b.rec.Names.ID("collate") {
					b.rec.Phases[i].Mallocs, b.rec.Phases[i].HeapBytes = 100, 3_000
				}
			}
		}, 200, 2 * (50_000 - 3_000)},
		{"while kernels run", func(b *builder) {
			b.steps(2, func(int) {
				b.launch("k", 1_000_000)
				b.phase("collate")
				b.work(50_000, items)
			})
		}, 0, 0},
	})
}
