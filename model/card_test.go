package model

import (
	"fmt"
	"math"
	"testing"

	"gputax/device"
	"gputax/device/host"
)

// apart is the norm of the difference of got and want, relative to want's.
func apart(got, want []float32) float64 {
	var diff, norm float64
	for i, w := range want {
		d := float64(got[i]) - float64(w)
		diff, norm = diff+d*d, norm+float64(w)*float64(w)
	}
	return math.Sqrt(diff / max(norm, 1e-30))
}

// The whole model on the card: the same routes as on the host but for a few
// that rounding turns, their log-probabilities, and the gradient of the host's
// routes.
func TestModelOnTheCard(t *testing.T) {
	card := openCard(t)
	for _, c := range []struct {
		cfg   Config
		batch int
	}{{small, 9}, {Tiny(), 128}} {
		for _, opt := range []Options{{}, {Rollout: RolloutFused}, {TF32: true}, {Rollout: RolloutFused, TF32: true, Embed: EmbedHoisted},
			{Layers: LayersFused}, {Layers: LayersFused, Rollout: RolloutFused, TF32: true}} {
			name := fmt.Sprintf("width %d, %d instances, layers %v, rollout %v, TF32 %v", c.cfg.Width, c.batch, opt.Layers, opt.Rollout, opt.TF32)
			share, logprob, gradient := 0.995, 1e-4, 1e-3
			if opt.TF32 {
				share, logprob, gradient = 0.9, 1e-2, 5e-2
			}
			want, got := newFixture(t, host.New(), c.cfg, c.batch, opt), newFixture(t, card, c.cfg, c.batch, opt)
			want.must(want.Encode(want.params))
			got.must(got.Encode(got.params))
			for _, greedy := range []bool{true, false} {
				want.must(want.Rollout(want.params, greedy))
				got.must(got.Rollout(got.params, greedy))
				n, off := equalRoutes(c.cfg.Steps(), got.actions(), want.actions(), got.floats(got.LogProb), want.floats(want.LogProb))
				t.Logf("%s, greedy %v: %d of %d routes are equal, log-probabilities off by at most %.2g", name, greedy, n, c.batch, off)
				if float64(n) < share*float64(c.batch) || !(off <= logprob) {
					t.Errorf("%s, greedy %v: want %v of the routes, and %v", name, greedy, share, logprob)
				}
			}
			actions := want.actions()
			got.upload(got.Actions, device.Bytes(actions))
			for _, f := range []*fixture{want, got} {
				f.must(f.Evaluate(f.params))
				f.must(f.Backward(f.params))
			}
			off, slope := apart(got.floats(got.LogProb), want.floats(want.LogProb)), apart(got.floats(got.Grads), want.floats(want.Grads))
			t.Logf("%s: Evaluate is off by %.2g, the gradient by %.2g", name, off, slope)
			if !(off <= logprob) || !(slope <= gradient) {
				t.Errorf("%s: want at most %v and %v", name, logprob, gradient)
			}
			got.everyGradient(want, name, 20*gradient)
			got.must(got.Close())
			got.must(got.rec.Free(got.params))
		}
	}
}

// everyGradient refuses a parameter whose gradient is far from want's, which
// the norm over all of them can hide.
func (f *fixture) everyGradient(want *fixture, name string, tolerance float64) {
	f.Helper()
	got, ref := f.floats(f.Grads), want.floats(want.Grads)
	for _, p := range f.Layout().Params {
		if off := apart(p.Of(got), p.Of(ref)); !(off <= tolerance) {
			f.Errorf("%s: the gradient of %s is off by %.2g", name, p.Name, off)
		}
	}
}

// The card gives the same bits every time.
func TestCardRepeats(t *testing.T) {
	card := openCard(t)
	for _, opt := range []Options{{}, {Rollout: RolloutFused, TF32: true}, {Layers: LayersFused, TF32: true}} {
		f := newFixture(t, card, Tiny(), 128, opt)
		f.step()
		want := f.result()
		for range 3 {
			f.step()
			f.result().same(t, want, fmt.Sprintf("%+v", opt))
		}
		f.must(f.Close())
		f.must(f.rec.Free(f.params))
	}
}
