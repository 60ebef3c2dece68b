package trainer

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gputax/vrp"
)

// Batches come in order and are the same whoever makes them, after seeking too.
func TestLoader(t *testing.T) {
	size := vrp.Sizes[0]
	whole, err := vrp.Generate(8*40, size, 9)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []Factors{
		{Batch: 8}, {Batch: 8, Workers: 1}, {Batch: 8, Workers: 3, Prefetch: 1}, {Batch: 8, Workers: 4, Prefetch: 7},
	} {
		l := newLoader(f, size, 9, 0)
		check := func(k int) {
			t.Helper()
			if b := l.Next(); !slices.Equal(b.Coords, whole.Coords[k*8*22:(k+1)*8*22]) {
				t.Errorf("%d workers, %d ahead: batch %d is another", f.Workers, f.ahead(), k)
			}
		}
		for k := range 10 {
			check(k)
		}
		for _, from := range []uint64{0, 30, 30, 7} {
			l.Seek(from)
			for k := range 5 {
				check(int(from) + k)
			}
		}
		l.Close()
	}
}

func TestFactors(t *testing.T) {
	for _, v := range Variants {
		f := factorsOf(t, v.Name)
		again := DefaultFactors()
		for _, s := range strings.Fields(f.String()) {
			if err := again.Set(s); err != nil {
				t.Errorf("%s: %v", v.Name, err)
			}
		}
		if again != f {
			t.Errorf("%s: %v says %q", v.Name, f, f.String())
		}
	}
	for setting, want := range map[string]string{
		"cots=loop":    "the keys are batch, cost",
		"cost":         "KEY=VALUE",
		"cost=lop":     "loop, per_route",
		"dup=0":        "from 1",
		"dup=x":        "number",
		"workers=-1":   "from 0",
		"graph=yes":    "off, on",
		"engine=torch": "kernels, gorgonia",
	} {
		f := DefaultFactors()
		if err := f.Set(setting); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", setting, err)
		}
	}
	v := Variants[0]
	for _, settings := range [][]string{{"graph=on", "embed=per_token"}, {"graph=on", "engine=gorgonia"}} {
		if _, err := v.Factors(settings...); err == nil {
			t.Errorf("%v was taken", settings)
		}
	}
	if _, err := Named("gpu_pado"); err == nil {
		t.Error("an unknown variant was taken")
	}
}

// By hand: differences -1, 0, -2 have mean -1, standard deviation 1, t = -1.7321
// with 2 degrees of freedom: one-sided p = 0.1127.
func TestPairedTest(t *testing.T) {
	a, b, p := pairedTest([]float32{1, 2, 3}, []float32{2, 2, 5})
	if a != 2 || b != 3 || math.Abs(p-0.1127) > 1e-4 {
		t.Errorf("means %v and %v, p %v", a, b, p)
	}
	if _, _, p := pairedTest([]float32{1, 2}, []float32{1, 2}); p != 1 {
		t.Errorf("no difference: p %v", p)
	}
	if _, _, p := pairedTest([]float32{2, 2, 5}, []float32{1, 2, 3}); math.Abs(p-0.8873) > 1e-4 {
		t.Errorf("worse: p %v", p)
	}
}

func TestConfig(t *testing.T) {
	good, err := os.ReadFile("../configs/tiny_1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadConfig("../configs/tiny_1.yaml")
	opt := c.Options()
	opt.Run = ""
	if err != nil || opt != Tiny() {
		t.Errorf("tiny_1.yaml is %+v, %v; the reference is %+v", opt, err, Tiny())
	}
	for _, r := range []struct{ old, new, want string }{
		{"  heads: 8\n", "", "missing: model.heads"},
		{"heads: 8", "heads:", "missing: model.heads"},
		{"heads: 8", "heds: 8", "field heds: no such key"},
		{"baseline:\n  instances: 1024", "x: 1", "field x: no such key"},
		{"heads: 8", "heads: seven", "seven"},
		{"heads: 8", "heads: 7", "7 heads"},
		{"capacity: 20", "capacity: 8", "capacity 8"},
		{"customers: 10", "customers: 0", "0 customers"},
		{"epochs: 100", "epochs: 0", "epochs"},
		{"batch_size: 128", "batch_size: 0", "batch_size"},
		{"epoch_size: 3200", "epoch_size: 100", "less than one batch"},
		{"learning_rate: 1.0e-4", "learning_rate: -1", "learning rate -1"},
		{"learning_rate_decay: 1 ", "learning_rate_decay: 2 ", "learning_rate_decay"},
		{"clip_norm: 1", "clip_norm: 0", "clipped at 0"},
		{"instances: 1024", "instances: 1", "baseline.instances"},
		{"problem:", "problem: [", "line"},
	} {
		path := filepath.Join(t.TempDir(), "c.yaml")
		text := strings.Replace(string(good), r.old, r.new, 1)
		if text == string(good) {
			t.Fatalf("%q is not in the file", r.old)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := ReadConfig(path)
		if err == nil || !strings.Contains(err.Error(), r.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", r.new, err)
		}
	}
}
