package trainer

import (
	"errors"

	"gputax/device"
	"gputax/model"
)

// inputs brings collated batches to the model's buffers.
type inputs interface {
	// send brings c to the model, on the default stream or ahead of it.
	send(c *collated) error
	// ahead says whether a batch is best sent while the step before still
	// runs, and deliver then makes it the model's at the start of its step.
	ahead() bool
	deliver() error
	close() error
}

func newInputs(rec *device.Recorder, how string, m *model.Model) (inputs, error) {
	switch how {
	case "pinned":
		return newPinnedInputs(rec, m)
	case "async":
		return newAsyncInputs(rec, m)
	}
	return &pageableInputs{rec, m}, nil
}

// pageableInputs makes two blocking copies.
type pageableInputs struct {
	rec *device.Recorder
	m   *model.Model
}

func (in *pageableInputs) send(c *collated) error {
	return errors.Join(in.rec.Upload(in.m.Coords, device.Bytes(c.coords)), in.rec.Upload(in.m.Demands, device.Bytes(c.demands)))
}

func (in *pageableInputs) ahead() bool    { return false }
func (in *pageableInputs) deliver() error { return nil }
func (in *pageableInputs) close() error   { return nil }

// pinnedInputs stages both in pinned memory and makes two blocking copies from
// there.
type pinnedInputs struct {
	pageableInputs
	staging device.Pinned
}

func newPinnedInputs(rec *device.Recorder, m *model.Model) (*pinnedInputs, error) {
	p, err := rec.AllocPinned(m.Coords.Size() + m.Demands.Size())
	return &pinnedInputs{pageableInputs{rec, m}, p}, err
}

// stage copies c into p and returns its two parts.
func stage(rec *device.Recorder, p device.Pinned, c *collated) (coords, demands device.Pinned) {
	n := 4 * len(c.coords)
	coords, demands = p.Slice(0, n), p.Slice(n, 4*len(c.demands))
	copy(coords.Bytes(), device.Bytes(c.coords))
	copy(demands.Bytes(), device.Bytes(c.demands))
	rec.HostWork(device.HostWork{Calls: 2, Bytes: int64(p.Size())})
	return coords, demands
}

func (in *pinnedInputs) send(c *collated) error {
	coords, demands := stage(in.rec, in.staging, c)
	return errors.Join(in.rec.UploadPinned(in.m.Coords, coords), in.rec.UploadPinned(in.m.Demands, demands))
}

func (in *pinnedInputs) close() error { return in.rec.FreePinned(in.staging) }

// asyncInputs sends a batch while the step before runs: from one of two pinned
// halves to one of two device halves, on a stream of its own. deliver makes the
// default stream wait for the copy and moves the batch into place.
type asyncInputs struct {
	rec     *device.Recorder
	m       *model.Model
	stream  device.Stream
	halves  [2]asyncHalf
	sending int // the half that send fills next
	arrived int // the half that deliver takes next
}

type asyncHalf struct {
	staging         device.Pinned
	coords, demands device.Buffer
	sent, taken     device.Event // the copy is queued; the batch is in place
}

func newAsyncInputs(rec *device.Recorder, m *model.Model) (*asyncInputs, error) {
	in := &asyncInputs{rec: rec, m: m}
	var err error
	if in.stream, err = rec.NewStream(); err != nil {
		return nil, err
	}
	for i := range in.halves {
		h := &in.halves[i]
		var errs [5]error
		h.staging, errs[0] = rec.AllocPinned(m.Coords.Size() + m.Demands.Size())
		h.coords, errs[1] = rec.Alloc(m.Coords.Size())
		h.demands, errs[2] = rec.Alloc(m.Demands.Size())
		h.sent, errs[3] = rec.NewEvent()
		h.taken, errs[4] = rec.NewEvent()
		if err := errors.Join(errs[:]...); err != nil {
			return nil, errors.Join(err, in.close())
		}
	}
	return in, nil
}

func (in *asyncInputs) ahead() bool { return true }

func (in *asyncInputs) send(c *collated) error {
	if in.rec.Pending(in.stream) { // the copies are short: when the last is done, both halves' are
		if err := in.rec.Sync(in.stream); err != nil {
			return err
		}
	}
	h := &in.halves[in.sending]
	in.sending = 1 - in.sending
	coords, demands := stage(in.rec, h.staging, c)
	return errors.Join(
		in.rec.Wait(in.stream, h.taken),
		in.rec.UploadAsync(in.stream, h.coords, coords),
		in.rec.UploadAsync(in.stream, h.demands, demands),
		in.rec.Record(h.sent, in.stream),
	)
}

func (in *asyncInputs) deliver() error {
	h := &in.halves[in.arrived]
	in.arrived = 1 - in.arrived
	return errors.Join(
		in.rec.Wait(device.Default, h.sent),
		copyWords(in.rec, in.m.Coords, h.coords),
		copyWords(in.rec, in.m.Demands, h.demands),
		in.rec.Record(h.taken, device.Default),
	)
}

func (in *asyncInputs) close() error {
	err := in.rec.Drain()
	for _, h := range in.halves {
		err = errors.Join(err, in.rec.FreePinned(h.staging), in.rec.Free(h.coords), in.rec.Free(h.demands))
	}
	return err
}
