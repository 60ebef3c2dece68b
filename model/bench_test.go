package model

import (
	"testing"

	"gputax/device"
)

// BenchmarkStep is what a training step asks of the model, baseline included:
// one op is one batch.
func BenchmarkStep(b *testing.B) {
	f := onHost(b, Tiny(), 128)
	f.step()
	f.rec.Reset()
	for b.Loop() {
		f.must(f.Encode(f.params))
		f.must(f.Rollout(f.params, true))
		f.step()
	}
	b.ReportMetric(float64(f.rec.Counters()[device.Launches])/float64(b.N), "launches/op")
}

// BenchmarkParts is the methods one by one.
func BenchmarkParts(b *testing.B) {
	f := onHost(b, Tiny(), 128)
	f.step()
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"encode", func() error { return f.Encode(f.params) }},
		{"rollout", func() error { return f.Rollout(f.params, false) }},
		{"evaluate", func() error { return f.Evaluate(f.params) }},
		{"backward", func() error { return f.Backward(f.params) }},
	} {
		b.Run("part="+part.name, func(b *testing.B) {
			f.rec.Reset()
			for b.Loop() {
				f.must(part.run())
			}
			b.ReportMetric(float64(f.rec.Counters()[device.Launches])/float64(b.N), "launches/op")
		})
	}
}
