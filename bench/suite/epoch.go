package suite

import (
	"fmt"

	"gputax/bench"
	"gputax/device"
	"gputax/trainer"
)

// quickEpoch is how many instances the quick form of the epoch benchmark trains
// on: two steps of the reference batch.
const quickEpoch = 256

// epochCases trains one epoch of the reference workload in every variant: all
// its instances in full, or a few steps in the quick form. Every op starts from
// the same parameters and the same instances.
func epochCases(o Options) []bench.Case {
	var cases []bench.Case
	for _, v := range trainer.Variants {
		factors, factorsErr := v.Factors()
		if factors.Engine != "kernels" && o.HostEngine == nil {
			continue
		}
		opt := trainer.Tiny()
		opt.HostEngine = o.HostEngine
		if !o.Full {
			opt.Epoch = max(quickEpoch, factors.Batch)
		}
		cases = append(cases, bench.Case{
			Bench: "Epoch", Variant: v.Name, About: v.About, RealOnly: factors.Engine != "kernels",
			Params: fmt.Sprintf("batch=%d/n=%d/steps=%d", factors.Batch, opt.Model.Customers, opt.Epoch/factors.Batch),
			Setup: func(rec *device.Recorder) (bench.Work, error) {
				if factorsErr != nil {
					return bench.Work{}, factorsErr
				}
				return epochWork(rec, opt, factors)
			},
		})
	}
	return cases
}

func epochWork(rec *device.Recorder, opt trainer.Options, f trainer.Factors) (bench.Work, error) {
	t, err := trainer.New(rec, opt, f)
	if err != nil {
		return bench.Work{}, err
	}
	return bench.Work{
		Before: t.Rewind,
		Warm:   t.Step,
		Op: func(*device.Recorder) error {
			_, err := t.Epoch()
			return err
		},
		Close: t.Close,
	}, nil
}
