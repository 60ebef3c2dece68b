package model

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/host"
)

func TestConfigValidate(t *testing.T) {
	if err := Tiny().Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Customers = 0 }, "0 customers"},
		{func(c *Config) { c.Capacity = 8 }, "capacity 8"},
		{func(c *Config) { c.Width = 0 }, "width 0"},
		{func(c *Config) { c.Heads = -1 }, "heads -1"},
		{func(c *Config) { c.Heads = 7 }, "width 128 is not divided by 7 heads"},
		{func(c *Config) { c.Layers = 0 }, "layers 0"},
		{func(c *Config) { c.Hidden = 0 }, "hidden 0"},
		{func(c *Config) { c.Hidden = 1 << 20 }, "at most"},
	} {
		cfg := Tiny()
		c.change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", cfg, err, c.want)
		}
	}
}

// Views are aligned, apart from each other, and cover all but the gaps.
func TestLayout(t *testing.T) {
	for _, cfg := range []Config{Tiny(), small} {
		l := NewLayout(cfg)
		if want := 4 + 10*cfg.Layers + 4; len(l.Params) != want {
			t.Errorf("%d parameters, want %d", len(l.Params), want)
		}
		end, total := 0, 0
		for _, p := range l.Params {
			size := 1
			for _, n := range p.Shape {
				size *= n
			}
			if p.Offset%align != 0 || p.Offset < end || p.Offset >= end+align || p.Size != size {
				t.Errorf("%+v lies badly behind %d", p, end)
			}
			end = p.Offset + p.Size
			total += p.Size
			if again, err := l.Named(p.Name); err != nil || again.Offset != p.Offset {
				t.Errorf("named %s: %+v, %v", p.Name, again, err)
			}
		}
		d, f := cfg.Width, cfg.Hidden
		if want := 7*d + cfg.Layers*(4*d*d+2*d*f+f+5*d) + 6*d*d + d; total != want {
			t.Errorf("%d elements, want %d", total, want)
		}
		if l.Size < end || l.Size >= end+align {
			t.Errorf("size %d, the last view ends at %d", l.Size, end)
		}
	}
	if _, err := NewLayout(small).Named("nobody"); err == nil {
		t.Error("a parameter that is not there was found")
	}
}

func TestInit(t *testing.T) {
	l := NewLayout(Tiny())
	x, y := make([]float32, l.Size), make([]float32, l.Size)
	l.Init(x, 1)
	l.Init(y, 1)
	if !slices.Equal(x, y) {
		t.Error("the same seed gave other parameters")
	}
	l.Init(y, 2)
	if slices.Equal(x, y) {
		t.Error("another seed gave the same parameters")
	}
	for _, p := range l.Params {
		low, high := slices.Min(p.Of(x)), slices.Max(p.Of(x))
		switch {
		case strings.HasSuffix(p.Name, "gamma"):
			if low != 1 || high != 1 {
				t.Errorf("%s is from %v to %v", p.Name, low, high)
			}
		case strings.HasSuffix(p.Name, "beta"):
			if low != 0 || high != 0 {
				t.Errorf("%s is from %v to %v", p.Name, low, high)
			}
		default:
			bound := float32(1 / math.Sqrt(float64(p.fanIn)))
			if low < -bound || low > -0.8*bound || high > bound || high < 0.8*bound {
				t.Errorf("%s is from %v to %v, want nearly all of ±%v", p.Name, low, high, bound)
			}
		}
	}
}

func TestNewRefusals(t *testing.T) {
	rec := device.NewRecorder(host.New())
	for _, c := range []struct {
		cfg   Config
		batch int
		opt   Options
		want  string
	}{
		{Config{}, 1, Options{}, "0 customers"},
		{small, 0, Options{}, "a batch of 0"},
		{small, 1, Options{Embed: 9}, "Embed(9)"},
		{small, 1, Options{Rollout: 9}, "Rollout(9)"},
	} {
		if _, err := New(rec, c.cfg, c.batch, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	tight := device.NewRecorder(host.NewSize(100_000))
	if _, err := New(tight, Tiny(), 128, Options{}); err == nil || !strings.Contains(err.Error(), "128 instances") {
		t.Errorf("100 kB of memory: got %v", err)
	}
	if c := tight.Counters(); c[device.Allocs] != c[device.Frees] {
		t.Errorf("%d allocations, %d frees after a refusal", c[device.Allocs], c[device.Frees])
	}
}

// Methods refuse parameters of another size, and Close frees everything.
func TestShortParams(t *testing.T) {
	f := onHost(t, small, 2)
	short := f.params.Slice(0, 64)
	for name, err := range map[string]error{
		"encode": f.Encode(short), "rollout": f.Rollout(short, true), "evaluate": f.Evaluate(short), "backward": f.Backward(short),
	} {
		if err == nil || !strings.Contains(err.Error(), name+": parameters of 64 bytes") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if f.Model.Config() != small || f.Batch() != 2 {
		t.Errorf("the model says %+v, %d", f.Model.Config(), f.Batch())
	}
	f.must(f.Close())
	f.must(f.rec.Free(f.params))
	if c := f.rec.Counters(); c[device.Allocs] != c[device.Frees] {
		t.Errorf("%d allocations, %d frees", c[device.Allocs], c[device.Frees])
	}
	if err := f.Encode(f.params); err == nil {
		t.Error("encoded after Close")
	}
}
