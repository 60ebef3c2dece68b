package f32

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// counter counts how often each index is visited; with inner, each visit runs a For of its own.
type counter struct {
	seen  []atomic.Int32
	inner bool
}

func (c *counter) Range(lo, hi int) {
	for i := lo; i < hi; i++ {
		c.seen[i].Add(1)
		if c.inner {
			in := &counter{seen: make([]atomic.Int32, 10)}
			For(10, 1, in)
			c.seen[i].Add(in.total() - 10)
		}
	}
}

func (c *counter) total() (n int32) {
	for i := range c.seen {
		n += c.seen[i].Load()
	}
	return n
}

func TestForVisitsEachIndexOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 5} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		for _, n := range []int{0, 1, 2, 7, 100} {
			for _, grain := range []int{-1, 1, 3, 1000} {
				for _, inner := range []bool{false, true} {
					c := &counter{seen: make([]atomic.Int32, n), inner: inner}
					For(n, grain, c)
					for i := range c.seen {
						if got := c.seen[i].Load(); got != 1 {
							t.Fatalf("%d threads, n=%d grain=%d: index %d visited %d times", threads, n, grain, i, got)
						}
					}
				}
			}
		}
	}
}

func TestForKeepsItsGoroutines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	run := func() {
		for range 200 {
			For(64, 1, &counter{seen: make([]atomic.Int32, 64)})
		}
	}
	run()
	before := runtime.NumGoroutine()
	run()
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines after, %d before", after, before)
	}
}

func TestThreadsDoNotAllocate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	mm := randomMatMul(newRand(1), TN, 130, 129, 600, 0)
	for range 50 {
		mm.Run()
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const calls = 100
	for range calls {
		mm.Run()
	}
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > calls/4 {
		t.Errorf("%d allocations in %d calls", n, calls)
	}
}

func TestCallsFromSeveralGoroutines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	mm := randomMatMul(newRand(2), NT, 150, 40, 70, 0)
	mm.Run()
	want := mm.C
	errs := make(chan int)
	for range 4 {
		go func(mm MatMul) {
			at := -1
			for range 20 {
				mm.C = make([]float32, len(want))
				mm.Run()
				at = max(at, differ(mm.C, want))
			}
			errs <- at
		}(mm)
	}
	for range 4 {
		if at := <-errs; at >= 0 {
			t.Errorf("a concurrent product differs at %d", at)
		}
	}
}
