package bench_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gputax/bench"

	"github.com/google/pprof/profile"
)

// side is results in Go benchmark format, one line a sample.
func side(t *testing.T, lines ...string) *bench.Results {
	t.Helper()
	text := ""
	for _, l := range lines {
		text += "BenchmarkEpoch/device=sim:x 1 " + l + "\n"
	}
	r, err := bench.Read(strings.NewReader(text), "a file")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// prices are round numbers.
var prices = bench.Prices{Of: "x", Launch: 10, GraphLaunch: 100, GraphKernel: 1, UploadPageable: 1000, UploadPinned: 200,
	DownloadPageable: 500, DownloadPinned: 300, UploadByte: 0.5, DownloadByte: 0.25, MappedByte: 2, Sync: 50, Alloc: 70, Free: 30}

func explain(t *testing.T, old, new *bench.Results, opt bench.ExplainOptions) *bench.Explanation {
	t.Helper()
	x, err := bench.Explain(old, new, "BenchmarkEpoch/device=sim:x", opt)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Each event at its price, and how copies are told apart.
func TestEventPrices(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"launches": {"100 launches/op", "142 launches/op", "kernel launches +42 420"},
		"fewer":    {"100 launches/op", "0 launches/op 2 graph-launches/op 100 graph-kernels/op", "kernel launches -100 -1000, graph launches +2 200, kernels in graphs +100 100"},
		"waits":    {"", "3 syncs/op 2 dev-allocs/op 1 dev-frees/op", "syncs +3 150, device allocations +2 140, device frees +1 30"},
		"bytes":    {"4 h2d-B/op 100 d2h-B/op", "8 h2d-B/op 60 d2h-B/op 7 mapped-B/op", "bytes mapped +7 14, bytes downloaded -40 -10, bytes uploaded +4 2"},
		"pageable": {"7 h2d-copies/op 3 d2h-copies/op 10 pageable-copies/op", "263 h2d-copies/op 259 d2h-copies/op 522 pageable-copies/op",
			"uploads, pageable +256 256000, downloads, pageable +256 128000"},
		// Every scalar read back through pinned memory: no pageable copy more.
		"pinned": {"7 h2d-copies/op 3 d2h-copies/op 10 pageable-copies/op", "7 h2d-copies/op 515 d2h-copies/op 10 pageable-copies/op", "downloads, pinned +512 153600"},
		// Four copies made pinned: uploads, where it can be either.
		"pin_memory": {"7 h2d-copies/op 3 d2h-copies/op 10 pageable-copies/op", "7 h2d-copies/op 3 d2h-copies/op 6 pageable-copies/op",
			"uploads, pageable -4 -4000, uploads, pinned +4 800"},
		// Six cannot all have been uploads: there were four.
		"both ways": {"4 h2d-copies/op 3 d2h-copies/op 7 pageable-copies/op", "4 h2d-copies/op 3 d2h-copies/op 1 pageable-copies/op",
			"uploads, pageable -4 -4000, downloads, pageable -2 -1000, uploads, pinned +4 800, downloads, pinned +2 600"},
		"nothing": {"5 launches/op", "5 launches/op", ""},
	} {
		x := explain(t, side(t, "1000000 sim-ns/op "+c.old), side(t, "2000000 sim-ns/op "+c.new), bench.ExplainOptions{Prices: &prices})
		var got []string
		total := 0.0
		for _, e := range x.Events {
			got = append(got, fmt.Sprintf("%s %+g %g", e.Name, e.Change, e.NS))
			total += e.NS
			if e.NS != e.Price*e.Change || math.Abs(e.Fraction-e.NS/1e6) > 1e-12 {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if strings.Join(got, ", ") != c.want || math.Abs(x.Explained-total/1e6) > 1e-12 {
			t.Errorf("%s: %v, %g explained; want %s", name, got, x.Explained, c.want)
		}
	}
}

// A culprit is named where 70% to 130% is explained and it is half of it; else
// the verdict says what is missing.
func TestVerdicts(t *testing.T) {
	old := "1000000 sim-ns/op 1000 launches/op"
	for name, c := range map[string]struct {
		old, new         string
		unpriced         bool
		culprit, verdict string
	}{
		"just enough":    {old, "1100000 sim-ns/op 8000 launches/op", false, "kernel launches", "70% of the difference"},
		"not enough":     {old, "1100000 sim-ns/op 7900 launches/op", false, "", "69% of the difference, and below 70% is too little"},
		"just too much":  {old, "1100000 sim-ns/op 14100 launches/op", false, "", "131% of the difference. What is over 130%"},
		"almost too":     {old, "1100000 sim-ns/op 14000 launches/op", false, "kernel launches", "130%"},
		"faster":         {old, "990000 sim-ns/op 0 launches/op", false, "kernel launches", "100%"},
		"the other way":  {old, "1100000 sim-ns/op 0 launches/op", false, "", "-10% of the difference"},
		"spread":         {old, "1100000 sim-ns/op 5000 launches/op 600 dev-allocs/op 300 syncs/op", false, "", "no single one is half of it; the largest, device allocations, is 42%"},
		"nothing":        {old, old, false, "", "the same time"},
		"nothing but":    {old, "1000000 sim-ns/op 9000 launches/op", false, "", "the same time"},
		"nothing priced": {old, "1100000 sim-ns/op 9000 launches/op", true, "", "no prices"},
		"unexplained":    {old, "1100000 sim-ns/op 1000 launches/op", false, "", "0.0% of the difference"},
		"with its phase": {old + " 5 sim-cost-ns/op", "1100000 sim-ns/op 11000 launches/op 90005 sim-cost-ns/op", false, "kernel launches", "in phase cost: 100%"},
	} {
		opt := bench.ExplainOptions{Prices: &prices}
		if c.unpriced {
			opt.Prices = nil
		}
		x := explain(t, side(t, c.old), side(t, c.new), opt)
		if x.Culprit != c.culprit || !strings.Contains(x.Verdict, c.verdict) {
			t.Errorf("%s: %q, %s", name, x.Culprit, x.Verdict)
		}
	}
}

// Measured times that overlap have no culprit; their phases and medians are
// still told, and gpu-ns/op is no phase.
func TestExplainMeasured(t *testing.T) {
	old := side(t, "100 ns/op 10 cost-ns/op 5 gpu-ns/op 1 launches/op", "110 ns/op 11 cost-ns/op 5 gpu-ns/op 1 launches/op", "90 ns/op 12 cost-ns/op 5 gpu-ns/op 1 launches/op")
	noise := side(t, "105 ns/op 9 launches/op", "95 ns/op 9 launches/op", "107 ns/op 9 launches/op")
	x := explain(t, old, noise, bench.ExplainOptions{Prices: &prices})
	if real := explain(t, old, noise, bench.ExplainOptions{Prices: &prices, Real: true}); real.Noise || strings.Contains(real.Verdict, "noise") {
		t.Errorf("a difference that is known to be one: %+v", real)
	}
	if x.Before != 100 || x.After != 105 || !x.Noise || x.Culprit != "" || !strings.Contains(x.Verdict, "noise") {
		t.Errorf("%+v", x)
	}
	slow := side(t, "305 ns/op 201 cost-ns/op 400 gpu-ns/op 21 launches/op", "300 ns/op 211 cost-ns/op 400 gpu-ns/op 21 launches/op")
	x = explain(t, old, slow, bench.ExplainOptions{Prices: &prices})
	want := []bench.Part{{Name: "cost", Before: 11, After: 206, NS: 195, Fraction: 195 / 202.5}}
	if x.Unit != "ns/op" || x.Noise || x.Culprit != "kernel launches" || !slices.Equal(x.Phases, want) {
		t.Errorf("%+v", x)
	}
}

func TestExplainRefuses(t *testing.T) {
	ok, simulated, other := side(t, "100 ns/op"), side(t, "100 sim-ns/op"), side(t, "5 launches/op")
	elsewhere, err := bench.Read(strings.NewReader("BenchmarkOther 1 5 ns/op\n"), "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		old, new *bench.Results
		opt      bench.ExplainOptions
		want     string
	}{
		{ok, simulated, bench.ExplainOptions{}, "no time in common"},
		{ok, other, bench.ExplainOptions{}, "no time in common"},
		{ok, elsewhere, bench.ExplainOptions{}, "elsewhere has no benchmark Epoch/device=sim:x"},
		{ok, ok, bench.ExplainOptions{OldCPU: &profile.Profile{}}, "give both"},
		{ok, ok, bench.ExplainOptions{OldCPU: &profile.Profile{}, NewCPU: &profile.Profile{}}, "the old CPU profile: it has no CPU time"},
		{ok, ok, bench.ExplainOptions{OldCPU: cpuProfile(10, "a", 1), NewCPU: cpuProfile(10)}, "the new CPU profile: it has no samples"},
	} {
		if _, err := bench.Explain(c.old, c.new, "Epoch/device=sim:x", c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// cpuProfile is a profile of so many nanoseconds, with functions and their own
// time; each is called from main.
func cpuProfile(duration int64, functions ...any) *profile.Profile {
	p := &profile.Profile{DurationNanos: duration,
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	location := func(name string) *profile.Location {
		f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
		l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		return l
	}
	top := location("main")
	for i := 0; i < len(functions); i += 2 {
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{location(functions[i].(string)), top},
			Value: []int64{int64(functions[i+1].(int)), int64(functions[i+1].(int))}}) // a sample a nanosecond
	}
	return p
}

// The change of functions is an op's, however long the profiles are; and where
// no event is priced, it may name the culprit.
func TestExplainFunctions(t *testing.T) {
	// Ten ops of 100 ns; then five of 300, of which collate takes 210 more.
	old := cpuProfile(1000, "collate", 200, "fill", 300, "launch", 300)
	new := cpuProfile(1500, "collate", 1150, "launch", 150, "collate", 0)
	x := explain(t, side(t, "100 ns/op"), side(t, "300 ns/op"), bench.ExplainOptions{OldCPU: old, NewCPU: new})
	want := []bench.Part{
		{Name: "collate", Before: 20, After: 230, NS: 210, Fraction: 1.05},
		{Name: "fill", Before: 30, After: 0, NS: -30, Fraction: -0.15},
		{Name: "launch", Before: 30, After: 30, NS: 0, Fraction: 0},
	}
	for i, f := range x.Functions {
		if i >= len(want) || f.Name != want[i].Name || math.Abs(f.NS-want[i].NS) > 1e-9 || math.Abs(f.Before-want[i].Before) > 1e-9 || math.Abs(f.Fraction-want[i].Fraction) > 1e-9 {
			t.Errorf("function %d is %+v, want %+v", i, f, want)
		}
	}
	if x.Culprit != "collate" || math.Abs(x.FunctionsExplained-0.9) > 1e-9 || len(x.Functions) != 3 {
		t.Errorf("%q is the culprit, %g explained: %s", x.Culprit, x.FunctionsExplained, x.Verdict)
	}
	// Few samples say little, and no culprit.
	few := func(p *profile.Profile) *profile.Profile {
		p = p.Copy()
		for _, s := range p.Sample {
			s.Value[0] = min(s.Value[0], 4)
		}
		return p
	}
	x = explain(t, side(t, "100 ns/op"), side(t, "300 ns/op"), bench.ExplainOptions{OldCPU: few(old), NewCPU: few(new)})
	if f := x.Functions[0]; x.Culprit != "" || !strings.Contains(x.Verdict, "collate, is not clear of what sampling does") || math.Abs(f.Error-math.Hypot(10, 115)) > 1e-9 {
		t.Errorf("%q, off by %g: %s", x.Culprit, f.Error, x.Verdict)
	}
	x = explain(t, side(t, "100 sim-ns/op"), side(t, "300 sim-ns/op"), bench.ExplainOptions{OldCPU: old, NewCPU: new})
	if x.Functions != nil || len(x.Warnings) != 1 {
		t.Errorf("simulated time in functions: %+v", x)
	}
	// Events that explain enough come first; too little of both names none.
	x = explain(t, side(t, "100 ns/op"), side(t, "300 ns/op 20 launches/op"), bench.ExplainOptions{Prices: &prices, OldCPU: old, NewCPU: new})
	if x.Culprit != "kernel launches" {
		t.Errorf("%q is the culprit", x.Culprit)
	}
	x = explain(t, side(t, "100 ns/op"), side(t, "1300 ns/op 20 launches/op"), bench.ExplainOptions{Prices: &prices, OldCPU: old, NewCPU: cpuProfile(1500, "collate", 800)})
	if x.Culprit != "" || !strings.Contains(x.Verdict, "counted events come to 17% and host functions come to 51% of the difference, and below 70% is too little") {
		t.Errorf("%q: %s", x.Culprit, x.Verdict)
	}
}

func TestExplanationReports(t *testing.T) {
	old := side(t, "1000000 sim-ns/op 100 launches/op 200000 sim-cost-ns/op 5 h2d-copies/op 5 pageable-copies/op 400 h2d-B/op")
	new := side(t, "1500000 sim-ns/op 45000 launches/op 690000 sim-cost-ns/op 4 sim-graph-ns/op 9 h2d-copies/op 5 pageable-copies/op 402 h2d-B/op")
	named := explain(t, old, new, bench.ExplainOptions{Prices: &prices})
	unpriced := explain(t, side(t, "1000000 ns/op 100 launches/op 200000 cost-ns/op"), side(t, "1500000 ns/op 45000 launches/op 690000 cost-ns/op"),
		bench.ExplainOptions{OldCPU: cpuProfile(1000, "collate", 200, "fill", 300), NewCPU: cpuProfile(1000, "collate", 900)})
	same := explain(t, old, old, bench.ExplainOptions{Prices: &prices})
	var text, md bytes.Buffer
	for _, x := range []*bench.Explanation{named, unpriced, same} {
		x.Warnings = []string{"a note"}
		for _, s := range []bench.Style{{}, {ASCII: true, Width: 60}} {
			fmt.Fprintf(&text, "=== %+v\n", s)
			if err := x.WriteText(&text, s); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.WriteMarkdown(&md); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&md)
	}
	golden(t, "events.txt", text.String())
	golden(t, "events.md", md.String())
}
