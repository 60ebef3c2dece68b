package device

// Watcher is a Device that is also told what its calls are for: profilers and
// tracers are, and devices that pass it on to a tool. The Recorder finds out
// once, in NewRecorder; where a device is none, it costs one comparison.
type Watcher interface {
	// EnterPhase says that what follows belongs to the phase name.
	EnterPhase(name string)
	// EnterStep says that step n begins, the first since the Recorder's last
	// Reset being 0; n is -1 where a step ends and none begins.
	EnterStep(n int)
	// Padded says that of total items that the device is about to work on, only
	// useful ones are not padding.
	Padded(useful, total int64)
	// Draining says that the Syncs that follow are a harness's, until it is
	// called again with false. The Recorder does not count them.
	Draining(on bool)
}

// Step says that the next training step begins: what follows belongs to it,
// until the next one or EndStep.
func (r *Recorder) Step() {
	if r.watch != nil {
		r.watch.EnterStep(r.step)
	}
	r.step++
}

// EndStep says that what follows belongs to no step.
func (r *Recorder) EndStep() {
	if r.watch != nil {
		r.watch.EnterStep(-1)
	}
}

// Padded declares that a batch was padded to one shape: of total items that the
// device works on, useful are not masked out. It counts nothing; profiles tell
// of it.
func (r *Recorder) Padded(useful, total int64) {
	if r.watch != nil {
		r.watch.Padded(useful, total)
	}
}

// Place is where b lies: its block and the offset there. The block is for
// devices that tell buffers apart; it is nil for an empty buffer.
func (b Buffer) Place() (block *Block, offset int) { return b.block, b.off }
