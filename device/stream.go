package device

import "fmt"

// Launch starts k on s with args. It allocates nothing; the arguments are the
// caller's again on return.
func (r *Recorder) Launch(s Stream, k *Kernel, args ...Arg) error {
	r.args = append(r.args[:0], args...)
	if err := r.checkStream(s); err != nil {
		return fmt.Errorf("device: launch %s: %w", k.Symbol, err)
	}
	if err := k.check(r, r.args); err != nil {
		return err
	}
	if err := r.dev.Launch(s, k, r.args); err != nil {
		return fmt.Errorf("device: launch %s: %w", k.Symbol, err)
	}
	r.count(Launches, 1)
	r.count(MappedBytes, r.args.Mapped())
	for i := range r.args {
		r.holds(r.args[i].buf.block)
	}
	r.issued(s)
	return nil
}

// NewStream makes a stream.
func (r *Recorder) NewStream() (Stream, error) {
	s, err := r.dev.NewStream()
	if err != nil {
		return 0, fmt.Errorf("device: new stream: %w", err)
	}
	for len(r.pending) <= int(s) {
		r.pending = append(r.pending, false)
	}
	return s, nil
}

// NewEvent makes an event.
func (r *Recorder) NewEvent() (Event, error) {
	e, err := r.dev.NewEvent()
	if err != nil {
		return 0, fmt.Errorf("device: new event: %w", err)
	}
	r.events = max(r.events, int(e)+1)
	return e, nil
}

// Record marks with e the point that s has reached.
func (r *Recorder) Record(e Event, s Stream) error {
	if err := r.checkEvent(e, s); err != nil {
		return fmt.Errorf("device: record event %d on stream %d: %w", e, s, err)
	}
	return r.dev.Record(e, s)
}

// Wait makes later work on s wait for the point e last marked.
func (r *Recorder) Wait(s Stream, e Event) error {
	if err := r.checkEvent(e, s); err != nil {
		return fmt.Errorf("device: stream %d waits for event %d: %w", s, e, err)
	}
	return r.dev.Wait(s, e)
}

// Sync returns when all work issued to s is done.
func (r *Recorder) Sync(s Stream) error {
	if err := r.eager("sync"); err != nil {
		return err
	}
	if err := r.checkStream(s); err != nil {
		return fmt.Errorf("device: sync stream %d: %w", s, err)
	}
	if err := r.dev.Sync(s); err != nil {
		return fmt.Errorf("device: sync stream %d: %w", s, err)
	}
	r.pending[s] = false
	r.count(Syncs, 1)
	return nil
}

// Pending says whether work issued to s may still be running: nothing has
// waited for it since.
func (r *Recorder) Pending(s Stream) bool { return r.pending[s] }

// Drain waits for whatever may still be running, and counts nothing: it is for
// harnesses that end a measurement, not for work.
func (r *Recorder) Drain() error {
	if r.watch != nil {
		r.watch.Draining(true)
		defer r.watch.Draining(false)
	}
	for s, pending := range r.pending {
		if !pending {
			continue
		}
		if err := r.dev.Sync(Stream(s)); err != nil {
			return fmt.Errorf("device: drain stream %d: %w", s, err)
		}
		r.pending[s] = false
	}
	return nil
}

// issued notes that work was queued on s.
func (r *Recorder) issued(s Stream) {
	if r.capture == nil {
		r.pending[s] = true
	}
}

// checkStream refuses streams that do not exist, and every other stream while
// one is captured.
func (r *Recorder) checkStream(s Stream) error {
	if s < 0 || int(s) >= len(r.pending) {
		return fmt.Errorf("stream %d of %d: %w", s, len(r.pending), ErrStream)
	}
	if r.capture != nil && s != r.stream {
		return ErrCapturing
	}
	return nil
}

func (r *Recorder) checkEvent(e Event, s Stream) error {
	if e < 0 || int(e) >= r.events {
		return fmt.Errorf("event %d of %d: %w", e, r.events, ErrStream)
	}
	if r.capture != nil {
		return ErrCapturing
	}
	return r.checkStream(s)
}
