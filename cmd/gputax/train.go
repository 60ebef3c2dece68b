package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gputax/device"
	"gputax/trainer"
)

const trainAbout = `Trains the policy that FILE describes, printing a line an epoch, and keeps a
checkpoint in DIR after each. Run again with the same flags, a stopped or killed
run goes on from its checkpoint to the same result.

  gputax train -config configs/tiny_1.yaml
  gputax train -config configs/tiny_1.yaml -variant gpu_fused -set batch=512 -device sim:h200`

// checkpointName is the checkpoint's file in the output directory.
const checkpointName = "checkpoint.gputax"

// settings collects repeated -set flags.
type settings []string

func (s *settings) String() string     { return strings.Join(*s, " ") }
func (s *settings) Set(v string) error { *s = append(*s, v); return nil }

// trainCommand is gputax train.
func trainCommand(ctx context.Context, stdout, _ io.Writer, args []string) (err error) {
	var (
		set     settings
		f       = newFlags("train")
		path    = f.String("config", "", "the run, a YAML `FILE` (required)")
		dev     = f.String("device", "host", "train on this device")
		variant = f.String("variant", "cpu_loop", "train in this variant")
		dir     = f.String("o", "gputax-train", "keep the checkpoint in this `directory`")
	)
	f.Var(&set, "set", "set a factor, `KEY=VALUE`, on top of the variant; may be repeated")
	if err := parse(f, trainAbout, stdout, args); err != nil {
		return err
	}
	if *path == "" {
		return errors.New("-config is required; configs/tiny_1.yaml is the reference workload")
	}
	config, err := trainer.ReadConfig(*path)
	if err != nil {
		return err
	}
	factors, err := trainFactors(config, *variant, set)
	if err != nil {
		return err
	}
	d, err := openNamed(*dev)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := os.MkdirAll(*dir, 0o777); err != nil {
		return fmt.Errorf("-o %s: %w", *dir, err)
	}
	run, err := newTraining(device.NewRecorder(d), config, factors, filepath.Join(*dir, checkpointName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.close()) }()
	return run.train(ctx, stdout)
}

// trainFactors is the variant's factors with the config's batch size, unless
// the variant or a setting has another.
func trainFactors(config trainer.Config, variant string, set settings) (trainer.Factors, error) {
	v, err := trainer.Named(variant)
	if err != nil {
		return trainer.Factors{}, fmt.Errorf("-variant: %w%s", err, suggest(variant, variantNames()))
	}
	batch := fmt.Sprintf("batch=%d", config.Training.BatchSize)
	return v.Factors(append(append([]string{batch}, strings.Fields(v.Set)...), set...)...)
}

func variantNames() []string {
	var names []string
	for _, v := range trainer.Variants {
		names = append(names, v.Name)
	}
	return names
}

// training is a run of gputax train.
type training struct {
	rec        *device.Recorder
	config     trainer.Config
	trainer    *trainer.Trainer
	evaluator  *trainer.Evaluator
	checkpoint string
	resumed    bool
}

// newTraining starts a run, or takes one up where its checkpoint is.
func newTraining(rec *device.Recorder, config trainer.Config, f trainer.Factors, checkpoint string) (*training, error) {
	t, err := trainer.New(rec, config.Options(), f)
	if err != nil {
		return nil, err
	}
	r := &training{rec: rec, config: config, trainer: t, checkpoint: checkpoint}
	if r.evaluator, err = trainer.NewEvaluator(rec, config.Options().Model, min(config.Baseline.Instances, 1024)); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	switch err := t.Restore(checkpoint); {
	case err == nil:
		r.resumed = true
	case !errors.Is(err, fs.ErrNotExist):
		return nil, errors.Join(fmt.Errorf("%w; move it away or choose another -o to start anew", err), r.close())
	}
	return r, nil
}

func (r *training) close() error { return errors.Join(r.evaluator.Close(), r.trainer.Close()) }

// train runs the epochs that are left.
func (r *training) train(ctx context.Context, stdout io.Writer) error {
	first := int(r.trainer.StepsDone()) / r.trainer.Steps()
	if r.resumed {
		fmt.Fprintf(stdout, "resumed after epoch %d from %s\n", first, r.checkpoint)
	}
	for epoch := first; epoch < r.config.Training.Epochs; epoch++ {
		if err := r.epoch(ctx, stdout, epoch); err != nil {
			if errors.Is(err, context.Canceled) {
				return fmt.Errorf("interrupted in epoch %d; %s, and the same command goes on", epoch+1, r.kept(epoch))
			}
			var bad *trainer.NotFinite
			if errors.As(err, &bad) {
				return fmt.Errorf("epoch %d: %w; %s", epoch+1, err, r.kept(epoch))
			}
			return err
		}
	}
	fmt.Fprintf(stdout, "%d epochs done; gputax eval -params %s tells how good it is\n", r.config.Training.Epochs, r.checkpoint)
	return nil
}

// kept says what is on disk when an epoch, counted from 0, does not end well.
func (r *training) kept(epoch int) string {
	if epoch == 0 {
		return "no checkpoint was written yet"
	}
	return fmt.Sprintf("%s has the %d epochs before it", r.checkpoint, epoch)
}

// epoch trains one epoch, tries the policy against the baseline, and saves.
func (r *training) epoch(ctx context.Context, stdout io.Writer, epoch int) error {
	if err := r.trainer.SetRate(r.config.Rate(epoch)); err != nil {
		return err
	}
	start, clock := time.Now(), r.rec.Now()
	stats, err := r.trainer.EpochContext(ctx)
	if err != nil {
		return err
	}
	seconds, unit := time.Since(start).Seconds(), "s"
	if r.rec.Device().Clock() == device.Virtual {
		seconds, unit = (r.rec.Now() - clock).Seconds(), "simulated s"
	}
	c, err := r.trainer.Challenge(r.evaluator, r.config.Baseline.Instances)
	if err != nil {
		return err
	}
	if err := r.trainer.Save(r.checkpoint); err != nil {
		return err
	}
	note := ""
	if c.Replaced {
		note = "  new baseline"
	}
	instances := float64(stats.Steps) * float64(r.trainer.Batch())
	fmt.Fprintf(stdout, "epoch %d/%d  cost %.4f  baseline %.4f  greedy %.4f  %.2f %s  %.0f instances/s%s\n",
		epoch+1, r.config.Training.Epochs, stats.Cost, stats.Baseline, c.Policy, seconds, unit, instances/seconds, note)
	return nil
}
