package findings

import (
	"testing"

	"gputax/device"
	"gputax/profiles"
)

func TestLoaderStarvation(t *testing.T) {
	step := func(phase string, load func(b *builder)) func(*builder) {
		return func(b *builder) {
			b.steps(3, func(int) {
				b.phase(phase)
				load(b)
				b.phase("forward")
				b.launch("k", 1_000_000)
				b.sync()
			})
		}
	}
	load := func(b *builder) { b.work(100_000, device.HostWork{}) }
	testRule(t, loaderStarvation, []ruleCase{
		{"the step makes the batch", step("load", load), 3, 3 * 100_000},
		{"it waits for workers", step("", func(b *builder) { b.call(profiles.CallLoad, "wait", 100_000) }), 3, 3 * 100_000},
		{"nothing but the phase tells", step("DataLoader", func(b *builder) { b.wait(100_000) }), 3, 3 * 100_000},
		{"an upload is none", step("upload", load), 0, 0},
		{"nor is what goes to the host's memory", step("offload optimizer", load), 0, 0},
		{"what is loaded may go up then", step("load and upload", load), 3, 3 * 100_000},
		{"other work is none", step("cost", load), 0, 0},
		{"too little to matter", step("load", func(b *builder) { b.work(4_000, device.HostWork{}) }), 0, 0},
		{"while kernels run", func(b *builder) {
			b.steps(3, func(int) {
				b.phase("forward")
				b.launch("k", 1_000_000)
				b.phase("load")
				load(b)
			})
		}, 0, 0},
	})
}
