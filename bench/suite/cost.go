package suite

import (
	"gputax/bench"
	"gputax/cost"
	"gputax/device"
)

// costCases computes a batch's route costs. The distances are where each
// method wants them before the op; the routes are on the host.
func costCases() []bench.Case {
	var cases []bench.Case
	for _, s := range shapes {
		for _, v := range cost.Variants {
			cases = append(cases, bench.Case{
				Bench: "Cost", Variant: v.Name, Params: s.params(), About: v.About,
				Setup: func(rec *device.Recorder) (bench.Work, error) {
					batch, err := s.generate()
					if err != nil {
						return bench.Work{}, err
					}
					routes := batch.RandomRoutes(seed)
					method, err := v.Open(rec)
					if err != nil {
						return bench.Work{}, err
					}
					if err := method.Load(batch); err != nil {
						return bench.Work{}, err
					}
					return bench.Work{
						Op:    func(*device.Recorder) error { return method.Cost(routes) },
						Close: method.Close,
					}, nil
				},
			})
		}
	}
	return cases
}
