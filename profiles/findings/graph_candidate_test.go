package findings

import "testing"

func TestGraphCandidate(t *testing.T) {
	launches := func(n int, name func(step, i int) string) func(*builder) {
		return func(b *builder) {
			b.steps(3, func(step int) {
				for i := range n {
					b.launch(name(step, i), 1_000)
				}
				b.sync()
			})
		}
	}
	same := func(int, int) string { return "k" }
	// Each launch leaves the device idle for 3 us, the first of a stretch for 6;
	// a graph launch takes 7.
	testRule(t, graphCandidate, []ruleCase{
		{"the same in every step", launches(20, same), 60, 3 * (20*3_000 + 3_000 - 7_000)},
		{"too short", launches(15, same), 0, 0},
		{"different in one", launches(20, func(step, i int) string { return "k" + string(rune('0'+step*i/19)) }), 0, 0},
		{"in another order", launches(20, func(step, i int) string { return "k" + string(rune('a'+(step+i)%2)) }), 0, 0},
		{"one more in a step", func(b *builder) {
			b.steps(3, func(step int) {
				for range 20 + step {
					b.launch("k", 1_000)
				}
			})
		}, 0, 0},
		{"not in every step", func(b *builder) {
			b.steps(3, func(step int) {
				if step != 1 {
					for range 20 {
						b.launch("k", 1_000)
					}
				}
				b.sync()
			})
		}, 0, 0},
		{"a graph already", func(b *builder) { b.steps(3, func(int) { b.graph(100, 1_000) }) }, 0, 0},
		{"with copies between", func(b *builder) {
			b.steps(3, func(int) {
				for range 20 {
					b.launch("k", 1_000)
					b.download(4, 0)
				}
			})
		}, 0, 0},
		{"one step", func(b *builder) {
			b.steps(1, func(int) {
				for range 20 {
					b.launch("k", 1_000)
				}
			})
		}, 0, 0},
		{"long kernels, that hide their launches", func(b *builder) {
			b.p.LaunchGap = 0
			b.steps(3, func(int) {
				for range 20 {
					b.launch("k", 100_000)
				}
			})
		}, 0, 0},
	})
}

// A phase that differs does not spoil the others.
func TestGraphCandidateByPhase(t *testing.T) {
	b := newBuilder()
	b.steps(3, func(step int) {
		b.phase("forward")
		for range 20 {
			b.launch("k", 1_000)
		}
		b.phase("cost")
		for range 30 + step {
			b.launch("add", 1_000)
		}
		b.sync()
	})
	f := b.find(t, graphCandidate)
	if f == nil || f.Evidence.Count != 60 || f.Evidence.Places[0].Phase != "forward" || len(f.Evidence.Places) != 1 {
		t.Errorf("got %+v", f)
	}
}
