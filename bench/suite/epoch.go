package suite

import (
	"fmt"

	"gputax/bench"
	"gputax/device"
	"gputax/trainer"
)

// quickSteps is how many steps the quick form of the epoch benchmark trains.
const quickSteps = 2

// epochCases trains one epoch of the reference workload in every variant: all
// its instances in full, or two steps in the quick form. Every op starts from
// the same parameters and the same instances.
func epochCases(full bool) []bench.Case {
	var cases []bench.Case
	for _, v := range trainer.Variants {
		factors, factorsErr := v.Factors()
		opt := trainer.Tiny()
		if !full {
			opt.Epoch = quickSteps * factors.Batch
		}
		cases = append(cases, bench.Case{
			Bench: "Epoch", Variant: v.Name, About: v.About,
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
		Op: func(*device.Recorder) error {
			_, err := t.Epoch()
			return err
		},
		Close: t.Close,
	}, nil
}
