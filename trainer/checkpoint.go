package trainer

import (
	"errors"
	"fmt"

	"gputax/model"
)

// A checkpoint is a model file: what the run is in the header, what training
// changed in the sections. Parameters come first, so that a checkpoint is also
// a file of parameters.
const (
	headerModel = "config" // as model.Save writes it
	headerRun   = "run"
)

// runHeader is what must agree for a checkpoint to be resumed.
type runHeader struct {
	Batch int     `json:"batch"`
	Epoch int     `json:"epoch"`
	Clip  float64 `json:"clip"`
	Seed  uint64  `json:"seed"`
	First uint64  `json:"first_instance"`
	Steps uint64  `json:"steps"`

	// What rounds differently.
	Engine  string `json:"engine"`
	Layers  string `json:"layers,omitempty"` // none for parts, as in files from before there was a choice
	Rollout string `json:"rollout"`
	TF32    bool   `json:"tf32"`

	Run string `json:"run"` // Options.Run
}

func (t *Trainer) header() runHeader {
	h := runHeader{Batch: t.factors.Batch, Epoch: t.opt.Epoch, Clip: t.opt.Clip, Seed: t.opt.Seed, First: t.opt.Instance, Steps: t.steps,
		Engine: t.factors.Engine, Rollout: t.factors.Rollout, TF32: t.factors.TF32, Run: t.opt.Run}
	if t.factors.Layers != "parts" {
		h.Layers = t.factors.Layers
	}
	return h
}

// Save writes everything that a run needs to go on to path, whole or not at
// all. It waits for the device.
func (t *Trainer) Save(path string) error {
	params, err1 := t.download(t.params)
	baseline, err2 := t.download(t.baseline)
	moments, err3 := t.download(t.moments)
	f := &model.File{Sections: []model.Section{
		{Name: "params", Data: params}, {Name: "baseline", Data: baseline}, {Name: "moments", Data: moments}}}
	err := errors.Join(err1, err2, err3, f.Set(headerModel, t.opt.Model), f.Set(headerRun, t.header()))
	if err != nil {
		return fmt.Errorf("trainer: save %s: %w", path, err)
	}
	return model.WriteFile(path, f)
}

// Restore makes the run go on where the one that wrote path stopped. Where the
// file is damaged or of another run, the error says so and the trainer is as
// before.
func (t *Trainer) Restore(path string) error {
	f, err := model.ReadFile(path)
	if err != nil {
		return err
	}
	s, err := t.stateOf(f)
	if err != nil {
		return fmt.Errorf("trainer: restore %s: %w", path, err)
	}
	return t.restore(s)
}

func (t *Trainer) stateOf(f *model.File) (state, error) {
	var cfg model.Config
	var run runHeader
	if err := errors.Join(f.Get(headerModel, &cfg), f.Get(headerRun, &run)); err != nil {
		return state{}, err
	}
	mine := t.header()
	mine.Steps = run.Steps
	if cfg != t.opt.Model || run != mine {
		return state{}, fmt.Errorf("it is of another run: model %+v, run %+v; this run has %+v, %+v", cfg, run, t.opt.Model, mine)
	}
	params, err1 := f.Section("params")
	baseline, err2 := f.Section("baseline")
	moments, err3 := f.Section("moments")
	if err := errors.Join(err1, err2, err3); err != nil {
		return state{}, err
	}
	if size := t.model.Layout().Size; len(params) != size || len(baseline) != size || len(moments) != 2*size {
		return state{}, fmt.Errorf("%d parameters, %d of the baseline, %d moments; want %d, %d, %d", len(params), len(baseline), len(moments), size, size, 2*size)
	}
	return state{params: params, baseline: baseline, moments: moments, steps: run.Steps}, nil
}

// StepsDone is the number of steps since the start of the run.
func (t *Trainer) StepsDone() uint64 { return t.steps }
