package bench

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"gputax/device"
)

// seen is an Observer that makes numbers up.
type seen struct {
	counters []device.Counters // of each op observed
	err      error
	observed bool // while an op is
	n        int
}

func (s *seen) Count(op func() error) (device.Counters, []error, error) {
	if s.err != nil {
		return device.Counters{}, nil, s.err
	}
	s.observed = true
	err := op()
	s.observed = false
	s.n++
	return s.counters[s.n-1], nil, err
}

func (s *seen) Sees(c device.Counter) bool { return c != device.MappedBytes }

// quick makes benchmarks in a test short.
func quick(t *testing.T) {
	t.Helper()
	f := flag.Lookup("test.benchtime")
	before := f.Value.String()
	if err := f.Value.Set("3x"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Value.Set(before) })
}

func TestObserve(t *testing.T) {
	quick(t)
	var one device.Counters
	one[device.Launches], one[device.UploadBytes], one[device.MappedBytes] = 3, 484, 77
	o := &seen{counters: []device.Counters{one, one}}
	plain, observed := 0, 0
	r := testing.Benchmark(func(b *testing.B) {
		Observe(b, o, func() error {
			if o.observed {
				observed++
			} else {
				plain++
			}
			return nil
		})
	})
	if observed != 2 || plain != r.N+1 {
		t.Errorf("%d ops observed, %d not; want 2, and the %d timed with a warm-up", observed, plain, r.N)
	}
	if r.Extra["launches/op"] != 3 || r.Extra["h2d-B/op"] != 484 {
		t.Errorf("metrics %v", r.Extra)
	}
	if v, ok := r.Extra["syncs/op"]; !ok || v != 0 {
		t.Errorf("a counter that is 0 is not reported: %v", r.Extra)
	}
	if _, ok := r.Extra["mapped-B/op"]; ok {
		t.Errorf("a counter that is not seen is reported: %v", r.Extra)
	}
	if r.NsPerOp() < 0 || r.N < 1 {
		t.Errorf("no time: %v", r)
	}
}

func TestObserveFails(t *testing.T) {
	quick(t)
	if r := testing.Benchmark(func(b *testing.B) {
		Observe(b, &seen{err: errors.New("no CUPTI")}, func() error { return nil })
	}); r.N != 0 || len(r.Extra) > 0 {
		t.Errorf("a benchmark that could not be observed has a result: %v", strings.TrimSpace(r.String()))
	}
}
