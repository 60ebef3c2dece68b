package bench_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"gputax/bench"
)

// FuzzCompare reads any two texts and compares what comes of them. Nothing may
// panic, and nothing that is not a sound comparison may pass.
func FuzzCompare(f *testing.F) {
	times := samples("A-8", "ns/op", around(100)...)
	exact := exactUnit + samples("A", "n", 5) + samples("B/x=y", "n", 0)
	for _, seed := range [][2]string{
		{times, times},
		{times, samples("A-8", "ns/op", around(200)...)},
		{exact, exact},
		{exact, exactUnit + samples("A", "n", 6)},
		{"pkg: p\nUnit MB/s better=higher\n" + times, "BenchmarkA-8 1 0 ns/op\n"},
		{"", "PASS\n"},
		{"BenchmarkA 1 1e308 ns/op 1e-320 B/op\n", "BenchmarkA 1 1e-308 ns/op 0 B/op\n"},
		{"BenchmarkA 1 -1 n\n", "BenchmarkA 1 NaN n\n"},
		{"Unit n assume=exact better=lower\nBenchmarkA 1 5 n\nBenchmarkA 1 6 n\n", "BenchmarkA 1 5 n"},
	} {
		f.Add(seed[0], seed[1], false)
		f.Add(seed[0], seed[1], true)
	}
	for _, pair := range [][2]string{{"base.txt", "change.txt"}, {"benchstat_old.txt", "benchstat_new.txt"}} {
		var texts [2]string
		for i, name := range pair {
			text, err := os.ReadFile("testdata/compare/" + name)
			if err != nil {
				f.Fatal(err)
			}
			texts[i] = string(text)
		}
		f.Add(texts[0], texts[1], false)
	}
	f.Fuzz(func(t *testing.T, oldText, newText string, paired bool) {
		if len(oldText)+len(newText) > 1<<16 {
			t.Skip("long inputs take long, and show nothing new")
		}
		old, errOld := bench.Read(strings.NewReader(oldText), "old")
		new, errNew := bench.Read(strings.NewReader(newText), "new")
		if (errOld == nil) != (old != nil) || old != nil && len(old.Benchmarks()) == 0 {
			t.Fatalf("read %v, error %v", old, errOld)
		}
		opt := bench.CompareOptions{Paired: paired}
		if errOld == nil {
			checkWithItself(t, old, opt)
		}
		if errOld != nil || errNew != nil {
			if c, err := bench.Compare(old, new, opt); err == nil {
				t.Fatalf("errors %v and %v, and yet compared: %s", errOld, errNew, c.Summary())
			}
			return
		}
		c, err := bench.Compare(old, new, opt)
		if err != nil {
			return
		}
		checkComparison(t, c)
		checkPass(t, c, old, new)
	})
}

// checkWithItself: no exact row of a side compared with itself changes, and
// times do not get worse.
func checkWithItself(t *testing.T, side *bench.Results, opt bench.CompareOptions) {
	c, err := bench.Compare(side, side, opt)
	if err != nil {
		return
	}
	checkComparison(t, c)
	for _, r := range c.Rows {
		switch r.Verdict {
		case bench.RowSame, bench.RowTooFew, bench.RowUnjudged:
		case bench.RowVaries:
			if r.Old.Lo == r.Old.Hi {
				t.Fatalf("varies, and does not: %+v", r)
			}
		default:
			t.Fatalf("compared with itself: %+v", r)
		}
	}
}

// checkComparison: what is written is complete, and the statistics are sound.
func checkComparison(t *testing.T, c *bench.Comparison) {
	for _, write := range []func(io.Writer) error{c.WriteMarkdown, c.WriteJSON, c.WriteCSV, func(w io.Writer) error { return c.WriteText(w, true) }} {
		var out bytes.Buffer
		if err := write(&out); err != nil || out.Len() == 0 {
			t.Fatalf("wrote %d bytes: %v", out.Len(), err)
		}
	}
	for _, r := range c.Rows {
		if !(r.P >= 0 && r.P <= 1 && r.PAdjusted >= 0 && r.PAdjusted <= 1) || r.Effect.Lo > r.Effect.Hi {
			t.Fatalf("statistics of %+v", r)
		}
	}
}

// checkPass: a pass has a row that was judged, all of old is still there, no
// count is worse, and no row has too few samples to tell.
func checkPass(t *testing.T, c *bench.Comparison, old, new *bench.Results) {
	if c.Verdict() != bench.Pass {
		return
	}
	judged := 0
	for _, r := range c.Rows {
		worse := (r.New.Center - r.Old.Center) * float64(r.Better)
		switch {
		case r.Verdict == bench.RowSame || r.Verdict == bench.RowBetter:
			judged++
			if r.Exact && worse < 0 || r.Old.N == 0 || r.New.N == 0 {
				t.Fatalf("passes: %+v", r)
			}
		case r.Verdict != bench.RowNew && r.Verdict != bench.RowUnjudged:
			t.Fatalf("passes: %+v", r)
		}
	}
	if judged == 0 {
		t.Fatal("passes without a row that was judged")
	}
	there := map[string]bool{}
	for _, b := range new.Benchmarks() {
		there[b] = true
	}
	for _, b := range old.Benchmarks() {
		if !there[b] {
			t.Fatalf("passes without %s", b)
		}
	}
}
