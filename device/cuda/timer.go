package cuda

import (
	"time"

	"gputax/device"
)

var _ device.Timer = (*Device)(nil)

// StartTimer implements device.Timer.
func (d *Device) StartTimer() error {
	if err := d.enter(); err != nil {
		return err
	}
	defer leave()
	for i := range d.timing {
		if d.timing[i] != 0 {
			continue
		}
		if r := d.drv.eventCreate(&d.timing[i], 0); r != 0 {
			return d.drv.fail(r, "cuEventCreate")
		}
	}
	if r := d.drv.eventRecord(d.timing[0], d.streams[device.Default]); r != 0 {
		return d.drv.fail(r, "cuEventRecord")
	}
	return nil
}

// StopTimer implements device.Timer.
func (d *Device) StopTimer() (time.Duration, error) {
	if err := d.enter(); err != nil {
		return 0, err
	}
	defer leave()
	if r := d.drv.eventRecord(d.timing[1], d.streams[device.Default]); r != 0 {
		return 0, d.drv.fail(r, "cuEventRecord")
	}
	if r := d.drv.eventSynchronize(d.timing[1]); r != 0 {
		return 0, d.drv.fail(r, "cuEventSynchronize")
	}
	var ms float32
	if r := d.drv.eventElapsedTime(&ms, d.timing[0], d.timing[1]); r != 0 {
		return 0, d.drv.fail(r, "cuEventElapsedTime")
	}
	return time.Duration(float64(ms) * 1e6), nil
}
