package trainer

import (
	"context"
	"errors"
	"fmt"

	"gputax/device"
	"gputax/vrp"
)

// Step trains on one batch: load, collate, upload, both rollouts, their costs,
// the loss and its gradient, the update. Device work may still be running when
// it returns.
func (t *Trainer) Step() error {
	t.rec.Step()
	if !t.sent {
		if err := t.send(); err != nil {
			return err
		}
	}
	err := t.run()
	t.steps++
	t.sinceSum++
	t.sent = false
	if err != nil {
		return fmt.Errorf("trainer: step %d: %w", t.steps, err)
	}
	return nil
}

// send gets the next batch to the device.
func (t *Trainer) send() error {
	defer t.rec.Phase(t.rec.Phase("load"))
	t.sent = true
	if t.factors.Load != "device" || t.stage.needsBatch() {
		t.current = t.loader.Next()
		t.rec.HostWork(t.loader.work)
	}
	if t.factors.Load == "device" {
		return nil
	}
	t.rec.Phase("collate")
	t.batch.collate(t.rec, t.factors.Collate, t.current)
	t.rec.Phase("upload")
	return t.inputs.send(&t.batch)
}

// run is a step, from inputs on their way to the update.
func (t *Trainer) run() error {
	defer t.rec.Phase(t.rec.Phase("upload"))
	if t.factors.Load != "device" {
		if err := t.inputs.deliver(); err != nil {
			return err
		}
	}
	if err := t.stage.send(); err != nil {
		return err
	}
	if t.factors.Graph {
		return t.replay()
	}
	return errors.Join(t.draw(), t.rollouts(), t.stage.cost(), t.learn())
}

// draw makes the batch on the device, where the factor says so.
func (t *Trainer) draw() error {
	if t.factors.Load != "device" {
		return nil
	}
	t.rec.Phase("load")
	c, first := t.opt.Model, t.firstBatch()
	return t.rec.Launch(device.Default, instancesKernel, device.Buf(t.model.Coords), device.Buf(t.model.Demands), device.Buf(t.model.Control),
		device.Int(t.factors.Batch), device.Int(c.Nodes()), device.Int(c.Capacity), device.Int(vrp.MaxDemand),
		device.Int(int(int32(uint32(first)))), device.Int(int(int32(uint32(first>>32)))))
}

// rollouts decodes a route for every instance, greedily with the baseline and
// by sampling with the policy. The policy goes last: its activations stay for
// the loss.
func (t *Trainer) rollouts() error {
	t.rec.Phase("baseline")
	half := t.actions.Size() / 2
	err := errors.Join(
		t.model.Encode(t.baseline),
		t.model.Rollout(t.baseline, true),
		copyWords(t.rec, t.actions.Slice(half, half), t.model.Actions),
	)
	t.rec.Phase("rollout")
	return errors.Join(err,
		t.model.Encode(t.params),
		t.model.Rollout(t.params, false),
		copyWords(t.rec, t.actions.Slice(0, half), t.model.Actions),
	)
}

// learn turns costs into a gradient and takes a step along it.
func (t *Trainer) learn() error {
	t.rec.Phase("forward")
	err := errors.Join(
		t.rec.Launch(device.Default, advantageKernel, device.Buf(t.model.Advantage), device.Buf(t.costs), device.Buf(t.status),
			device.Buf(t.model.Control), device.Int(t.factors.Batch)),
		t.engine.gradient(),
	)
	t.rec.Phase("update")
	size := t.params.Size()
	return errors.Join(err,
		t.rec.Launch(device.Default, clipKernel, device.Buf(t.status), device.Buf(t.model.Grads), device.Buf(t.model.Control),
			device.Float(float32(t.opt.Clip)), device.Int(size/4)),
		t.rec.Launch(device.Default, adamKernel, device.Buf(t.params), device.Buf(t.moments.Slice(0, size)), device.Buf(t.moments.Slice(size, size)),
			device.Buf(t.model.Grads), device.Buf(t.status), device.Buf(t.model.Control), device.Buf(t.rate),
			device.Int(size/4)),
	)
}

// Stats is what happened since the last time it was read.
type Stats struct {
	Steps    int
	Cost     float64 // mean over the steps, of the sampled routes
	Baseline float64 // the same, of the baseline's
	Loss     float64 // of the last step
	Norm     float64 // of the last step's gradient
}

// NotFinite is the error of a run that met a NaN or an infinity. The
// parameters are those before the step it was in.
type NotFinite struct {
	Phase string
	Step  int // the first step of a run is 1
}

func (e *NotFinite) Error() string {
	return fmt.Sprintf("trainer: step %d: a number in phase %s is not finite; the parameters are those before that step", e.Step, e.Phase)
}

// Stats reads and resets the statistics; it waits for the device. Where a
// number was not finite the error is a *NotFinite.
func (t *Trainer) Stats() (Stats, error) {
	defer t.rec.Phase(t.rec.Phase("download"))
	var raw [statusWords]float32
	if err := t.rec.Download(device.Bytes(raw[:]), t.status); err != nil {
		return Stats{}, err
	}
	ints := device.View[int32](device.Bytes(raw[:]))
	if phase := ints[statusBadPhase]; phase != 0 {
		return Stats{}, &NotFinite{Phase: badPhases[phase], Step: int(ints[statusBadStep]) + 1}
	}
	s := Stats{Steps: t.sinceSum, Loss: float64(raw[statusLoss]), Norm: float64(raw[statusNorm])}
	if t.sinceSum > 0 {
		s.Cost = float64(raw[statusCost]) / float64(t.sinceSum)
		s.Baseline = float64(raw[statusBaseline]) / float64(t.sinceSum)
	}
	t.sinceSum = 0
	raw[statusCost], raw[statusBaseline] = 0, 0
	return s, t.rec.Upload(t.status, device.Bytes(raw[:]))
}

// Epoch trains for Steps steps and returns their statistics.
func (t *Trainer) Epoch() (Stats, error) { return t.EpochContext(context.Background()) }

// EpochContext is Epoch that ends with the context's error, between two steps,
// once ctx is done.
func (t *Trainer) EpochContext(ctx context.Context) (Stats, error) {
	n := t.Steps()
	for i := range n {
		if err := ctx.Err(); err != nil {
			return Stats{}, err
		}
		if err := t.Step(); err != nil {
			return Stats{}, err
		}
		if t.inputs.ahead() && t.factors.Load != "device" && i+1 < n { // while the device works
			if err := t.send(); err != nil {
				return Stats{}, err
			}
		}
	}
	t.rec.EndStep()
	return t.Stats()
}
