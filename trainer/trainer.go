// Package trainer trains the graph transformer with REINFORCE on vehicle
// routing, in every variant that the write-ups argue about. All variants
// compute the same; what they launch, copy and wait for differs.
//
//  1. Variants names sets of Factors; any combination of factors can be run.
//  2. New makes a Trainer on a recorder's device; Step trains on one batch,
//     Epoch on a fixed number of them.
//  3. Challenge replaces the baseline when the policy has become better.
//  4. Save and Restore keep everything in a checkpoint; a restored run goes on
//     to the same result.
package trainer

import (
	"errors"
	"fmt"

	"gputax/cost"
	"gputax/device"
	"gputax/model"
	"gputax/vrp"
)

// Options are what a run is, whichever variant runs it.
type Options struct {
	Model    model.Config
	Epoch    int     // instances an epoch
	Rate     float64 // Adam's learning rate
	Clip     float64 // the most that the gradient's norm may be
	Seed     uint64  // of instances, parameters and samples
	Instance uint64  // number of the first instance drawn
	// HostEngine is for the factor engine=gorgonia; nil where there is none.
	HostEngine HostEngine
	Run        string // what else a checkpoint must agree in to be taken up
}

// Tiny is the reference workload.
func Tiny() Options {
	return Options{Model: model.Tiny(), Epoch: 3200, Rate: 1e-4, Clip: 1, Seed: 1}
}

// Trainer is a run in progress. It belongs to its recorder's goroutine.
type Trainer struct {
	rec     *device.Recorder
	opt     Options
	factors Factors
	model   *model.Model
	loader  *loader
	batch   collated
	inputs  inputs
	stage   costStage
	engine  engine
	graphs  stepGraphs // captured parts of a step, where the factor says so

	// On the device.
	params   device.Buffer // of the policy
	baseline device.Buffer // parameters of the baseline
	moments  device.Buffer // Adam's m, then its v
	actions  device.Buffer // of the policy, then of the baseline: int32 [2, batch, steps]
	costs    device.Buffer // of the policy, then of the baseline: float32 [2, batch]
	status   device.Buffer // see statusCost
	rate     device.Buffer // the learning rate
	buffers  []device.Buffer

	steps    uint64 // done since the start of the run
	sinceSum int    // steps since the status was last read
	current  *vrp.Batch
	sent     bool // the next batch is on its way to the device
}

