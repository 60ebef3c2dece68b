package transfer

import (
	"gputax/device"
	"gputax/vrp"
)

// keep leaves everything where it is.
type keep struct{}

func openKeep(*device.Recorder, int, vrp.Size) (Mover, error) { return keep{}, nil }

func (keep) Move(*vrp.Batch) error     { return nil }
func (keep) Moved() ([]float32, error) { return nil, nil }
func (keep) Close() error              { return nil }

// oneByOne makes one blocking copy a matrix.
type oneByOne struct{ target }

func openOneByOne(rec *device.Recorder, batch int, size vrp.Size) (Mover, error) {
	t, err := openTarget(rec, batch, size)
	return &oneByOne{t}, err
}

func (m *oneByOne) Move(b *vrp.Batch) error {
	if err := m.check(b); err != nil {
		return err
	}
	defer m.rec.Phase(m.rec.Phase("upload"))
	for i := range b.B {
		if err := m.rec.Upload(m.at(i), device.Bytes(b.DistOf(i))); err != nil {
			return err
		}
	}
	return nil
}

// roundTrip also copies every matrix back.
type roundTrip struct {
	oneByOne
	back []float32
}

func openRoundTrip(rec *device.Recorder, batch int, size vrp.Size) (Mover, error) {
	t, err := openTarget(rec, batch, size)
	return &roundTrip{oneByOne: oneByOne{t}, back: make([]float32, t.dist.Size()/4)}, err
}

func (m *roundTrip) Move(b *vrp.Batch) error {
	if err := m.oneByOne.Move(b); err != nil {
		return err
	}
	defer m.rec.Phase(m.rec.Phase("download"))
	words := m.matrix / 4
	for i := range b.B {
		if err := m.rec.Download(device.Bytes(m.back[i*words:(i+1)*words]), m.at(i)); err != nil {
			return err
		}
	}
	return nil
}

// batched makes one blocking copy of everything.
type batched struct{ target }

func openBatched(rec *device.Recorder, batch int, size vrp.Size) (Mover, error) {
	t, err := openTarget(rec, batch, size)
	return &batched{t}, err
}

func (m *batched) Move(b *vrp.Batch) error {
	if err := m.check(b); err != nil {
		return err
	}
	defer m.rec.Phase(m.rec.Phase("upload"))
	return m.rec.Upload(m.dist, device.Bytes(b.Dist))
}
