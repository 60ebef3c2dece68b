package model

import (
	"fmt"
	"strings"
	"sync"

	"gputax/device"
	"gputax/device/host/f32"
)

// signature is buffers, then ints, then floats; each argument lists names.
func signature(buffers, ints, floats string) []device.Param {
	var p []device.Param
	for kind, names := range []string{buffers, ints, floats} {
		for _, name := range strings.Fields(names) {
			p = append(p, device.Param{Name: name, Kind: device.Kind(kind)})
		}
	}
	return p
}

// needs refuses a negative int, and a buffer i of fewer than sizes[i] elements
// of four bytes.
func needs(a device.Args, sizes ...int) error {
	for i := range a {
		if a.Kind(i) == device.KindInt && a.Int(i) < 0 {
			return fmt.Errorf("argument %d is %d: %w", i, a.Int(i), device.ErrArguments)
		}
	}
	for i, n := range sizes {
		if err := a.Need(i, n); err != nil {
			return err
		}
	}
	return nil
}

// words is the number of elements of four bytes that hold n bytes.
func words(n int) int { return (n + 3) / 4 }

// span is the length of a matrix of rows of width elements, ld apart.
func span(rows, width, ld int) int {
	if rows == 0 || width == 0 {
		return 0
	}
	return (rows-1)*ld + width
}

// traffic is work of so many flops that reads and writes so many elements of
// four bytes.
func traffic(flops, read, written int) device.Work {
	return device.Work{Flops: int64(flops), ReadBytes: 4 * int64(read), WriteBytes: 4 * int64(written)}
}

// parallel equals f(a, 0, n), in parts of at most grain on several threads. f
// must not care about the parts.
func parallel(n, grain int, a device.Args, f func(a device.Args, lo, hi int)) {
	j := jobs.get()
	j.args, j.f = a, f
	f32.For(n, grain, j)
	j.args, j.f = nil, nil
	jobs.put(j)
}

// job is a kernel's loop as f32.For wants it.
type job struct {
	args device.Args
	f    func(a device.Args, lo, hi int)
}

// Range implements f32.Body.
func (j *job) Range(lo, hi int) { j.f(j.args, lo, hi) }

// jobs keeps used jobs, so that kernels do not allocate.
var jobs jobList

type jobList struct {
	mu   sync.Mutex
	free []*job
}

func (l *jobList) get() *job {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		j := l.free[n-1]
		l.free = l.free[:n-1]
		return j
	}
	return new(job)
}

func (l *jobList) put(j *job) {
	l.mu.Lock()
	l.free = append(l.free, j)
	l.mu.Unlock()
}
