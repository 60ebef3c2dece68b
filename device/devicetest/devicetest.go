// Package devicetest is the conformance suite of the device seam. A backend's
// test is one call:
//
//	func TestConformance(t *testing.T) {
//		devicetest.Run(t, func(t *testing.T) device.Device { return host.New() })
//	}
package devicetest

import (
	"errors"
	"testing"

	"gputax/device"
)

// Opener opens a fresh device for one test; Run closes it.
type Opener func(t *testing.T) device.Device

// Run holds a backend to everything the seam promises.
func Run(t *testing.T, open Opener) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, r *device.Recorder)
	}{
		{"Identity", testIdentity},
		{"AllocZeroed", testAllocZeroed},
		{"AllocZeroSize", testAllocZeroSize},
		{"AllocNegative", testAllocNegative},
		{"OutOfMemory", testOutOfMemory},
		{"MemoryReturns", testMemoryReturns},
		{"UseAfterFree", testUseAfterFree},
		{"CopyModes", testCopyModes},
		{"PinnedInKernels", testPinnedInKernels},
		{"CopyParts", testCopyParts},
		{"CopyOutOfRange", testCopyOutOfRange},
		{"CopyNothing", testCopyNothing},
		{"LaunchOrder", testLaunchOrder},
		{"LaunchScalars", testLaunchScalars},
		{"WrongArguments", testWrongArguments},
		{"Asynchrony", testAsynchrony},
		{"Streams", testStreams},
		{"Events", testEvents},
		{"NoSuchStream", testNoSuchStream},
		{"GraphEqualsEager", testGraphEqualsEager},
		{"GraphCopies", testGraphCopies},
		{"GraphDoesNotRunAtCapture", testGraphDoesNotRun},
		{"GraphRefusals", testGraphRefusals},
		{"GraphUseAfterFree", testGraphUseAfterFree},
		{"Counters", testCounters},
		{"Phases", testPhases},
		{"ClockAdvances", testClockAdvances},
	} {
		t.Run(c.name, func(t *testing.T) {
			dev := open(t)
			defer func() {
				if err := dev.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			c.test(t, device.NewRecorder(dev))
		})
	}
	t.Run("ForeignBuffer", func(t *testing.T) { testForeignBuffer(t, open(t), open(t)) })
}

// ok ends the test on an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused fails the test unless err is want.
func refused(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want one that is %q", what, err, want)
	}
}

// upload makes a buffer that holds data.
func upload[T device.Element](t *testing.T, r *device.Recorder, data []T) device.Buffer {
	t.Helper()
	b, err := r.Alloc(len(device.Bytes(data)))
	ok(t, err)
	ok(t, r.Upload(b, device.Bytes(data)))
	return b
}

// holds fails the test unless b holds exactly want.
func holds[T device.Element](t *testing.T, r *device.Recorder, what string, b device.Buffer, want []T) {
	t.Helper()
	got := make([]T, len(want))
	ok(t, r.Download(device.Bytes(got), b))
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// ramp is n different numbers.
func ramp(n int, from float32) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = from + float32(i)
	}
	return s
}
