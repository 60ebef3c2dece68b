package findings

import (
	"testing"

	"gputax/profiles"
)

func TestTinyCopies(t *testing.T) {
	uploads := func(steps, n int, bytes int64) func(*builder) {
		return func(b *builder) {
			b.phase("upload")
			b.steps(steps, func(int) {
				for range n {
					b.upload(bytes, 0)
				}
				b.launch("k", 1000)
			})
		}
	}
	testRule(t, tinyCopies, []ruleCase{
		// A copy of 1,000 bytes takes 11 us; one of 100,000, 110 us.
		{"a hundred a step", uploads(2, 100, 1000), 200, 200*11_000 - 2*110_000},
		{"the inputs of a model", uploads(2, 7, 1000), 0, 0},
		{"large ones", uploads(2, 100, 20_000), 0, 0},
		{"only while warming up", func(b *builder) {
			b.steps(3, func(step int) {
				for range 100 * (1 - min(step, 1)) {
					b.upload(1000, 0)
				}
				b.launch("k", 100_000)
			})
		}, 0, 0},
		{"outside of steps", func(b *builder) {
			for range 100 {
				b.upload(1000, 0)
			}
			b.steps(2, func(int) { b.launch("k", 100_000) })
		}, 0, 0},
		{"between buffers of the device", func(b *builder) {
			b.steps(2, func(int) {
				for range 100 {
					b.copy(profiles.DeviceToDevice, profiles.MemDevice, 1000, false)
				}
			})
		}, 0, 0},
	})
}

// The wait that a framework makes after each copy is the copy's.
func TestTinyCopiesWithTheirSyncs(t *testing.T) {
	build := func(apart int64) *Finding {
		b := newBuilder()
		b.steps(2, func(int) {
			for range 100 {
				b.copy(profiles.HostToDevice, profiles.MemPinned, 1000, false)
				b.wait(apart)
				b.sync()
			}
		})
		return b.find(t, tinyCopies)
	}
	const one = 1_000 + 4_000 + 100
	if f := build(0); f == nil || f.Price != 200*(one+3_000)-2*(1_000+4_000+10_000+3_000) {
		t.Errorf("with its wait: %+v", f)
	}
	if f := build(adjacent + 4_101); f == nil || f.Price != 200*one-2*(1_000+4_000+10_000) {
		t.Errorf("with a wait much later: %+v", f)
	}
}

// Without a profile all but one copy a step is saved, by its recorded time.
func TestTinyCopiesUnprofiled(t *testing.T) {
	b := newBuilder()
	b.steps(2, func(int) {
		for range 100 {
			b.upload(1000, 0)
		}
	})
	f := finding(Run(b.recording(t), nil), tinyCopies)
	if f == nil || f.Price != 198*11_000 || f.Unpriced != "" || f.PerStep != 99*11_000 {
		t.Errorf("got %+v", f)
	}
}
