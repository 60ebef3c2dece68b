package trainer

import (
	"errors"
	"fmt"

	"gputax/cost"
	"gputax/device"
	"gputax/model"
	"gputax/vrp"
)

// Evaluator computes the costs of a policy's routes on sets of instances.
type Evaluator struct {
	rec     *device.Recorder
	cfg     model.Config
	model   *model.Model
	batch   collated
	part    *vrp.Batch
	actions []int32
	routes  vrp.Routes
}

// NewEvaluator makes one that works in batches of batch instances.
func NewEvaluator(rec *device.Recorder, cfg model.Config, batch int) (*Evaluator, error) {
	m, err := model.New(rec, cfg, batch, model.Options{})
	if err != nil {
		return nil, fmt.Errorf("trainer: evaluate: %w", err)
	}
	size := vrp.Size{Customers: cfg.Customers, Capacity: cfg.Capacity}
	return &Evaluator{rec: rec, cfg: cfg, model: m, part: vrp.NewBatch(batch, size), actions: make([]int32, batch*cfg.Steps())}, nil
}

// Close frees the evaluator's workspace.
func (e *Evaluator) Close() error { return e.model.Close() }

// Greedy is the cost of the greedy route of each of count instances, those
// from number first on that seed draws.
func (e *Evaluator) Greedy(params device.Buffer, seed, first uint64, count int) ([]float32, error) {
	costs := make([]float32, count)
	return costs, e.each(params, seed, first, costs, func(out []float32) error { return e.rollout(params, true, out) })
}

// Best is the cost of the best of samples sampled routes of each instance.
func (e *Evaluator) Best(params device.Buffer, seed, first uint64, count, samples int) ([]float32, error) {
	costs := make([]float32, count)
	return costs, e.each(params, seed, first, costs, func(out []float32) error {
		sampled := make([]float32, len(out))
		for k := range samples {
			control := []int32{int32(uint32(seed)), int32(uint32(seed >> 32)), int32(k), 0}
			if err := e.rec.Upload(e.model.Control, device.Bytes(control)); err != nil {
				return err
			}
			if err := e.rollout(params, false, sampled); err != nil {
				return err
			}
			for i, c := range sampled {
				if k == 0 || c < out[i] {
					out[i] = c
				}
			}
		}
		return nil
	})
}

// each encodes the instances a batch at a time and calls f for each batch with
// where its costs go.
func (e *Evaluator) each(params device.Buffer, seed, first uint64, costs []float32, f func(out []float32) error) error {
	for from := 0; from < len(costs); from += e.part.B {
		e.part.Fill(seed, first+uint64(from)) // the last batch may be more than is asked for
		e.batch.collate(e.rec, "prealloc", e.part)
		err := errors.Join(
			e.rec.Upload(e.model.Coords, device.Bytes(e.batch.coords)),
			e.rec.Upload(e.model.Demands, device.Bytes(e.batch.demands)),
			e.model.Encode(params),
		)
		if err != nil {
			return err
		}
		out := make([]float32, e.part.B)
		if err := f(out); err != nil {
			return err
		}
		copy(costs[from:], out)
	}
	return nil
}

// rollout decodes one route an instance, holds each to the rules, and writes
// their costs.
func (e *Evaluator) rollout(params device.Buffer, greedy bool, out []float32) error {
	err := errors.Join(e.model.Rollout(params, greedy), e.rec.Download(device.Bytes(e.actions), e.model.Actions))
	if err != nil {
		return err
	}
	if err := model.Routes(e.actions, e.cfg, &e.routes); err != nil {
		return err
	}
	if err := e.part.ValidateAll(&e.routes); err != nil {
		return fmt.Errorf("trainer: the model made a bad route: %w", err)
	}
	cost.Loop(out, e.part.Dist, e.part.Nodes(), &e.routes)
	return nil
}
