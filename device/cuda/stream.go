package cuda

import "gputax/device"

// noStream is none of the device's streams.
const noStream device.Stream = -1

// NewStream implements device.Device. No stream, the Default one included, is
// the driver's own stream 0: that one cannot be captured, and waits for others.
func (d *Device) NewStream() (device.Stream, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer leave()
	var s uintptr
	if r := d.drv.streamCreate(&s, streamNonBlocking); r != 0 {
		return 0, d.drv.fail(r, "cuStreamCreate")
	}
	d.streams = append(d.streams, s)
	return device.Stream(len(d.streams) - 1), nil
}

// NewEvent implements device.Device. Events that take no time are the cheaper
// ones to wait for.
func (d *Device) NewEvent() (device.Event, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer leave()
	var e uintptr
	if r := d.drv.eventCreate(&e, eventDisableTiming); r != 0 {
		return 0, d.drv.fail(r, "cuEventCreate")
	}
	d.events = append(d.events, e)
	return device.Event(len(d.events) - 1), nil
}

// Record implements device.Device.
func (d *Device) Record(e device.Event, s device.Stream) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer leave()
	if r := d.drv.eventRecord(d.events[e], d.streams[s]); r != 0 {
		return d.drv.fail(r, "cuEventRecord(event %d, stream %d)", e, s)
	}
	return nil
}

// Wait implements device.Device.
func (d *Device) Wait(s device.Stream, e device.Event) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer leave()
	if r := d.drv.streamWaitEvent(d.streams[s], d.events[e], 0); r != 0 {
		return d.drv.fail(r, "cuStreamWaitEvent(stream %d, event %d)", s, e)
	}
	return nil
}

// Sync implements device.Device. An error here may be of any work since the
// last wait.
func (d *Device) Sync(s device.Stream) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer leave()
	var r result
	if d.draining {
		r = d.settle(d.streams[s])
	} else {
		r = d.drv.streamSynchronize(d.streams[s])
	}
	if r != 0 {
		return d.drv.fail(r, "cuStreamSynchronize(stream %d)", s)
	}
	return nil
}
