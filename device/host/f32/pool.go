package f32

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Body is a loop body that For runs on parts of an index range, on several threads at once.
type Body interface {
	// Range does the iterations lo <= i < hi.
	Range(lo, hi int)
}

// For equals body.Range(0, n). It runs parts of at most grain iterations on up to GOMAXPROCS goroutines, of which the
// caller's own is one, and returns when all are done. It does not allocate, and a Body may itself call For.
func For(n, grain int, body Body) {
	grain = max(grain, 1)
	parts := (n + grain - 1) / grain
	helpers := min(runtime.GOMAXPROCS(0), parts) - 1
	if helpers <= 0 {
		if n > 0 {
			body.Range(0, n)
		}
		return
	}
	t := tasks.get()
	if t.done == nil {
		t.done = make(chan struct{}, 1)
	}
	t.body, t.n, t.grain = body, int64(n), int64(grain)
	t.next.Store(0)
	t.left.Store(int64(parts))
	t.refs.Store(1)
	workers.offer(t, helpers)
	t.work()
	for i := 0; i < spin && t.left.Load() > 0; i++ {
	}
	<-t.done
	t.release()
}

// spin is how often For looks at its counter before it blocks: a few microseconds, about what a wake-up costs.
const spin = 4000

// task is one For in progress. It goes back to the free list when neither For nor any worker holds it.
type task struct {
	body     Body
	n, grain int64
	next     atomic.Int64 // first index that nobody has taken
	left     atomic.Int64 // parts not finished
	refs     atomic.Int32
	done     chan struct{} // receives one value when left reaches zero
}

var tasks freeList[task]

// work takes parts until none is left.
func (t *task) work() {
	for {
		lo := t.next.Add(t.grain) - t.grain
		if lo >= t.n {
			return
		}
		t.body.Range(int(lo), int(min(lo+t.grain, t.n)))
		if t.left.Add(-1) == 0 {
			t.done <- struct{}{}
		}
	}
}

func (t *task) release() {
	if t.refs.Add(-1) == 0 {
		t.body = nil
		tasks.put(t)
	}
}

// crew is the set of worker goroutines. They live as long as the process and number at most the largest GOMAXPROCS
// seen, less one.
type crew struct {
	queue chan *task
	mu    sync.Mutex
	size  atomic.Int32
}

var workers = crew{queue: make(chan *task, 256)}

// offer asks up to n workers to help with t. It never blocks: work that no worker takes stays with the caller.
func (c *crew) offer(t *task, n int) {
	if int(c.size.Load()) < n {
		c.grow(n)
	}
	for range n {
		t.refs.Add(1)
		select {
		case c.queue <- t:
		default:
			t.refs.Add(-1)
			return
		}
	}
}

func (c *crew) grow(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for int(c.size.Load()) < n {
		c.size.Add(1)
		go func() {
			for t := range c.queue {
				t.work()
				t.release()
			}
		}()
	}
}

// freeList keeps used objects for the next call. Unlike sync.Pool it never drops one, so that calls stop allocating.
type freeList[T any] struct {
	mu    sync.Mutex
	items []*T
}

func (f *freeList[T]) get() *T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.items); n > 0 {
		x := f.items[n-1]
		f.items = f.items[:n-1]
		return x
	}
	return new(T)
}

func (f *freeList[T]) put(x *T) {
	f.mu.Lock()
	f.items = append(f.items, x)
	f.mu.Unlock()
}
