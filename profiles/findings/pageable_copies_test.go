package findings

import (
	"testing"

	"gputax/profiles"
)

func TestPageableCopies(t *testing.T) {
	copies := func(n int, bytes int64, mem profiles.Mem, blocking bool) func(*builder) {
		return func(b *builder) {
			b.steps(2, func(int) {
				for range n {
					b.copy(profiles.HostToDevice, mem, bytes, blocking)
				}
				b.wait(50_000)
			})
		}
	}
	// 1,000 bytes take 11 us from pageable memory, 5.1 from pinned; 20,000 take
	// 30 and 7.
	cases := []ruleCase{
		{"two a step", copies(2, 1000, profiles.MemPageable, true), 4, 4 * 5_900},
		{"large ones", copies(20, 20_000, profiles.MemPageable, true), 40, 40 * 23_000},
		{"tiny ones, which one would do", copies(20, 1000, profiles.MemPageable, true), 40, 2 * 23_000},
		{"pinned", copies(2, 1000, profiles.MemPinned, true), 0, 0},
		{"asynchronous", copies(2, 1000, profiles.MemPageable, false), 0, 0},
		{"only in the first step", func(b *builder) {
			b.steps(2, func(step int) {
				if step == 0 {
					b.upload(1000, 0)
				}
				b.launch("k", 1000)
			})
		}, 0, 0},
	}
	testRule(t, pageableCopies, cases)
	testRule(t, asyncPageable, []ruleCase{
		// The second is issued while the first is on its way.
		{"two a step", copies(2, 1000, profiles.MemPageable, false), 4, 4*5_900 - 2*1_000},
		{"blocking", copies(2, 1000, profiles.MemPageable, true), 0, 0},
		{"pinned", copies(2, 1000, profiles.MemPinned, false), 0, 0},
		{"waited for at once", func(b *builder) {
			b.steps(2, func(int) {
				b.copy(profiles.HostToDevice, profiles.MemPageable, 1000, false)
				b.sync()
			})
		}, 0, 0},
	})
}

// Where pinned memory gains nothing there is nothing to find; and without a
// profile nobody knows.
func TestPageablePrice(t *testing.T) {
	build := func() *builder {
		b := newBuilder()
		b.steps(2, func(int) { b.upload(1000, 0) })
		return b
	}
	b := build()
	b.p.UploadPinned = 100_000
	if f := b.find(t, pageableCopies); f != nil {
		t.Errorf("pinned memory is slower, and yet: %+v", f)
	}
	f := finding(Run(build().recording(t), nil), pageableCopies)
	if f == nil || f.Price != 0 || f.Unpriced == "" {
		t.Errorf("without a profile: %+v", f)
	}
}
