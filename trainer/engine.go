package trainer

import (
	"errors"
	"fmt"

	"gputax/device"
	"gputax/model"
)

// engine computes the loss of the current actions and its gradient, into
// t.model.Grads.
type engine interface {
	gradient() error
	close() error
}

func newEngine(t *Trainer) (engine, error) {
	if t.factors.Engine == "kernels" {
		return &kernelEngine{t}, nil
	}
	if t.opt.HostEngine == nil {
		return nil, fmt.Errorf("trainer: engine=%s: this program does not have it; go test -bench Epoch ./bench does", t.factors.Engine)
	}
	return newHostEngine(t)
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

// HostEngine is another library that computes the loss and its gradient, on the
// host: what the factor engine=gorgonia uses. Package model/gorgonia has one; it
// is handed in, so that the command need not be built with that library.
type HostEngine interface {
	Open(cfg model.Config, batch int) (HostGradient, error)
}

// HostGradient computes the loss and its gradient for one batch after the other.
type HostGradient interface {
	LossAndGrad(params, coords, demands []float32, actions []int32, advantage []float32) (loss float64, grads []float32, err error)
	Close() error
}

// hostEngine brings down what a HostGradient needs, and its gradient up.
type hostEngine struct {
	t                 *Trainer
	host              HostGradient
	params, advantage []float32
	actions           []int32
}

func newHostEngine(t *Trainer) (*hostEngine, error) {
	host, err := t.opt.HostEngine.Open(t.opt.Model, t.factors.Batch)
	if err != nil {
		return nil, err
	}
	return &hostEngine{t: t, host: host,
		params:    make([]float32, t.params.Size()/4),
		advantage: make([]float32, t.factors.Batch),
		actions:   make([]int32, t.model.Actions.Size()/4)}, nil
}

func (e *hostEngine) gradient() error {
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
	_, grads, err := e.host.LossAndGrad(e.params, t.batch.coords, t.batch.demands, e.actions, e.advantage)
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

func (e *hostEngine) close() error { return e.host.Close() }
