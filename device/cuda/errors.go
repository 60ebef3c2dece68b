package cuda

import (
	"fmt"

	"gputax/device"
)

// Error is a call to the driver that failed.
type Error struct {
	Call string // with the sizes it was given: cuMemAlloc(4096 bytes)
	Code int    // the CUresult
	Name string // CUDA's name for it
	Text string // and its message
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%d): %s", e.Call, e.Name, e.Code, e.Text)
	if e.Sticky() {
		s += "; every later CUDA call of this process fails the same way: restart it"
	}
	return s
}

// Sticky says that the error has broken the process's CUDA context, as a
// kernel does that touches memory it does not have.
func (e *Error) Sticky() bool {
	switch e.Code {
	case 214, // ECC_UNCORRECTABLE
		220, // NVLINK_UNCORRECTABLE
		700, // ILLEGAL_ADDRESS
		702, // LAUNCH_TIMEOUT
		710, // ASSERT
		714, // HARDWARE_STACK_ERROR
		715, // ILLEGAL_INSTRUCTION
		716, // MISALIGNED_ADDRESS
		717, // INVALID_ADDRESS_SPACE
		718, // INVALID_PC
		719: // LAUNCH_FAILED
		return true
	}
	return false
}

// fail is the error for a result other than 0 of the call that format and args
// describe.
func (d *driver) fail(r result, format string, args ...any) *Error {
	e := &Error{Call: fmt.Sprintf(format, args...), Code: int(r), Name: d.errorName(r), Text: d.errorString(r)}
	if e.Name == "" {
		e.Name, e.Text = "CUDA error", "a code this driver has no name for"
	}
	return e
}

// outOfMemory is fail for an allocation on a context: where memory ran out it
// is device.ErrOutOfMemory, with what the card has left for all processes.
func (d *driver) outOfMemory(r result, format string, args ...any) error {
	err := d.fail(r, format, args...)
	if r != resultOutOfMemory {
		return err
	}
	var free, total uintptr
	if d.memGetInfo(&free, &total) != 0 {
		return fmt.Errorf("%w: %w", device.ErrOutOfMemory, err)
	}
	return fmt.Errorf("%w: %d of %d bytes free: %w", device.ErrOutOfMemory, free, total, err)
}
