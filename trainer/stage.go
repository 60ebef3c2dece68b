package trainer

import (
	"errors"
	"fmt"

	"gputax/cost"
	"gputax/device"
	"gputax/model"
	"gputax/transfer"
	"gputax/vrp"
)

// costStage turns the actions of both rollouts into t.costs.
type costStage interface {
	// send brings what the stage needs of the current batch to the device.
	send() error
	// cost computes the costs.
	cost() error
	// needsBatch says whether the stage reads the batch on the host.
	needsBatch() bool
	// inGraph says whether cost is device work alone.
	inGraph() bool
	close() error
}

func newCostStage(t *Trainer) (costStage, error) {
	if t.factors.Cost == onDevice {
		return newDistances(t, &deviceStage{t: t})
	}
	v, err := cost.Named(t.factors.Cost)
	if err != nil {
		return nil, err
	}
	method, err := v.Open(t.rec)
	if err != nil {
		return nil, err
	}
	return newDistances(t, &methodStage{t: t, method: method})
}

// deviceStage reads actions and coordinates where they are.
type deviceStage struct{ t *Trainer }

func (s *deviceStage) send() error      { return nil }
func (s *deviceStage) needsBatch() bool { return false }
func (s *deviceStage) inGraph() bool    { return true }
func (s *deviceStage) close() error     { return nil }

func (s *deviceStage) cost() error {
	t := s.t
	t.rec.Phase("cost")
	for range t.factors.Dup {
		err := t.rec.Launch(device.Default, routeCosts, device.Buf(t.costs), device.Buf(t.actions), device.Buf(t.model.Coords),
			device.Int(2*t.factors.Batch), device.Int(t.factors.Batch), device.Int(t.opt.Model.Steps()), device.Int(t.opt.Model.Nodes()))
		if err != nil {
			return err
		}
	}
	return nil
}

// methodStage reads the actions back, makes routes of them on the host, and
// has a method of package cost compute their costs.
type methodStage struct {
	t       *Trainer
	method  cost.Method
	actions []int32
	routes  vrp.Routes
	costs   []float32
}

func (s *methodStage) needsBatch() bool { return true }
func (s *methodStage) inGraph() bool    { return false }
func (s *methodStage) close() error     { return s.method.Close() }

// send gives a method on the device its distances, in one copy.
func (s *methodStage) send() error { return s.method.Load(s.t.current) }

func (s *methodStage) cost() error {
	t := s.t
	t.rec.Phase("download")
	if s.actions == nil {
		s.actions, s.costs = make([]int32, t.actions.Size()/4), make([]float32, 2*t.factors.Batch)
	}
	if err := t.rec.Download(device.Bytes(s.actions), t.actions); err != nil {
		return err
	}
	t.rec.Phase("cost")
	if err := model.Routes(s.actions, t.opt.Model, &s.routes); err != nil {
		return err
	}
	t.rec.HostWork(device.HostWork{Calls: int64(s.routes.Len()), Items: int64(len(s.actions))})
	for range t.factors.Dup {
		if err := s.method.Cost(&s.routes); err != nil {
			return err
		}
	}
	if !onHost(t.factors.Cost) {
		return copyWords(t.rec, t.costs, s.method.Result())
	}
	if err := s.method.Costs(s.costs); err != nil {
		return err
	}
	return t.rec.Upload(t.costs, device.Bytes(s.costs))
}

// newDistances adds to a stage what the factor dist says.
func newDistances(t *Trainer, inner costStage) (costStage, error) {
	if t.factors.Dist == "keep" {
		return inner, nil
	}
	move, err := transfer.NamedMove("round_trip")
	if err != nil {
		return nil, err
	}
	size := vrp.Size{Customers: t.opt.Model.Customers, Capacity: t.opt.Model.Capacity}
	mover, err := move.Open(t.rec, t.factors.Batch, size)
	if err != nil {
		return nil, fmt.Errorf("trainer: %w", errors.Join(err, inner.close()))
	}
	return &roundTrip{costStage: inner, t: t, mover: mover}, nil
}

// roundTrip also sends every distance matrix to the device by itself and
// fetches it back, as write-up 002 found.
type roundTrip struct {
	costStage
	t     *Trainer
	mover transfer.Mover
}

func (s *roundTrip) needsBatch() bool { return true }

func (s *roundTrip) send() error {
	return errors.Join(s.mover.Move(s.t.current), s.costStage.send())
}

func (s *roundTrip) close() error { return errors.Join(s.mover.Close(), s.costStage.close()) }
