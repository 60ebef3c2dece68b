// Package cupti records what CUDA does in this process, whoever calls it: this
// project's own device, gorgonia.org/cu, a C library. It loads NVIDIA's CUPTI at
// run time (no cgo, no toolkit), and reads its activity records:
//
//  1. Open finds libcupti and registers for its buffers, once a process.
//  2. Library.Start waits for the device, enables the records and marks the
//     start of the window.
//  3. The program runs. CUPTI writes records into buffers of ours, and hands
//     them back on threads of its own; they are only put aside.
//  4. Session.Stop marks the end of the window, waits for the device, collects
//     the buffers and reads them: a Trace has the calls that the host made and
//     the operations that the device ran, joined.
//  5. Trace.Count is their numbers, with the meaning of device.Counters.
//
// CUPTI belongs to the process, so one session runs at a time. Recording costs
// a launch one to two microseconds; where no session runs it costs nothing.
package cupti

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Library is a loaded CUPTI.
type Library struct {
	fn      *functions
	path    string
	version uint32
	pool    *pool
	mu      sync.Mutex // held by a session
	checked bool       // the layout of records was seen to be right
}

// attached is the session that runs now, or nil: one a process, as CUPTI is.
var attached atomic.Pointer[Session]

// opened is the process's CUPTI. It is never unloaded: its threads may still
// run in it.
var opened = sync.OnceValues(func() (*Library, error) {
	fn, path, err := load(candidates())
	if err != nil {
		return nil, err
	}
	return newLibrary(fn, path)
})

// Open loads CUPTI, the first time it is called. Where there is none, the error
// says in one line what was tried.
func Open() (*Library, error) { return opened() }

// Versions of CUPTI, as cuptiGetVersion tells them.
const (
	oldest = 14     // CUDA 11.1, the first whose kernel records name their graph
	newest = 139999 // CUDA 13, the last whose records were looked at
)

// toolkits are the versions of CUDA by those of CUPTI, before they were made
// alike.
var toolkits = map[uint32]string{
	14: "11.1", 15: "11.2", 16: "11.5", 17: "11.6", 18: "11.8", 19: "12.0", 20: "12.2", 21: "12.3", 22: "12.4",
	23: "12.5", 24: "12.6", 26: "12.8", 27: "12.9", 28: "12.9",
}

func newLibrary(fn *functions, path string) (*Library, error) {
	l := &Library{fn: fn, path: path, pool: newPool(fn.alloc, fn.free)}
	if r := fn.version(&l.version); r != 0 {
		return nil, l.fail(r, "cuptiGetVersion")
	}
	if l.version < oldest {
		return nil, fmt.Errorf("cupti: %s is version %d, of before CUDA 11.1: too old; name a newer one in %s", path, l.version, pathVariable)
	}
	if r := fn.register(l.pool.requested, l.pool.completed); r != 0 {
		return nil, l.fail(r, "cuptiActivityRegisterCallbacks")
	}
	return l, nil
}

// String is the library's version and where it was found.
func (l *Library) String() string {
	v := toolkits[l.version]
	if l.version >= 100000 {
		v = fmt.Sprintf("%d.%d", l.version/10000, l.version/100%100)
	}
	if v == "" {
		return fmt.Sprintf("CUPTI version %d (%s)", l.version, l.path)
	}
	return fmt.Sprintf("CUPTI of CUDA %s (%s)", v, l.path)
}

// Error is a call to CUPTI that failed.
type Error struct {
	Call string
	Code int    // the CUptiResult
	Name string // CUPTI's name for it
}

func (e *Error) Error() string {
	s := fmt.Sprintf("cupti: %s: %s (%d)", e.Call, e.Name, e.Code)
	if advice, ok := advices[e.Name]; ok {
		s += ": " + advice
	}
	return s
}

// advices says what may help, by CUPTI's names for what went wrong.
var advices = map[string]string{
	"CUPTI_ERROR_NOT_INITIALIZED":                      "there is no card, or the driver is not one for this CUPTI: name another in " + pathVariable,
	"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED":   "another profiler is attached to this process; run without it",
	"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES":              "the driver lets only an administrator profile",
	"CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED":     "this virtual card cannot be profiled",
	"CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED": "a card in confidential mode cannot be profiled",
}

func (l *Library) fail(r result, format string, args ...any) *Error {
	name := l.fn.resultString(r)
	if name == "" {
		name = "CUPTI error"
	}
	return &Error{Call: fmt.Sprintf(format, args...), Code: int(r), Name: name}
}

// Session is a recording that runs. It ends with Stop.
type Session struct {
	lib   *Library
	kinds []activity
	clock clock
	began uint64 // on CUPTI's clock
}

// Option says what a session records besides calls, kernels, copies and memsets.
type Option func(*Session)

// Markers records NVTX ranges too, where CUPTI is NVTX's injection library.
func Markers(s *Session) { s.kinds = append(s.kinds, kindMarker) }

// Start begins to record. It waits for what the device still does: that is not
// part of the recording.
func (l *Library) Start(options ...Option) (*Session, error) {
	if !l.mu.TryLock() {
		return nil, errors.New("cupti: a session runs already; one runs at a time in a process")
	}
	s := &Session{lib: l, kinds: append([]activity(nil), kinds...)}
	for _, o := range options {
		o(s)
	}
	if err := s.start(); err != nil {
		s.disable()
		l.mu.Unlock()
		return nil, err
	}
	attached.Store(s)
	return s, nil
}

