package device

import "fmt"

// Upload copies src to the start of dst and returns when that is done.
func (r *Recorder) Upload(dst Buffer, src []byte) error {
	return r.copy(Copy{Direction: HostToDevice, Mode: Pageable, Device: dst, Host: src}, nil)
}

// UploadPinned is Upload from pinned memory.
func (r *Recorder) UploadPinned(dst Buffer, src Pinned) error {
	return r.copyPinned(Copy{Direction: HostToDevice, Mode: Staged, Device: dst}, src)
}

// UploadAsync queues a copy of src to the start of dst on s. src must not
// change until s has been synced past it.
func (r *Recorder) UploadAsync(s Stream, dst Buffer, src Pinned) error {
	return r.copyPinned(Copy{Direction: HostToDevice, Mode: Async, Stream: s, Device: dst}, src)
}

// Download fills dst from the start of src and returns when that is done.
func (r *Recorder) Download(dst []byte, src Buffer) error {
	return r.copy(Copy{Direction: DeviceToHost, Mode: Pageable, Device: src, Host: dst}, nil)
}

// DownloadPinned is Download to pinned memory.
func (r *Recorder) DownloadPinned(dst Pinned, src Buffer) error {
	return r.copyPinned(Copy{Direction: DeviceToHost, Mode: Staged, Device: src}, dst)
}

// DownloadAsync queues a copy from the start of src that fills dst on s. dst
// holds it once s has been synced.
func (r *Recorder) DownloadAsync(s Stream, dst Pinned, src Buffer) error {
	return r.copyPinned(Copy{Direction: DeviceToHost, Mode: Async, Stream: s, Device: src}, dst)
}

func (r *Recorder) copyPinned(c Copy, p Pinned) error {
	if p.block != nil && !p.block.freed {
		c.Host = p.Bytes()
	}
	return r.copy(c, p.block)
}

// copy checks and counts one copy. A copy of nothing is checked and dropped:
// drivers record no event for it.
func (r *Recorder) copy(c Copy, pinned *Block) error {
	if err := r.checkCopy(&c, pinned); err != nil {
		return fmt.Errorf("device: %s %d bytes, buffer of %d: %w", c.verb(), len(c.Host), c.Device.size, err)
	}
	if len(c.Host) == 0 {
		return nil
	}
	if err := r.dev.Copy(c); err != nil {
		return fmt.Errorf("device: %s %d bytes: %w", c.verb(), len(c.Host), err)
	}
	if c.Mode == Async {
		r.issued(c.Stream)
		r.holds(c.Device.block)
		r.holds(pinned)
	} else {
		r.pending[Default] = false
	}
	copies, bytes := UploadCopies, UploadBytes
	if c.Direction == DeviceToHost {
		copies, bytes = DownloadCopies, DownloadBytes
	}
	r.count(copies, 1)
	r.count(bytes, int64(len(c.Host)))
	if c.Mode == Pageable {
		r.count(PageableCopies, 1)
	}
	return nil
}

func (r *Recorder) checkCopy(c *Copy, pinned *Block) error {
	if err := c.Device.block.check(r.dev); err != nil {
		return err
	}
	if err := pinned.check(r.dev); err != nil {
		return err
	}
	if len(c.Host) > c.Device.size {
		return ErrRange
	}
	if c.Mode != Async {
		if r.capture != nil {
			return ErrCapturing
		}
		return nil
	}
	return r.checkStream(c.Stream)
}

func (c *Copy) verb() string {
	if c.Direction == HostToDevice {
		return "upload"
	}
	return "download"
}
