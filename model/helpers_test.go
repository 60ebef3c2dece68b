package model

import (
	"math"
	"slices"
	"testing"

	"gputax/device"
	"gputax/device/host"
	"gputax/vrp"
)

// fixture is a model with parameters and a batch on a device.
type fixture struct {
	testing.TB
	*Model
	rec    *device.Recorder
	data   *vrp.Batch
	values []float32     // the parameters
	params device.Buffer // on the device
}

func newFixture(t testing.TB, dev device.Device, cfg Config, batch int, opt Options) *fixture {
	t.Helper()
	rec := device.NewRecorder(dev)
	m, err := New(rec, cfg, batch, opt)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{TB: t, Model: m, rec: rec}
	if f.data, err = vrp.Generate(batch, vrp.Size{Customers: cfg.Customers, Capacity: cfg.Capacity}, 7); err != nil {
		t.Fatal(err)
	}
	f.values = make([]float32, m.Layout().Size)
	m.Layout().Init(f.values, 3)
	if f.params, err = rec.Alloc(4 * len(f.values)); err != nil {
		t.Fatal(err)
	}
	f.upload(f.params, device.Bytes(f.values))
	f.upload(m.Coords, device.Bytes(f.data.Coords))
	f.upload(m.Demands, device.Bytes(demandsOf(f.data)))
	advantage := make([]float32, batch)
	for i := range advantage {
		advantage[i] = float32(math.Sin(float64(3*i + 1)))
	}
	f.upload(m.Advantage, device.Bytes(advantage))
	f.seed(5, 0)
	return f
}

// onHost is a fixture on the host.
func onHost(t testing.TB, cfg Config, batch int) *fixture {
	return newFixture(t, host.New(), cfg, batch, Options{})
}

// small is quick, and its sizes fit no vector length.
var small = Config{Customers: 5, Capacity: 12, Width: 12, Heads: 3, Layers: 2, Hidden: 20}

func demandsOf(b *vrp.Batch) []float32 {
	out := make([]float32, len(b.Demands))
	for i, d := range b.Demands {
		out[i] = float32(d) / float32(b.Capacity)
	}
	return out
}

func (f *fixture) upload(dst device.Buffer, src []byte) {
	f.Helper()
	f.must(f.rec.Upload(dst, src))
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// seed sets Control.
func (f *fixture) seed(seed, step int32) {
	f.Helper()
	f.upload(f.Control, device.Bytes([]int32{seed, 0, step, 0}))
}

func (f *fixture) floats(src device.Buffer) []float32 {
	f.Helper()
	dst := make([]float32, src.Size()/4)
	f.must(f.rec.Download(device.Bytes(dst), src))
	return dst
}

func (f *fixture) actions() []int32 {
	f.Helper()
	dst := make([]int32, f.Actions.Size()/4)
	f.must(f.rec.Download(device.Bytes(dst), f.Actions))
	return dst
}

// step is everything a training step asks of the model, except the baseline.
func (f *fixture) step() {
	f.Helper()
	f.must(f.Encode(f.params))
	f.must(f.Rollout(f.params, false))
	f.must(f.Evaluate(f.params))
	f.must(f.Backward(f.params))
}

// result is what step leaves, downloaded.
type result struct {
	actions        []int32
	logprob, grads []float32
}

func (f *fixture) result() result {
	f.Helper()
	return result{f.actions(), f.floats(f.LogProb), f.floats(f.Grads)}
}

// same refuses results that differ in any bit.
func (r result) same(t testing.TB, other result, what string) {
	t.Helper()
	if !slices.Equal(r.actions, other.actions) {
		t.Errorf("%s: other actions", what)
	}
	if !slices.Equal(device.Bytes(r.logprob), device.Bytes(other.logprob)) {
		t.Errorf("%s: other log-probabilities", what)
	}
	if !slices.Equal(device.Bytes(r.grads), device.Bytes(other.grads)) {
		t.Errorf("%s: other gradients", what)
	}
}
