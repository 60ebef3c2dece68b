package findings

import (
	"testing"

	"gputax/device"
	"gputax/profiles"
)

// A recording that hashes contents or counts allocations takes time between
// calls; on a real clock that is not taken for the program's.
func TestDisturbed(t *testing.T) {
	build := func(clock device.Clock, unseen ...profiles.Knowledge) *builder {
		b := newBuilder()
		b.rec.Clock = clock
		for _, k := range unseen {
			b.rec.Source.Unseen[k] = "not seen"
		}
		b.steps(3, func(int) {
			b.phase("load")
			b.wait(400_000)
			b.phase("cost")
			b.launch("long", 300_000)
			b.upload(1000, 0)
			b.wait(100_000)
			b.download(1000, 0)
			for range 100 {
				b.wait(20_000)
				b.launch("k", 1_000)
			}
		})
		return b
	}
	price := func(b *builder, rule Rule) int64 {
		if f := finding(Run(b.recording(t), nil), rule); f != nil {
			return f.Price
		}
		return 0
	}
	for _, rule := range []Rule{gpuGaps, launchBound, implicitSync, loaderStarvation} {
		virtual := price(build(device.Virtual), rule)
		if plain := price(build(device.Real, profiles.Contents, profiles.HeapAllocs), rule); plain != virtual || plain == 0 {
			t.Errorf("%s: %d ns on a real clock, %d on a virtual one", rule.Name, plain, virtual)
		}
		for _, k := range []profiles.Knowledge{profiles.Contents, profiles.HeapAllocs} {
			if disturbed := price(build(device.Real, k), rule); disturbed > virtual/2 {
				t.Errorf("%s: %d ns although the recording took time, %d else", rule.Name, disturbed, virtual)
			}
		}
	}
}
