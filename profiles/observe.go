package profiles

import (
	"errors"
	"fmt"

	"gputax/device"
	"gputax/device/cuda/cupti"
)

// Observation is what CUDA did in this process while a function ran, whoever
// called it.
type Observation struct {
	// Counters mean what device.Recorder counts, with one exception: bytes of
	// pinned memory that kernels use in place cannot be seen, and are 0.
	Counters device.Counters
	// Memsets is how often device memory was set.
	Memsets int64
	// Copies and bytes that went neither up nor down.
	OtherCopies, OtherBytes int64
	// By is who saw it: CUPTI's version, and where it was found.
	By string
	// Warnings is what a reader should know.
	Warnings []string
}

// Observe runs f and counts what CUDA does meanwhile in the whole process, by
// whichever binding or library, through CUPTI. It needs no card of ours and no
// seam: f may run any engine. Where there is no CUPTI it fails, and f does not
// run.
//
// f is to wait for its device work; Observe waits as well for what is queued in
// this goroutine's context and in the primary one of each device. One Observe
// runs at a time. While f runs, a launch costs one to two microseconds more:
// take times from another run.
func Observe(f func() error) (*Observation, error) {
	o, err := NewObserver()
	if err != nil {
		return nil, err
	}
	return o.Observe(f)
}

// Observer observes; see Observe. It is what bench.Observe takes.
type Observer struct{ lib *cupti.Library }

// NewObserver says why it is none where there is no CUPTI.
func NewObserver() (*Observer, error) {
	lib, err := cupti.Open()
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	return &Observer{lib}, nil
}

// Observe is the function of that name, with this observer.
func (o *Observer) Observe(f func() error) (*Observation, error) {
	s, err := o.lib.Start()
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	defer s.Stop() // where f never returns; else it has stopped by then
	err = f()
	trace, stopErr := s.Stop()
	if stopErr != nil {
		stopErr = fmt.Errorf("observe: %w", stopErr)
	}
	if err := errors.Join(err, stopErr); err != nil {
		return nil, err
	}
	c := trace.Count()
	return &Observation{
		Counters: c.Counters, Memsets: c.Memsets, OtherCopies: c.OtherCopies, OtherBytes: c.OtherBytes,
		By: o.lib.String(), Warnings: trace.Warnings,
	}, nil
}

// Count observes f for its counters alone, and its warnings.
func (o *Observer) Count(f func() error) (device.Counters, []error, error) {
	seen, err := o.Observe(f)
	if err != nil {
		return device.Counters{}, nil, err
	}
	var warnings []error
	for _, w := range seen.Warnings {
		warnings = append(warnings, errors.New(w))
	}
	return seen.Counters, warnings, nil
}

// Sees says whether a counter can be observed.
func (o *Observer) Sees(c device.Counter) bool { return c != device.MappedBytes }
