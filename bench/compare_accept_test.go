package bench_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gputax/bench"
)

func TestReadAccept(t *testing.T) {
	got, err := bench.ReadAccept(strings.NewReader("# a comment\n\nA/*  ns/op 1.5e3  the reason  why # not a comment\n\tB n missing gone\n"), "f")
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if a := got[0]; a.Benchmark != "A/*" || a.Unit != "ns/op" || a.Value != 1500 || a.Reason != "the reason why # not a comment" || a.Line != 3 {
		t.Errorf("%+v", a)
	}
	if b := got[1]; !math.IsNaN(b.Value) || b.Line != 4 {
		t.Errorf("%+v", b)
	}
	for text, want := range map[string]string{
		"A n 5\n":                  "f:1: want BENCHMARK UNIT NEWVALUE REASON",
		"A n 5 ok\nA n x y\n":      `f:2: new value "x": want a number in n, or missing`,
		"A n NaN because\n":        `new value "NaN"`,
		"A n 1e999 because\n":      `new value "1e999"`,
		"A n 5x because\n":         `new value "5x"`,
		"A ns/op\n":                "f:1: want BENCHMARK",
		strings.Repeat("x", 1<<17): "token too long",
	} {
		if _, err := bench.ReadAccept(strings.NewReader(text), "f"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestAccept(t *testing.T) {
	counts := exactUnit + samples("A/x=1-8", "n", 5)
	more := samples("A/x=1-8", "n", 7)
	slow, slower := samples("A", "ns/op", around(100)...), samples("A", "ns/op", around(110)...)
	rate, lower := samples("A", "MB/s", around(100)...), samples("A", "MB/s", around(90)...)
	other := samples("Other", "ns/op", around(100)...)
	for _, c := range []struct {
		name, accept string
		old, new     string
		want         bench.Verdict
		warning      string
	}{
		{"as accepted", "A/x=1-8 n 7 why", counts, more, bench.Pass, ""},
		{"with Benchmark and without CPUs", "BenchmarkA/x=1 n 7 why", counts, more, bench.Pass, ""},
		{"by pattern", "A/*8 n 7 why", counts, more, bench.Pass, ""},
		{"by any unit", "A/x=1-8 * 7 why", counts, more, bench.Pass, ""},
		{"by everything", "* * 7 why", counts, more, bench.Pass, ""},
		{"another value", "A/x=1-8 n 8 why", counts, more, bench.Regression, ""},
		{"another unit", "A/x=1-8 m 7 why", counts, more, bench.Regression, "matches no row"},
		{"another name", "B n 7 why", counts, more, bench.Regression, "accept B n 7 (line 1): matches no row"},
		{"another pattern", "*y* n 7 why", counts, more, bench.Regression, "matches no row"},
		{"overlapping pattern", "A/x=1*1-8 n 7 why", counts, more, bench.Regression, "matches no row"},
		{"not needed", "A/x=1-8 n 5 why", counts, counts, bench.Pass, "no longer needed"},
		{"a time at most", "A ns/op 110 why", slow, slower, bench.Pass, ""},
		{"a time with the minimum effect", "A ns/op 108 why", slow, slower, bench.Pass, ""},
		{"a time above it", "A ns/op 107 why", slow, slower, bench.Regression, ""},
		{"a time in base units", "A sec/op 110e-9 why", slow, slower, bench.Pass, ""},
		{"a rate at least", "A MB/s 91 why", rate, lower, bench.Pass, ""},
		{"a rate below it", "A MB/s 95 why", rate, lower, bench.Regression, ""},
		{"may be missing", "A ns/op missing why", slow + other, other, bench.Pass, ""},
		{"may be missing, but is worse", "A ns/op missing why", slow, slower, bench.Regression, "matches no row"},
		{"may be slow, but is missing", "A ns/op 110 why", slow + other, other, bench.Regression, "matches no row"},
		{"varied, and is settled", "A n 4 why", exactUnit + samples("A", "n", 4, 5), samples("A", "n", 4, 4), bench.Pass, ""},
		{"varies", "A n 4 why", exactUnit + samples("A", "n", 4, 4), samples("A", "n", 4, 5), bench.Regression, ""},
		{"too few samples", "A ns/op 5 why", samples("A", "ns/op", 5), samples("A", "ns/op", 5), bench.Undecided, "no longer needed"},
	} {
		list, err := bench.ReadAccept(strings.NewReader(c.accept+"\n"), "f")
		if err != nil {
			t.Fatal(err)
		}
		got := compareTexts(t, c.old, c.new, bench.CompareOptions{Accept: list})
		if got.Verdict() != c.want {
			t.Errorf("%s: %v, want %v: %+v", c.name, got.Verdict(), c.want, got.Rows[0])
		}
		if got.Verdict() == bench.Pass && c.warning == "" && (got.Count(bench.RowAccepted) != 1 || got.Rows[0].Note != "why") {
			t.Errorf("%s: %+v", c.name, got.Rows[0])
		}
		if c.warning == "" && len(got.Warnings) > 0 || !strings.Contains(fmt.Sprint(got.Warnings), c.warning) {
			t.Errorf("%s: warnings %v, want %q", c.name, got.Warnings, c.warning)
		}
	}
}
