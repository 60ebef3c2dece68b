package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gputax/bench"
	"gputax/device"
	"gputax/trainer"
)

// Ablation is the epoch with two sets of factors, on one device.
type Ablation struct {
	From, To trainer.Factors
	// Options are what is trained. Epoch is the fewest instances of an op; both
	// sides train on the same number, a multiple of both batches.
	Options trainer.Options
	Device  string
	Open    bench.Opener
	Time    time.Duration // to measure a sample for, at least, on real devices
}

// QuickEpoch is the instances of an epoch in its quick form: two steps of the
// reference batch.
const QuickEpoch = quickEpoch

// Run gives each factor in which the two sides differ its share of the
// difference between their epochs. Whether runs are exact and which
// combinations can run, it knows and sets in opt.
func (a Ablation) Run(ctx context.Context, opt bench.AblateOptions) (out *bench.Attribution, err error) {
	dev, err := a.Open(a.Device)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	opt.Exact = dev.Clock() == device.Virtual
	run := a.alone
	if !opt.Exact {
		rec := device.NewRecorder(untimed{dev})
		run = func(ctx context.Context, f trainer.Factors) (float64, error) { return a.measure(ctx, rec, f) }
	}
	if out, err = a.ablate(ctx, opt, run); err == nil {
		out.Op = fmt.Sprintf("an epoch of %d instances on %s", a.Options.Epoch, dev.Name())
	}
	return out, err
}

// ablate is Run with the run that measures an epoch; it sets the epoch's
// length.
func (a *Ablation) ablate(ctx context.Context, opt bench.AblateOptions, run func(context.Context, trainer.Factors) (float64, error)) (*bench.Attribution, error) {
	var err error
	if a.Options.Epoch, err = a.instances(); err != nil {
		return nil, err
	}
	differ := trainer.Differ(a.From, a.To)
	var factors []bench.Factor
	for _, d := range differ {
		factors = append(factors, bench.Factor{Name: d.Key, From: d.Value(a.From), To: d.Value(a.To)})
	}
	opt.Feasible = func(on []bool) error { return a.with(differ, on).Validate() }
	return bench.Ablate(ctx, factors, func(ctx context.Context, on []bool) (float64, error) {
		return run(ctx, a.with(differ, on))
	}, opt)
}

// instances is the smallest common multiple of both batches that is enough.
func (a *Ablation) instances() (int, error) {
	x, y := a.From.Batch, a.To.Batch
	gcd := x
	for r := y; r > 0; gcd, r = r, gcd%r {
	}
	common := x / gcd * y
	if enough := max(a.Options.Epoch, x, y); common > 16*enough {
		return 0, fmt.Errorf("suite: batches of %d and %d first meet after %d instances; choose batches with a small common multiple", x, y, common)
	}
	return (max(a.Options.Epoch, 1) + common - 1) / common * common, nil
}

// with is From with some of the factors switched.
func (a *Ablation) with(differ []trainer.Factor, on []bool) trainer.Factors {
	f := a.From
	for i, d := range differ {
		if !on[i] {
			continue
		}
		if err := f.Set(d.Key + "=" + d.Value(a.To)); err != nil {
			panic(err) // a factor takes its own value
		}
	}
	return f
}

// alone measures on a device of its own, so that runs can go on side by side.
func (a *Ablation) alone(ctx context.Context, f trainer.Factors) (ns float64, err error) {
	dev, err := a.Open(a.Device)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	return a.measure(ctx, device.NewRecorder(dev), f)
}

func (a *Ablation) measure(ctx context.Context, rec *device.Recorder, f trainer.Factors) (float64, error) {
	w, err := epochWork(rec, a.Options, f)
	if err != nil {
		return 0, err
	}
	s, err := bench.Measure(ctx, rec, a.Time, w)
	return s.PerOp, errors.Join(err, w.Close())
}

// untimed hides that a device can time its own work: that takes more ops, and
// an ablation has no use for it.
type untimed struct{ device.Device }
