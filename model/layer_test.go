package model

import (
	"errors"
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/host"
)

// wide32 is a model whose layers fit, in an odd size: the last part of the batch
// is not full.
var wide32 = Config{Customers: 6, Capacity: 20, Width: 32, Heads: 4, Layers: 2, Hidden: 64}

// Fused layers compute what the parts compute: the same bits forward, and the
// same gradients but for the order of a few sums.
func TestFusedLayers(t *testing.T) {
	for _, cfg := range []Config{Tiny(), wide32} {
		parts := newFixture(t, host.New(), cfg, 9, Options{})
		fused := newFixture(t, host.New(), cfg, 9, Options{Layers: LayersFused})
		if fused.whole == nil {
			t.Fatalf("%+v does not fit", cfg)
		}
		for _, f := range []*fixture{parts, fused} {
			f.step()
		}
		if got, want := fused.actions(), parts.actions(); string(device.Bytes(got)) != string(device.Bytes(want)) {
			t.Errorf("%+v: the routes differ", cfg)
		}
		if off := apart(fused.floats(fused.LogProb), parts.floats(parts.LogProb)); off != 0 {
			t.Errorf("%+v: the log-probabilities are off by %.2g", cfg, off)
		}
		if off := apart(fused.floats(fused.Grads), parts.floats(parts.Grads)); !(off <= 1e-6) {
			t.Errorf("%+v: the gradient is off by %.2g", cfg, off)
		}
		fused.everyGradient(parts, "fused", 1e-5)
		got, want := fused.rec.Counters()[device.Launches], parts.rec.Counters()[device.Launches]-int64(cfg.Layers)*(6+12)
		if got != want {
			t.Errorf("%+v: %d launches, want %d", cfg, got, want)
		}
	}
}

// narrow is a device with as little shared memory as many cards have.
type narrow struct{ device.Device }

func (narrow) SharedMemory() int { return 99 << 10 }

// Layers that do not fit run in parts.
func TestLayersThatDoNotFit(t *testing.T) {
	for _, cfg := range []Config{small, {Customers: 32, Capacity: 40, Width: 128, Heads: 8, Layers: 1, Hidden: 512},
		{Customers: 10, Capacity: 20, Width: 160, Heads: 8, Layers: 1, Hidden: 512}} {
		f := newFixture(t, host.New(), cfg, 3, Options{Layers: LayersFused})
		if f.whole != nil {
			t.Errorf("%+v fits", cfg)
		}
		f.step()
	}
	f := newFixture(t, narrow{host.New()}, Tiny(), 3, Options{Layers: LayersFused})
	if f.whole != nil {
		t.Error("the reference workload's layers fit a device with 99 KiB of shared memory")
	}
	far := Config{Customers: 100, Capacity: 50, Width: 128, Heads: 8, Layers: 1, Hidden: 512}
	if _, err := New(device.NewRecorder(narrow{host.New()}), far, 1, Options{Rollout: RolloutFused}); err == nil || !strings.Contains(err.Error(), "shared memory") {
		t.Errorf("a fused rollout that such a device has no room for: %v", err)
	}
	if s := (layerSize{128, 11, 128, 8, 512}); !s.fits() || s.dims().X != 128 {
		t.Errorf("the reference workload's layers fit: %v, in %d blocks", s.fits(), s.dims().X)
	}
}

// What does not fit is refused before any device sees it.
func TestLayerSizes(t *testing.T) {
	for _, s := range []layerSize{{1, 0, 32, 1, 32}, {1, 33, 32, 1, 32}, {1, 2, 31, 1, 32}, {1, 2, 32, 5, 32}, {1, 2, 32, 0, 32}, {1, 2, 32, 1, 33},
		{1, 2, 32, 1, 0}, {1, 2, 32, 1, 544}, {1, 2, 160, 1, 32}, {1, 32, 32, 32, 32}} {
		if s.fits() || s.needs(nil) == nil {
			t.Errorf("%+v fits", s)
		}
	}
	f := newFixture(t, host.New(), wide32, 3, Options{Layers: LayersFused})
	odd, err := f.rec.Alloc(4 + 4*f.Layout().Size)
	f.must(err)
	if err := f.Encode(odd.Slice(4, 4*f.Layout().Size)); !errors.Is(err, device.ErrArguments) {
		t.Errorf("parameters that cannot be read four at a time: %v", err)
	}
}
