package findings

import (
	"strings"
	"testing"

	"gputax/profiles"
)

func TestGPUUtilisation(t *testing.T) {
	build := func(kernel int64) *builder {
		b := newBuilder()
		b.steps(3, func(int) {
			b.wait(90_000)
			b.launch("k", kernel)
			b.sync()
		})
		return b
	}
	f := build(25_000).find(t, gpuUtilisation)
	if f == nil || f.Price != 0 || f.Unpriced == "" || !strings.Contains(f.Title, "20%") || !strings.Contains(f.Evidence.Note, "host between calls 270 us") {
		t.Errorf("got %+v", f)
	}
	if f := build(200_000).find(t, gpuUtilisation); f != nil {
		t.Errorf("a busy device: %+v", f)
	}
	b := build(25_000)
	b.rec.Source.Unseen[profiles.DeviceTimes] = "no clock there"
	if r := Run(b.recording(t), b.p); finding(r, gpuUtilisation) != nil || !skips(r, gpuUtilisation, "no clock there") {
		t.Errorf("times not seen: %+v", r.Skipped)
	}
}
