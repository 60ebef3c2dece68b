package findings

import (
	"testing"

	"gputax/profiles"
)

func TestDuplicateComputation(t *testing.T) {
	// Every step launches each of ten contents that many times.
	times := func(n func(step int) int) func(*builder) {
		return func(b *builder) {
			b.steps(3, func(step int) {
				for range n(step) {
					for i := range 10 {
						b.detail(b.launch("k", 100)).Content = uint64(1 + step*10 + i)
					}
				}
				b.sync()
			})
		}
	}
	// A launch takes the host 4 us and the kernel 100 ns: for each the device is
	// idle 3.9 us, and runs 0.1.
	testRule(t, duplicateComputation, []ruleCase{
		{"three times over", times(func(int) int { return 3 }), 60, 60 * 4_000},
		{"once", times(func(int) int { return 1 }), 0, 0},
		{"in the first step alone", times(func(step int) int { return 2 - min(step, 1) }), 0, 0},
		{"now and then", func(b *builder) {
			b.steps(3, func(step int) {
				for i := range 10 {
					b.detail(b.launch("k", 100)).Content = uint64(1 + max(i, 1))
				}
			})
		}, 0, 0},
		{"other contents", func(b *builder) {
			b.steps(3, func(step int) {
				for i := range 10 {
					b.detail(b.launch("k", 100)).Content = uint64(1 + i)
				}
			})
		}, 0, 0},
		{"into the same place again", func(b *builder) {
			b.steps(3, func(step int) {
				for i := range 10 {
					first := b.detail(b.launch("k", 100))
					first.Content, first.After = uint64(100*step+10*i+1), uint64(100*step+10*i+2)
					again := b.detail(b.launch("k", 100))
					again.Content, again.After = first.After, first.After
				}
				b.sync()
			})
		}, 30, 30 * 4_000},
		{"one after the other, in place", func(b *builder) {
			b.steps(3, func(step int) {
				for i := range 10 {
					d := b.detail(b.launch("k", 100))
					d.Content, d.After = uint64(100*step+i+1), uint64(100*step+i+2)
				}
				b.sync()
			})
		}, 0, 0},
		{"once, and nothing to do", func(b *builder) {
			b.steps(3, func(step int) {
				for i := range 10 {
					d := b.detail(b.launch("k", 100))
					d.Content, d.After = uint64(100*step+i+1), uint64(100*step+i+1)
				}
				b.sync()
			})
		}, 0, 0},
		{"another kernel on the same contents", func(b *builder) {
			b.steps(3, func(step int) {
				b.detail(b.launch("k", 100)).Content = 1
				b.detail(b.launch("l", 100)).Content = 1
			})
		}, 0, 0},
	})
}

// One step cannot tell, and rules that price launches leave duplicates out.
func TestDuplicatesAndOtherRules(t *testing.T) {
	build := func(steps, times int) *builder {
		b := newBuilder()
		b.steps(steps, func(step int) {
			for range times {
				for i := range 200 {
					b.detail(b.launch("k", 100)).Content = uint64(1 + step*1000 + i)
				}
			}
			b.sync()
		})
		return b
	}
	if f := build(1, 3).find(t, duplicateComputation); f != nil {
		t.Errorf("one step: %+v", f)
	}
	once, thrice := build(2, 1).find(t, launchBound), build(2, 3).find(t, launchBound)
	if once == nil || thrice == nil || once.Evidence.Count != thrice.Evidence.Count {
		t.Errorf("launch_bound counts %+v, with duplicates %+v", once, thrice)
	}
	b := newBuilder()
	b.steps(2, func(int) { b.launch("k", 100) })
	if r := Run(b.recording(t), b.p); !skips(r, duplicateComputation, "cannot read") {
		t.Errorf("contents of no kernel known: %+v", r.Skipped)
	}
	b = build(2, 3)
	b.rec.Source.Unseen[profiles.Contents] = "not seen"
	r := Run(b.recording(t), b.p)
	if finding(r, duplicateComputation) != nil || !skips(r, duplicateComputation, "not seen") {
		t.Errorf("contents not seen: %+v", r.Skipped)
	}
}
