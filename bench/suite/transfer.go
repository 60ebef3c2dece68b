package suite

import (
	"fmt"

	"gputax/bench"
	"gputax/device"
	"gputax/transfer"
)

// transferCases moves a batch's distance matrices.
func transferCases() []bench.Case {
	var cases []bench.Case
	for _, s := range shapes {
		for _, v := range transfer.Moves {
			cases = append(cases, bench.Case{
				Bench: "Transfer", Variant: v.Name, Params: s.params(), About: v.About,
				Setup: func(rec *device.Recorder) (bench.Work, error) {
					batch, err := s.generate()
					if err != nil {
						return bench.Work{}, err
					}
					mover, err := v.Open(rec, batch.B, batch.Size)
					if err != nil {
						return bench.Work{}, err
					}
					return bench.Work{
						Op:    func(*device.Recorder) error { return mover.Move(batch) },
						Close: mover.Close,
					}, nil
				},
			})
		}
	}
	return cases
}

// kernels is how many tiny kernels a launch benchmark runs an op.
const kernels = 500

// launchCases runs tiny kernels.
func launchCases() []bench.Case {
	var cases []bench.Case
	for _, v := range transfer.Launches {
		cases = append(cases, bench.Case{
			Bench: "Launch", Variant: v.Name, Params: fmt.Sprintf("kernels=%d", kernels), About: v.About,
			Setup: func(rec *device.Recorder) (bench.Work, error) {
				launcher, err := v.Open(rec, kernels)
				if err != nil {
					return bench.Work{}, err
				}
				return bench.Work{
					Op:    func(*device.Recorder) error { return launcher.Launch() },
					Close: launcher.Close,
				}, nil
			},
		})
	}
	return cases
}
