package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"gputax/device"
)

// Count is how many CUDA devices this machine has. Where it has none the error
// says why, in one line.
func Count() (int, error) {
	d, err := load(libraryName)
	if err != nil {
		return 0, err
	}
	return d.count()
}

// Why is why there is no CUDA device here, in one line; nil where there is one.
func Why() error {
	_, err := Count()
	return err
}

// List describes every device, cuda:0 first, as Describe does. It opens none,
// so it costs no device memory.
func List() ([]string, error) {
	d, err := load(libraryName)
	if err != nil {
		return nil, err
	}
	return d.list()
}

// Open opens device cuda:ordinal. It takes a part of a second and some hundred
// megabytes of the card, both for its context; devices of the same ordinal
// share one.
func Open(ordinal int) (*Device, error) {
	d, err := load(libraryName)
	if err != nil {
		return nil, fmt.Errorf("device: \"cuda:%d\": %w", ordinal, err)
	}
	return d.open(ordinal)
}

// count starts the driver, which it may be any number of times, and counts its
// devices.
func (d *driver) count() (int, error) {
	var n int32
	r := d.init(0)
	if r != 0 && r != resultNoDevice {
		return 0, fmt.Errorf("the CUDA driver does not start: %w", d.fail(r, "cuInit"))
	}
	if r == 0 {
		if r := d.deviceGetCount(&n); r != 0 {
			return 0, d.fail(r, "cuDeviceGetCount")
		}
	}
	if n == 0 {
		return 0, errors.New("the CUDA driver finds no NVIDIA GPU (CUDA_VISIBLE_DEVICES can hide one)")
	}
	return int(n), nil
}

func (d *driver) list() ([]string, error) {
	n, err := d.count()
	if err != nil {
		return nil, err
	}
	all := make([]string, n)
	for i := range all {
		var handle int32
		if r := d.deviceGet(&handle, int32(i)); r != 0 {
			return nil, d.fail(r, "cuDeviceGet(%d)", i)
		}
		if all[i], err = d.describe(handle); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// describe is a device's name, compute capability and memory, and the driver's
// version.
func (d *driver) describe(handle int32) (string, error) {
	name := make([]byte, 256)
	if r := d.deviceGetName(name, handle); r != 0 {
		return "", d.fail(r, "cuDeviceGetName(%d)", handle)
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	var major, minor, version int32
	if r := d.deviceGetAttribute(&major, attributeMajor, handle); r != 0 {
		return "", d.fail(r, "cuDeviceGetAttribute(%d)", attributeMajor)
	}
	if r := d.deviceGetAttribute(&minor, attributeMinor, handle); r != 0 {
		return "", d.fail(r, "cuDeviceGetAttribute(%d)", attributeMinor)
	}
	if r := d.driverGetVersion(&version); r != 0 {
		return "", d.fail(r, "cuDriverGetVersion")
	}
	var total uintptr
	if r := d.deviceTotalMem(&total, handle); r != 0 {
		return "", d.fail(r, "cuDeviceTotalMem(%d)", handle)
	}
	return fmt.Sprintf("%s, compute capability %d.%d, %.1f GiB, driver for CUDA %d.%d",
		name, major, minor, float64(total)/(1<<30), version/1000, version%1000/10), nil
}

// open is Open on this driver.
func (d *driver) open(ordinal int) (*Device, error) {
	dev := &Device{
		drv:       d,
		name:      fmt.Sprintf("cuda:%d", ordinal),
		start:     time.Now(),
		blocks:    map[*device.Block]struct{}{},
		modules:   map[*device.Module]uintptr{},
		functions: map[*device.Kernel]*function{},
		graphs:    map[*graph]struct{}{},
		capturing: noStream,
		ranges:    newRanges(listening()),
	}
	if err := dev.setup(ordinal); err != nil {
		dev.Close() // what there is of it; err is why there is no more
		return nil, fmt.Errorf("device: %q: %w", dev.name, err)
	}
	return dev, nil
}

// setup makes dev's context and its first streams.
func (dev *Device) setup(ordinal int) error {
	d := dev.drv
	n, err := d.count()
	if err != nil {
		return err
	}
	if ordinal < 0 || ordinal >= n {
		last := ""
		if n > 1 {
			last = fmt.Sprintf(" to cuda:%d", n-1)
		}
		return fmt.Errorf("no such device; this machine has %d (cuda:0%s)", n, last)
	}
	if r := d.deviceGet(&dev.handle, int32(ordinal)); r != 0 {
		return d.fail(r, "cuDeviceGet(%d)", ordinal)
	}
	if dev.about, err = d.describe(dev.handle); err != nil {
		return err
	}
	var shared int32
	if r := d.deviceGetAttribute(&shared, attributeShared, dev.handle); r != 0 {
		return d.fail(r, "cuDeviceGetAttribute(%d)", attributeShared)
	}
	dev.shared = int(shared)
	if r := d.primaryCtxRetain(&dev.ctx, dev.handle); r != 0 {
		dev.ctx = 0
		return d.fail(r, "cuDevicePrimaryCtxRetain(%d)", ordinal)
	}
	if _, err := dev.NewStream(); err != nil { // the Default stream
		return err
	}
	if err := dev.enter(); err != nil {
		return err
	}
	defer leave()
	if r := d.streamCreate(&dev.zeroing, streamNonBlocking); r != 0 {
		dev.zeroing = 0
		return d.fail(r, "cuStreamCreate")
	}
	var free, total uintptr
	if r := d.memGetInfo(&free, &total); r != 0 {
		return d.fail(r, "cuMemGetInfo")
	}
	dev.total, dev.free = int64(total), int64(free)
	return nil
}
