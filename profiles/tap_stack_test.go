package profiles

import (
	"runtime"
	"slices"
	"sync"
	"testing"
)

// dive calls f below n frames of its own, so that the stack must grow.
//
//go:noinline
func dive(n int, f func()) int {
	var frame [200]byte
	frame[n%len(frame)] = byte(n)
	if n == 0 {
		f()
		return int(frame[0])
	}
	return dive(n-1, f) + int(frame[n%len(frame)])
}

// The frames are those that the runtime finds, however deep the stack is and
// while it grows, is moved and is scanned by the collector.
func TestFramePCs(t *testing.T) {
	const compared = 8 // all of them dive's
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 300 {
				dive(compared+(g*37+i)%400, func() {
					if i%50 == 0 {
						runtime.GC()
					}
					var got [maxFrames]uintptr
					framePCs(&got)
					want := make([]uintptr, compared)
					runtime.Callers(2, want)
					if !slices.Equal(got[:compared], want) {
						t.Errorf("frames %x, want %x", got[:compared], want)
					}
				})
			}
		})
	}
	wait.Wait()
	done := make(chan [maxFrames]uintptr)
	go func() { // a stack of two frames: nothing is read beyond it
		var got [maxFrames]uintptr
		framePCs(&got)
		done <- got
	}()
	if got := <-done; got[len(got)-1] != 0 {
		t.Errorf("frames of a new goroutine: %x", got)
	}
}