// Elapsed is the time on the clock that Trace.At converts to.
func (s *Session) Elapsed() time.Duration { return time.Since(s.clock.host) }

func (s *Session) start() error {
	l := s.lib
	if err := l.fn.wait(); err != nil {
		return fmt.Errorf("cupti: wait for the device before recording: %w", err)
	}
	for _, k := range s.kinds {
		if r := l.fn.enable(k); r != 0 {
			return l.fail(r, "cuptiActivityEnable(%s)", k)
		}
	}
	if err := l.check(); err != nil {
		return err
	}
	if err := l.flush(); err != nil {
		return err
	}
	l.pool.giveBack(l.pool.take()) // of before the window
	var err error
	if s.clock, err = l.readClock(time.Now()); err != nil {
		return err
	}
	s.began = s.clock.stamp
	return nil
}

// disable stops CUPTI from recording.
func (s *Session) disable() error {
	var first error
	for _, k := range s.kinds {
		if r := s.lib.fn.disable(k); r != 0 && first == nil {
			first = s.lib.fail(r, "cuptiActivityDisable(%s)", k)
		}
	}
	return first
}

// Stop ends recording and reads what was recorded. It waits for work that is
// still queued: in this thread's context, and in the primary one of every
// device. Work queued elsewhere must have been waited for.
func (s *Session) Stop() (*Trace, error) {
	if !attached.CompareAndSwap(s, nil) {
		return nil, errors.New("cupti: the session has been stopped already")
	}
	l := s.lib
	defer l.mu.Unlock()
	end, err := l.readClock(s.clock.host)
	waitErr := l.fn.wait()
	flushErr := l.flush()
	err = errors.Join(err, waitErr, flushErr, s.disable())
	full := l.pool.take()
	if err != nil {
		l.pool.giveBack(full)
		return nil, err
	}
	t := &Trace{lib: l, began: s.began, ended: end.stamp, clock: span{s.clock, end}, names: map[uintptr]string{}}
	err = l.read(full, t)
	l.pool.giveBack(full)
	if err != nil {
		return nil, err
	}
	return t, t.finish()
}

// flush has CUPTI hand back its buffers: those whose records are complete,
// then the rest.
func (l *Library) flush() error {
	for _, force := range []uint32{0, flushForced} {
		if r := l.fn.flush(force); r != 0 {
			return l.fail(r, "cuptiActivityFlushAll(%d)", force)
		}
	}
	return nil
}

// activity is a CUpti_ActivityKind.
type activity uint32

const (
	kindCopy     activity = 1
	kindMemset   activity = 2
	kindKernel   activity = 3
	kindDriver   activity = 4
	kindRuntime  activity = 5
	kindKernels  activity = 10 // kernels that may run side by side
	kindMarker   activity = 12
	kindPeerCopy activity = 22
	kindExternal activity = 39
)

// kinds is what every session records. External correlation comes before the
// calls it marks. Calls tell of waits and allocations: CUPTI's own records for
// those leave some out, by version.
var kinds = []activity{kindExternal, kindDriver, kindRuntime, kindKernels, kindCopy, kindPeerCopy, kindMemset}

var kindNames = map[activity]string{
	kindCopy: "MEMCPY", kindMemset: "MEMSET", kindDriver: "DRIVER", kindRuntime: "RUNTIME", kindKernel: "KERNEL",
	kindKernels: "CONCURRENT_KERNEL", kindMarker: "MARKER", kindPeerCopy: "MEMCPY2", kindExternal: "EXTERNAL_CORRELATION",
}

func (k activity) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

// The external correlation kinds that are used here, of the three that CUPTI
// leaves to its users.
const (
	externalImplied = 3 // CUSTOM0: calls that are part of another
	externalCall    = 4 // CUSTOM1: the caller's own ids
)

// BeginImplied says that the driver calls that this thread makes until
// EndImplied are part of a larger one, such as the wait in a blocking copy, and
// count for nothing by themselves. The goroutine must keep its thread between
// the two. Where no session runs it costs one load, and gives nil.
func BeginImplied() *Session {
	s := attached.Load()
	if s != nil {
		s.lib.fn.push(externalImplied, 1)
	}
	return s
}

// EndImplied ends what BeginImplied began, also where the session has ended
// since.
func (s *Session) EndImplied() {
	if s != nil {
		s.lib.fn.pop(externalImplied)
	}
}

// Push says that the driver calls that this thread makes until Pop belong to
// id: Op.External and Call.External. The goroutine must keep its thread.
func (s *Session) Push(id uint64) error {
	if r := s.lib.fn.push(externalCall, id); r != 0 {
		return s.lib.fail(r, "cuptiActivityPushExternalCorrelationId(%d)", id)
	}
	return nil
}

// Pop ends the last Push of this thread.
func (s *Session) Pop() error {
	if r := s.lib.fn.pop(externalCall); r != 0 {
		return s.lib.fail(r, "cuptiActivityPopExternalCorrelationId")
	}
	return nil
}
