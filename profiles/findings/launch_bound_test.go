package findings

import "testing"

func TestLaunchBound(t *testing.T) {
	launches := func(n int, d int64) func(*builder) {
		return func(b *builder) {
			b.steps(2, func(int) {
				for range n {
					b.launch("k", d)
				}
				b.sync()
			})
		}
	}
	testRule(t, launchBound, []ruleCase{
		// The device runs 1 us of every 4 us the host takes for a launch. The
		// first of a step takes its latency more, the sync hides nothing. A
		// graph would take 5+2 us a step.
		{"a hundred short ones a step", launches(100, 1_000), 200, 2*(100*3_000+3_000) - 2*7_000},
		{"a few dozen", launches(60, 1_000), 0, 0},
		{"long kernels", launches(100, 20_000), 0, 0},
		{"short ones among long ones", func(b *builder) {
			b.steps(2, func(int) {
				for i := range 300 {
					b.launch("k", 1_000+19_000*int64(min(i%3, 1)))
				}
			})
		}, 0, 0},
		{"in a graph", func(b *builder) { b.steps(2, func(int) { b.graph(500, 1_000) }) }, 0, 0},
		{"hidden by what runs before them", func(b *builder) {
			b.steps(2, func(int) {
				b.launch("long", 10_000_000)
				for range 100 {
					b.launch("k", 1_000)
				}
			})
		}, 0, 0},
	})
}

// What a framework does to get to a launch is part of it; an unhurried program
// is not.
func TestDispatch(t *testing.T) {
	for between, want := range map[int64]int64{
		20_000:       2*(100*(3_000+20_000)+3_000) - 2*2*4_000 - 2_000,
		3 * dispatch: 0,
	} {
		b := newBuilder()
		b.steps(2, func(int) {
			for range 100 {
				b.wait(between)
				b.launch("k", 1_000)
			}
			b.sync()
		})
		f := finding(Run(b.recording(t), nil), launchBound)
		if want == 0 {
			if f != nil && f.Price > 2*101*4_000 {
				t.Errorf("%d ns between launches: %+v", between, f)
			}
		} else if f == nil || f.Price < want*9/10 || f.Price > want*11/10 {
			t.Errorf("%d ns between launches: want about %d, got %+v", between, want, f)
		}
	}
}
