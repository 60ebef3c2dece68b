package findings

import (
	"strings"
	"testing"

	"gputax/device"
)

func TestGPUGaps(t *testing.T) {
	step := func(phase string, gap func(b *builder)) func(*builder) {
		return func(b *builder) {
			b.steps(3, func(int) {
				b.phase(phase)
				gap(b)
				b.phase("forward")
				b.launch("k", 1_000_000)
				b.sync()
			})
		}
	}
	testRule(t, gpuGaps, []ruleCase{
		{"host work", step("cost", func(b *builder) { b.work(100_000, device.HostWork{}) }), 3, 3 * 100_000},
		{"between calls", step("cost", func(b *builder) { b.wait(100_000) }), 3, 3 * 100_000},
		{"more of it than kernels", step("cost", func(b *builder) { b.wait(5_000_000) }), 3, 3 * 1_000_000},
		{"short", step("cost", func(b *builder) { b.wait(9_000) }), 0, 0},
		{"loading, which has its own rule", step("load", func(b *builder) { b.work(100_000, device.HostWork{}) }), 0, 0},
		{"once", func(b *builder) {
			b.steps(3, func(step int) {
				b.wait(100_000 * int64(1-min(step, 1)))
				b.launch("k", 1_000_000)
				b.sync()
			})
		}, 0, 0},
		{"many short ones", func(b *builder) {
			b.steps(3, func(int) {
				for range 50 {
					b.wait(9_000)
					b.launch("k", 20_000)
					b.sync()
				}
			})
		}, 0, 0},
		{"while kernels run", func(b *builder) {
			b.steps(3, func(int) {
				b.launch("k", 1_000_000)
				b.work(100_000, device.HostWork{})
			})
		}, 0, 0},
	})
}

// Gaps of other causes are told, not priced.
func TestOtherGaps(t *testing.T) {
	b := newBuilder()
	b.steps(3, func(int) {
		b.phase("load")
		b.work(60_000, device.HostWork{})
		b.phase("cost")
		b.wait(100_000)
		b.launch("k", 1_000_000)
		b.sync()
	})
	f := b.find(t, gpuGaps)
	if f == nil || !strings.Contains(f.Evidence.Note, "loading 180 us") || f.Evidence.Places[0].Phase != "cost" {
		t.Errorf("got %+v", f)
	}
}
