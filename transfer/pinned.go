package transfer

import (
	"errors"

	"gputax/device"
	"gputax/vrp"
)

// batchedPinned copies everything to pinned memory and from there in one
// blocking copy.
type batchedPinned struct {
	target
	staging device.Pinned
}

func openBatchedPinned(rec *device.Recorder, batch int, size vrp.Size) (Mover, error) {
	t, err := openTarget(rec, batch, size)
	if err != nil {
		return nil, err
	}
	staging, err := rec.AllocPinned(t.dist.Size())
	return &batchedPinned{t, staging}, err
}

func (m *batchedPinned) Move(b *vrp.Batch) error {
	if err := m.check(b); err != nil {
		return err
	}
	defer m.rec.Phase(m.rec.Phase("collate"))
	copy(m.staging.Bytes(), device.Bytes(b.Dist))
	m.rec.HostWork(device.HostWork{Bytes: int64(m.staging.Size())})
	m.rec.Phase("upload")
	return m.rec.UploadPinned(m.dist, m.staging)
}

func (m *batchedPinned) Close() error {
	return errors.Join(m.target.Close(), m.rec.FreePinned(m.staging))
}

// pinnedAsync moves the batch in chunks through two halves of pinned memory,
// each with a stream of its own: while one half copies, the other is filled.
type pinnedAsync struct {
	target
	halves  [2]device.Pinned
	streams [2]device.Stream
}

// asyncChunks is how many chunks a batch goes in: enough to overlap, few
// enough that their latencies stay small.
const asyncChunks = 4

func openPinnedAsync(rec *device.Recorder, batch int, size vrp.Size) (Mover, error) {
	t, err := openTarget(rec, batch, size)
	if err != nil {
		return nil, err
	}
	m := &pinnedAsync{target: t}
	for i := range m.halves {
		if m.halves[i], err = rec.AllocPinned(m.chunk()); err != nil {
			return nil, err
		}
		if m.streams[i], err = rec.NewStream(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// chunk is the bytes of one chunk: whole matrices.
func (m *pinnedAsync) chunk() int {
	return (m.batch + asyncChunks - 1) / asyncChunks * m.matrix
}

func (m *pinnedAsync) Move(b *vrp.Batch) error {
	if err := m.check(b); err != nil {
		return err
	}
	defer m.rec.Phase(m.rec.Phase("upload"))
	src, half := device.Bytes(b.Dist), 0
	for from := 0; from < len(src); from += m.chunk() {
		size := min(m.chunk(), len(src)-from)
		if m.rec.Pending(m.streams[half]) { // its last copy may still read the half
			if err := m.rec.Sync(m.streams[half]); err != nil {
				return err
			}
		}
		copy(m.halves[half].Bytes(), src[from:from+size])
		m.rec.HostWork(device.HostWork{Bytes: int64(size)})
		if err := m.rec.UploadAsync(m.streams[half], m.dist.Slice(from, size), m.halves[half].Slice(0, size)); err != nil {
			return err
		}
		half = 1 - half
	}
	return nil
}

func (m *pinnedAsync) Close() error {
	return errors.Join(m.rec.Drain(), m.target.Close(), m.rec.FreePinned(m.halves[0]), m.rec.FreePinned(m.halves[1]))
}
