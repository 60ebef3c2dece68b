package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gputax/device"
)

// Op is one benchmarked operation. It must do the same work every time: exact
// counters and simulated times are those of the first op measured.
type Op func(rec *device.Recorder) error

// Work is an op with what surrounds it.
type Work struct {
	Op     Op
	Before func() error // sets the stage ahead of every op; neither timed nor counted; may be nil
	Warm   func() error // warms up with less than a whole op; nil runs one
	Close  func() error // frees what the work holds; may be nil
}

// Sample is one measurement of an op.
type Sample struct {
	Ops      int             // how many ops were timed
	Clock    device.Clock    // what kind of time it is
	PerOp    float64         // nanoseconds an op, device work included
	Counters device.Counters // of the first op
	Phases   []device.Phase  // an op: of the first on a virtual clock, else the mean
	Device   float64         // nanoseconds of the device's own time an op, where it can tell; else 0
	Warnings []error         // what a reader of the sample should know
}

// Measure warms up, then runs the op over and over until budget is spent,
// at least once. On a virtual clock one op tells everything, so it runs once.
// A cancelled context ends it with the context's error between two ops.
func Measure(ctx context.Context, rec *device.Recorder, budget time.Duration, w Work) (Sample, error) {
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
	}, w)
	if err == nil {
		err = ctx.Err()
	}
	return s, err
}

// measure is the loop that Measure and Run share: next says whether to go on.
func measure(rec *device.Recorder, next func() bool, w Work) (Sample, error) {
	s := Sample{Clock: rec.Device().Clock()}
	if err := w.warmUp(rec); err != nil {
		return s, fmt.Errorf("bench: warm-up: %w", err)
	}
	rec.Reset()
	var total, first time.Duration
	varied := false
	for next() {
		took, counted, err := w.once(rec)
		if err != nil {
			return s, fmt.Errorf("bench: op %d: %w", s.Ops+1, err)
		}
		s.Ops++
		total += took
		if s.Ops == 1 {
			s.Counters, s.Phases, first = counted, rec.Phases(), took
		}
		varied = varied || counted != s.Counters || s.Clock == device.Virtual && took != first
	}
	if s.Ops == 0 {
		return s, nil
	}
	if s.Clock == device.Virtual {
		s.PerOp = float64(first)
	} else {
		s.PerOp = float64(total) / float64(s.Ops)
		s.Phases = meanPhases(rec.Phases(), s.Ops)
		if err := s.timeDevice(rec, w); err != nil {
			return s, err
		}
	}
	if varied {
		s.Warnings = append(s.Warnings, fmt.Errorf("bench: the op does not do the same work every time; counters are those of the first of %d ops", s.Ops))
	}
	return s, nil
}

// warmUp makes the first op measured no different from the next.
func (w *Work) warmUp(rec *device.Recorder) error {
	if w.Warm == nil {
		_, _, err := w.once(rec)
		return err
	}
	return errors.Join(w.Warm(), rec.Drain())
}

// once runs Before, then the op until the device is done, so that its time is
// whole; only the op is timed and counted, and what comes before and after it
// belongs to no phase.
func (w *Work) once(rec *device.Recorder) (time.Duration, device.Counters, error) {
	if w.Before != nil {
		if err := w.Before(); err != nil {
			return 0, device.Counters{}, err
		}
		if err := rec.Drain(); err != nil {
			return 0, device.Counters{}, err
		}
	}
	before := rec.Counters()
	rec.Phase("")
	start := rec.Now()
	if err := w.Op(rec); err != nil {
		return 0, device.Counters{}, err
	}
	if err := rec.Drain(); err != nil {
		return 0, device.Counters{}, err
	}
	took := rec.Now() - start
	rec.Phase("")
	return took, rec.Counters().Sub(before), nil
}

// deviceOps is how many ops the device's own time is the median of.
const deviceOps = 3

// timeDevice runs a few more ops for the device's own time. They come after
// the others, whose time its marks would be in.
func (s *Sample) timeDevice(rec *device.Recorder, w Work) error {
	timer, ok := rec.Device().(device.Timer)
	if !ok {
		return nil
	}
	timed := Work{Before: w.Before, Op: func(rec *device.Recorder) error {
		return errors.Join(timer.StartTimer(), w.Op(rec))
	}}
	var times []float64
	for range deviceOps {
		if _, _, err := timed.once(rec); err != nil {
			return fmt.Errorf("bench: device time: %w", err)
		}
		took, err := timer.StopTimer()
		if err != nil {
			return fmt.Errorf("bench: device time: %w", err)
		}
		times = append(times, float64(took))
	}
	slices.Sort(times)
	s.Device = times[deviceOps/2]
	return nil
}

func meanPhases(phases []device.Phase, ops int) []device.Phase {
	for i := range phases {
		phases[i].Time /= time.Duration(ops)
	}
	return phases
}
