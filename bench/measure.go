package bench

import (
	"context"
	"fmt"
	"time"

	"gputax/device"
)

// Op is one benchmarked operation. It must do the same work every time: exact
// counters and simulated times are those of the first op measured.
type Op func(rec *device.Recorder) error

// Sample is one measurement of an op.
type Sample struct {
	Ops      int             // how many ops were timed
	Clock    device.Clock    // what kind of time it is
	PerOp    float64         // nanoseconds an op, device work included
	Counters device.Counters // of the first op
	Phases   []device.Phase  // an op: of the first on a virtual clock, else the mean
	Warnings []error         // what a reader of the sample should know
}

// Measure runs op once to warm up, then over and over until budget is spent,
// at least once. On a virtual clock one op tells everything, so it runs once.
// A cancelled context ends it with the context's error between two ops.
func Measure(ctx context.Context, rec *device.Recorder, budget time.Duration, op Op) (Sample, error) {
	ops := 0
	var start time.Time
	s, err := measure(rec, func() bool {
		if ops == 0 {
			start = time.Now()
		} else if time.Since(start) >= budget || rec.Device().Clock() == device.Virtual {
			return false
		}
		ops++
		return ctx.Err() == nil
	}, op)
	if err == nil {
		err = ctx.Err()
	}
	return s, err
}

// measure is the loop that Measure and Run share: next says whether to go on.
func measure(rec *device.Recorder, next func() bool, op Op) (Sample, error) {
	s := Sample{Clock: rec.Device().Clock()}
	if err := runOnce(rec, op); err != nil {
		return s, fmt.Errorf("bench: warm-up: %w", err)
	}
	rec.Reset()
	var (
		counted       device.Counters
		start         = rec.Now()
		opStart       = start
		firstDuration time.Duration
		varied        bool
	)
	for next() {
		if err := runOnce(rec, op); err != nil {
			return s, fmt.Errorf("bench: op %d: %w", s.Ops+1, err)
		}
		s.Ops++
		total := rec.Counters()
		if s.Clock == device.Virtual || s.Ops == 1 {
			now := rec.Now()
			if s.Ops == 1 {
				s.Counters, s.Phases, firstDuration = total, rec.Phases(), now-opStart
			}
			varied = varied || s.Clock == device.Virtual && now-opStart != firstDuration
			opStart = now
		}
		varied = varied || total.Sub(counted) != s.Counters
		counted = total
	}
	if s.Ops == 0 {
		return s, nil
	}
	if s.Clock == device.Virtual {
		s.PerOp = float64(firstDuration)
	} else {
		s.PerOp = float64(rec.Now()-start) / float64(s.Ops)
		s.Phases = meanPhases(rec.Phases(), s.Ops)
	}
	if varied {
		s.Warnings = append(s.Warnings, fmt.Errorf("bench: the op does not do the same work every time; counters are those of the first of %d ops", s.Ops))
	}
	return s, nil
}

// runOnce runs op and waits for the device, so that its time is whole.
func runOnce(rec *device.Recorder, op Op) error {
	if err := op(rec); err != nil {
		return err
	}
	return rec.Drain()
}

func meanPhases(phases []device.Phase, ops int) []device.Phase {
	for i := range phases {
		phases[i].Time /= time.Duration(ops)
	}
	return phases
}
