package trainer

import (
	"errors"

	"gputax/device"
	"gputax/model"
	"gputax/model/gorgonia"
)

// engine computes the loss of the current actions and its gradient, into
// t.model.Grads.
type engine interface {
	gradient() error
	close() error
}

func newEngine(t *Trainer) (engine, error) {
	if t.factors.Engine == "gorgonia" {
		return newGorgoniaEngine(t)
	}
	return &kernelEngine{t}, nil
}

// kernelEngine is package model's own.
type kernelEngine struct{ t *Trainer }

func (e *kernelEngine) gradient() error {
	t := e.t
	err := errors.Join(t.model.Evaluate(t.params), t.lossKernel())
	t.rec.Phase("backward")
	return errors.Join(err, t.model.Backward(t.params))
}

func (e *kernelEngine) close() error { return nil }

// lossKernel queues the check of the loss.
func (t *Trainer) lossKernel() error {
	return t.rec.Launch(device.Default, lossKernel, device.Buf(t.status), device.Buf(t.model.Advantage), device.Buf(t.model.LogProb),
		device.Buf(t.model.Control), device.Int(t.factors.Batch))
}

// gorgoniaEngine builds the loss as a Gorgonia expression graph and has it
// differentiate that, on the host: what it needs comes down, the gradient goes
// up.
type gorgoniaEngine struct {
	t                 *Trainer
	oracle            *gorgonia.Oracle
	params, advantage []float32
	actions           []int32
}

func newGorgoniaEngine(t *Trainer) (*gorgoniaEngine, error) {
	oracle, err := gorgonia.NewSingle(t.opt.Model, t.factors.Batch)
	if err != nil {
		return nil, err
	}
	return &gorgoniaEngine{t: t, oracle: oracle,
		params:    make([]float32, t.params.Size()/4),
		advantage: make([]float32, t.factors.Batch),
		actions:   make([]int32, t.model.Actions.Size()/4)}, nil
}

func (e *gorgoniaEngine) gradient() error {
	t := e.t
	err := errors.Join(
		t.rec.Download(device.Bytes(e.params), t.params),
		t.rec.Download(device.Bytes(e.advantage), t.model.Advantage),
		t.rec.Download(device.Bytes(e.actions), t.model.Actions),
	)
	if err != nil {
		return err
	}
	t.rec.HostWork(device.HostWork{Calls: 1, Flops: 3 * forwardFlops(t.opt.Model, t.factors.Batch)})
	_, grads, err := e.oracle.LossAndGrad(e.params, t.batch.coords, t.batch.demands, e.actions, e.advantage)
	if err != nil {
		return err
	}
	return t.rec.Upload(t.model.Grads, device.Bytes(grads))
}

// forwardFlops is what the matrix products of one evaluation take; the way back
// takes twice that.
func forwardFlops(c model.Config, batch int) int64 {
	d := int64(c.Width)
	layer := d*(3*d+d) + 2*d*int64(c.Hidden)
	nodes, steps := int64(batch*c.Nodes()), int64(batch*c.Steps())
	return 2 * (nodes*(int64(c.Layers)*layer+3*d*d) + steps*(d*(d+1)+d*d))
}

func (e *gorgoniaEngine) close() error { return e.oracle.Close() }
