package cuda

import (
	"gputax/device"
	"gputax/device/cuda/cupti"
)

var _ device.Watcher = (*Device)(nil)

// EnterPhase implements device.Watcher: phases are NVTX ranges, where a tool
// listens to those.
func (d *Device) EnterPhase(name string) {
	if d.ranges != nil {
		d.ranges.enter(name)
	}
}

// EnterStep implements device.Watcher.
func (d *Device) EnterStep(int) {}

// Padded implements device.Watcher.
func (d *Device) Padded(int64, int64) {}

// Draining implements device.Watcher.
func (d *Device) Draining(on bool) { d.draining = on }

// settle waits for stream as a part of another call, or of none: whoever
// observes the driver does not count it as a wait. The caller has entered.
func (d *Device) settle(stream uintptr) result {
	part := cupti.BeginImplied()
	r := d.drv.streamSynchronize(stream)
	part.EndImplied()
	return r
}