// New starts a run from the first step.
func New(rec *device.Recorder, opt Options, f Factors) (*Trainer, error) {
	if err := errors.Join(f.Validate(), opt.validate(f)); err != nil {
		return nil, err
	}
	t := &Trainer{rec: rec, opt: opt, factors: f}
	if err := t.open(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, t.Rewind()
}

func (o Options) validate(f Factors) error {
	if err := o.Model.Validate(); err != nil {
		return fmt.Errorf("trainer: %w", err)
	}
	switch {
	case o.Epoch < f.Batch:
		return fmt.Errorf("trainer: an epoch of %d instances is less than one batch of %d", o.Epoch, f.Batch)
	case !(o.Rate > 0):
		return fmt.Errorf("trainer: learning rate %v: want more than 0", o.Rate)
	case !(o.Clip > 0):
		return fmt.Errorf("trainer: gradient norm clipped at %v: want more than 0", o.Clip)
	}
	return nil
}

// open allocates everything.
func (t *Trainer) open() (err error) {
	f, c := t.factors, t.opt.Model
	if t.model, err = model.New(t.rec, c, f.Batch, f.modelOptions()); err != nil {
		return fmt.Errorf("trainer: batch %d: %w", f.Batch, err)
	}
	size := t.model.Layout().Size
	for _, b := range []struct {
		buf   *device.Buffer
		words int
	}{
		{&t.params, size}, {&t.baseline, size}, {&t.moments, 2 * size}, {&t.actions, 2 * f.Batch * c.Steps()},
		{&t.costs, 2 * f.Batch}, {&t.status, statusWords}, {&t.rate, 1},
	} {
		if *b.buf, err = t.rec.Alloc(4 * b.words); err != nil {
			return fmt.Errorf("trainer: batch %d: %w", f.Batch, err)
		}
		t.buffers = append(t.buffers, *b.buf)
	}
	if t.inputs, err = newInputs(t.rec, f.Upload, t.model); err != nil {
		return err
	}
	if t.stage, err = newCostStage(t); err != nil {
		return err
	}
	if t.engine, err = newEngine(t); err != nil {
		return err
	}
	t.loader = newLoader(f, vrp.Size{Customers: c.Customers, Capacity: c.Capacity}, t.opt.Seed, t.firstBatch())
	return nil
}

// firstBatch is the number of the run's first batch.
func (t *Trainer) firstBatch() uint64 { return t.opt.Instance / uint64(t.factors.Batch) }

// Batch is the number of instances a step.
func (t *Trainer) Batch() int { return t.factors.Batch }

// Steps is the number of steps an epoch.
func (t *Trainer) Steps() int { return t.opt.Epoch / t.factors.Batch }

// Rewind goes back to the first step, with the first parameters.
func (t *Trainer) Rewind() error {
	params := make([]float32, t.model.Layout().Size)
	t.model.Layout().Init(params, t.opt.Seed)
	return t.restore(state{params: params, baseline: params, moments: make([]float32, 2*len(params))})
}

// state is everything that training changes.
type state struct {
	params, baseline, moments []float32
	steps                     uint64
}

// restore makes s the state.
func (t *Trainer) restore(s state) error {
	control := []int32{int32(uint32(t.opt.Seed)), int32(uint32(t.opt.Seed >> 32)), int32(s.steps), 0}
	err := errors.Join(
		t.rec.Upload(t.params, device.Bytes(s.params)),
		t.rec.Upload(t.baseline, device.Bytes(s.baseline)),
		t.rec.Upload(t.moments, device.Bytes(s.moments)),
		t.rec.Upload(t.model.Control, device.Bytes(control)),
		t.rec.Upload(t.status, device.Bytes(make([]float32, statusWords))),
		t.SetRate(t.opt.Rate),
	)
	if t.sent && t.factors.Load != "device" { // take what is on its way, so that the next is not mistaken for it
		err = errors.Join(err, t.inputs.deliver())
	}
	t.steps, t.sinceSum, t.sent = s.steps, 0, false
	t.loader.Seek(t.firstBatch() + s.steps)
	return err
}

// SetRate sets the learning rate from the next step on.
func (t *Trainer) SetRate(rate float64) error {
	t.opt.Rate = rate
	return t.rec.Upload(t.rate, device.Bytes([]float32{float32(rate)}))
}

// Params is a copy of the policy's parameters.
func (t *Trainer) Params() ([]float32, error) { return t.download(t.params) }

// Costs is a copy of the last step's route costs, the policy's and then the
// baseline's.
func (t *Trainer) Costs() ([]float32, error) { return t.download(t.costs) }

// Routes is the last step's routes, the policy's and then the baseline's.
func (t *Trainer) Routes() (*vrp.Routes, error) {
	actions := make([]int32, t.actions.Size()/4)
	if err := t.rec.Download(device.Bytes(actions), t.actions); err != nil {
		return nil, err
	}
	r := &vrp.Routes{}
	return r, model.Routes(actions, t.opt.Model, r)
}

func (t *Trainer) download(b device.Buffer) ([]float32, error) {
	out := make([]float32, b.Size()/4)
	return out, t.rec.Download(device.Bytes(out), b)
}

// Close ends the loader and frees everything.
func (t *Trainer) Close() error {
	err := t.rec.Drain()
	if t.loader != nil {
		t.loader.Close()
	}
	err = errors.Join(err, t.graphs.close(t.rec))
	for _, c := range []interface{ close() error }{t.inputs, t.stage, t.engine} {
		if c != nil {
			err = errors.Join(err, c.close())
		}
	}
	for _, b := range t.buffers {
		err = errors.Join(err, t.rec.Free(b))
	}
	if t.model != nil {
		err = errors.Join(err, t.model.Close())
	}
	return err
}

// onHost says whether the factor cost runs where the distances are kept.
func onHost(name string) bool { return name == cost.Variants[0].Name }
