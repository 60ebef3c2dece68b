package gate

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"gputax/bench"
)

func TestVerdicts(t *testing.T) {
	quiet := []fakeBench{timed("A", 100, 0.01), timed("B", 2e6, 0.01), timed("C/n=10", 3e4, 0.01), counted("D", 5)}
	with := func(b fakeBench) []fakeBench {
		out := []fakeBench{b}
		for _, q := range quiet {
			if q.name != b.name {
				out = append(out, q)
			}
		}
		return out
	}
	rate := func(perSecond float64) fakeBench {
		return fakeBench{"A", func(f *fake, _ Request) string {
			return fmt.Sprintf("%.6g items/s", perSecond*(1+0.01*f.random.NormFloat64()))
		}}
	}
	layoutBound := func(slow float64) fakeBench {
		return fakeBench{"A", func(f *fake, r Request) string {
			ns := 100 + f.random.NormFloat64()
			if r.Layout <= DefaultPlan().Layouts {
				ns *= slow
			}
			return fmt.Sprintf("%.6g ns/op", ns)
		}}
	}
	wandering := fakeBench{"D", func(f *fake, _ Request) string { return fmt.Sprintf("%d calls/op", 6+len(f.world.runs)) }}
	for _, c := range []struct {
		name       string
		base, head []fakeBench
		change     func(*world, *Options)
		want       bench.Verdict
		row, unit  string
		verdict    bench.RowVerdict
		note       string
	}{
		{"the same", quiet, quiet, nil, bench.Pass, "A", "ns/op", bench.RowSame, ""},
		{"5% slower", quiet, with(timed("A", 105, 0.01)), nil, bench.Regression, "A", "ns/op", bench.RowWorse, "confirmed by 12 fresh pairs: +"},
		{"3% slower", quiet, with(timed("A", 103, 0.01)), nil, bench.Regression, "A", "ns/op", bench.RowWorse, "confirmed by"},
		{"1% slower", quiet, with(timed("A", 101, 0.01)), nil, bench.Pass, "A", "ns/op", bench.RowSame, ""},
		{"faster", quiet, with(timed("A", 80, 0.01)), nil, bench.Pass, "A", "ns/op", bench.RowBetter, ""},
		{"a rate that falls", with(rate(1000)), with(rate(940)), nil, bench.Regression, "A", "items/s", bench.RowWorse, "confirmed"},
		{"a rate that rises", with(rate(1000)), with(rate(1100)), nil, bench.Pass, "A", "items/s", bench.RowBetter, ""},
		{"slower in some layouts only", quiet, with(layoutBound(1.06)), nil, bench.Pass, "A", "ns/op", bench.RowSame, "% at first, "},
		{"a count that grows", quiet, with(counted("D", 6)), nil, bench.Regression, "D", "calls/op", bench.RowWorse, ""},
		{"a count from zero", with(counted("D", 0)), with(counted("D", 1)), nil, bench.Regression, "D", "calls/op", bench.RowWorse, ""},
		{"a count that falls", quiet, with(counted("D", 4)), nil, bench.Pass, "D", "calls/op", bench.RowBetter, ""},
		{"a count that is none", quiet, with(wandering), nil, bench.Regression, "D", "calls/op", bench.RowVaries, "announced as exact"},
		{"a benchmark that is gone", quiet, quiet[1:], nil, bench.Regression, "A", "", bench.RowMissing, ""},
		{"a benchmark that may be gone", quiet, quiet[1:], func(_ *world, o *Options) { o.Compare.AllowMissing = true },
			bench.Pass, "A", "", bench.RowAccepted, "may be missing"},
		{"a unit that is gone", with(rate(5)), quiet, nil, bench.Regression, "A", "items/s", bench.RowMissing, ""},
		{"a new benchmark", quiet[1:], quiet, nil, bench.Pass, "A", "", bench.RowNew, ""},
		{"an accepted slowdown", quiet, with(timed("A", 110, 0.01)), func(_ *world, o *Options) {
			o.Compare.Accept = []bench.Acceptance{{Benchmark: "A", Unit: "ns/op", Value: 110, Reason: "checks more"}}
		}, bench.Pass, "A", "ns/op", bench.RowAccepted, "checks more; confirmed by"},
		{"a slowdown beyond what was accepted", quiet, with(timed("A", 120, 0.01)), func(_ *world, o *Options) {
			o.Compare.Accept = []bench.Acceptance{{Benchmark: "A", Unit: "ns/op", Value: 110, Reason: "checks more"}}
		}, bench.Regression, "A", "ns/op", bench.RowWorse, "confirmed by"},
		{"a larger minimum effect", quiet, with(timed("A", 105, 0.01)), func(_ *world, o *Options) {
			o.Compare.MinEffect = map[string]float64{"ns/op": 0.1}
		}, bench.Pass, "A", "ns/op", bench.RowSame, ""},
		{"too noisy to tell", quiet, with(timed("A", 100, 0.5)), nil, bench.Undecided, "A", "ns/op", bench.RowTooFew, "more are needed"},
		{"several in a process", quiet, with(timed("A", 105, 0.01)), func(_ *world, o *Options) { o.Plan.Chunk = 3 },
			bench.Regression, "A", "ns/op", bench.RowWorse, "confirmed by 12 fresh pairs"},
		{"one layout", quiet, with(timed("A", 105, 0.01)), func(_ *world, o *Options) { o.Plan.Layouts = 1 },
			bench.Regression, "A", "ns/op", bench.RowWorse, "confirmed by 12 fresh pairs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, _ := gateFakes(t, c.base, c.head, c.change)
			if r.Verdict() != c.want {
				t.Errorf("verdict %v, want %v: %s", r.Verdict(), c.want, r.Comparison.Summary())
			}
			got := row(t, r, c.row, c.unit)
			if got.Verdict != c.verdict || !strings.Contains(got.Note, c.note) {
				t.Errorf("%s %s: %v %q, want %v %q", c.row, c.unit, got.Verdict, got.Note, c.verdict, c.note)
			}
			if r.Untimed {
				return
			}
			if other := row(t, r, "B", "ns/op"); other.Verdict != bench.RowSame {
				t.Errorf("B: %v %q, and nothing was done to it", other.Verdict, other.Note)
			}
		})
	}
}

func TestNothingIsTimedWhenCountersFail(t *testing.T) {
	base := []fakeBench{timed("A", 100, 0.01), counted("D", 5)}
	head := []fakeBench{timed("A", 100, 0.01), counted("D", 6)}
	r, w := gateFakes(t, base, head, nil)
	if want := 4; len(w.runs) != want || !r.Untimed || r.Taken != 0 {
		t.Errorf("%d runs, untimed %v; want %d: everything, and what fails again, on both sides", len(w.runs), r.Untimed, want)
	}
	r, _ = gateFakes(t, base, head, func(_ *world, o *Options) { o.All = true })
	if r.Verdict() != bench.Regression || row(t, r, "A", "ns/op").Verdict != bench.RowSame {
		t.Errorf("with All: %s", r.Comparison.Summary())
	}
}

func TestStopsEarly(t *testing.T) {
	same := []fakeBench{timed("A", 100, 0.002), timed("B", 100, 0.002)}
	r, _ := gateFakes(t, same, same, nil)
	if want := 2 * DefaultPlan().Pairs[0]; r.Taken != want {
		t.Errorf("%d pairs of what is plainly the same, want %d", r.Taken, want)
	}
	noisy := []fakeBench{timed("A", 100, 0.002), timed("B", 100, 0.08)}
	r, _ = gateFakes(t, noisy, noisy, nil)
	a, b := row(t, r, "A", "ns/op"), row(t, r, "B", "ns/op")
	if a.New.N != 12 || b.New.N <= 24 {
		t.Errorf("%d and %d pairs; want more of the noisy one alone", a.New.N, b.New.N)
	}
}

func TestRunsAlternate(t *testing.T) {
	same := []fakeBench{timed("A", 100, 0.01)}
	orders := func(seed uint64) string {
		_, w := gateFakes(t, same, same, func(_ *world, o *Options) { o.Seed = seed })
		var out strings.Builder
		for i, r := range w.runs[2:] { // after the first of either side
			if i > 0 && i%4 == 0 {
				out.WriteByte(' ')
			}
			out.WriteByte("AB"[r.side])
			pair := w.runs[2+i/2*2]
			if r.Layout != pair.Layout || r.Layout < 1 || r.Time != "1ms" || r.Count != 5 {
				t.Errorf("run %d is %+v; want both of a pair in one layout, and 5 windows of 1ms", i, r)
			}
		}
		return out.String()
	}
	one := orders(1)
	for block := range strings.FieldsSeq(one) {
		if block != "ABBA" && block != "BAAB" {
			t.Errorf("block %s in %s", block, one)
		}
	}
	if !strings.Contains(one, "ABBA") || !strings.Contains(one, "BAAB") {
		t.Errorf("%s is not in random order", one)
	}
	if orders(1) != one || orders(2) == one {
		t.Error("the order is not the seed's")
	}
}

func TestSlowOpsRunOnce(t *testing.T) {
	plan := DefaultPlan()
	for _, c := range []struct {
		op    time.Duration
		time  string
		count int
	}{{0, "1ms", 5}, {time.Microsecond, "1ms", 5}, {time.Millisecond, "1x", 5}, {9 * time.Millisecond, "1x", 2}, {time.Second, "1x", 1}} {
		if benchtime, count := plan.request(c.op); benchtime != c.time || count != c.count {
			t.Errorf("an op of %v: %s %d times, want %s %d times", c.op, benchtime, count, c.time, c.count)
		}
	}
}

func TestBudget(t *testing.T) {
	same := []fakeBench{timed("A", 100, 0.01), timed("B", 100, 0.01)}
	r, w := gateFakes(t, same, same, func(w *world, _ *Options) { w.each = 20 * time.Second })
	got := row(t, r, "A", "ns/op")
	if r.Verdict() != bench.Undecided || !strings.Contains(got.Note, "more than the budget") {
		t.Errorf("%v %q", r.Verdict(), got.Note)
	}
	if len(w.runs) > 10 {
		t.Errorf("%d runs, when the first told that the budget is too small", len(w.runs))
	}
	// The first look, 48 s of runs here, may be late by a tenth of the budget.
	for budget, want := range map[time.Duration]bench.Verdict{46 * time.Second: bench.Pass, 40 * time.Second: bench.Undecided} {
		r, _ := gateFakes(t, same, same, func(w *world, o *Options) { w.each, o.Plan.Budget = time.Second, budget })
		if r.Verdict() != want {
			t.Errorf("a budget of %v: %v, want %v: %q", budget, r.Verdict(), want, row(t, r, "A", "ns/op").Note)
		}
	}
	// Noisy rows go on to the budget's end, and no further.
	noisy := []fakeBench{timed("A", 100, 0.3), timed("B", 100, 0.3)}
	r, w = gateFakes(t, noisy, noisy, func(w *world, o *Options) { w.each, o.Plan.Budget = time.Second, 2*time.Minute })
	if took := w.now.Sub(time.Unix(0, 0)); took < 100*time.Second || took > 130*time.Second {
		t.Errorf("took %v of a budget of 2m", took)
	}
	if got := row(t, r, "A", "ns/op"); r.Verdict() != bench.Undecided || !strings.Contains(got.Note, "may still be") {
		t.Errorf("%v %q", r.Verdict(), got.Note)
	}
	// A suspect that there is no time to confirm does not fail, nor does it pass.
	slow := []fakeBench{timed("A", 130, 0.01), timed("B", 100, 0.01)}
	r, _ = gateFakes(t, same, slow, func(w *world, o *Options) { w.each, o.Plan.Budget = time.Second, 52*time.Second })
	if got := row(t, r, "A", "ns/op"); r.Verdict() != bench.Undecided || !strings.Contains(got.Note, "at first, and to be confirmed") {
		t.Errorf("%v %v %q", r.Verdict(), got.Verdict, got.Note)
	}
}

func TestDisturbed(t *testing.T) {
	base := []fakeBench{timed("A", 100, 0.01), counted("D", 5)}
	head := []fakeBench{timed("A", 110, 0.01), counted("D", 5)}
	jumpy := func(w *world, o *Options) {
		reading := 0
		o.Control = func() time.Duration {
			reading++
			return time.Millisecond + time.Duration(reading%2)*1200*time.Microsecond
		}
	}
	biased := func(w *world, o *Options) {
		o.Control = func() time.Duration { return time.Millisecond + time.Duration(w.last)*80*time.Microsecond }
	}
	for name, change := range map[string]func(*world, *Options){"jumpy": jumpy, "biased": biased} {
		r, _ := gateFakes(t, base, head, change)
		got := row(t, r, "A", "ns/op")
		if r.Verdict() != bench.Undecided || r.Disturbed == "" || got.Note != "undecided: machine disturbed" {
			t.Errorf("%s: %v, %q, row %v %q", name, r.Verdict(), r.Disturbed, got.Verdict, got.Note)
		}
		if row(t, r, "D", "calls/op").Verdict != bench.RowSame {
			t.Errorf("%s: exact rows are judged all the same", name)
		}
	}
	// A machine that is disturbed now and then takes longer, and decides.
	r, _ := gateFakes(t, base, head, func(w *world, o *Options) {
		reading := 0
		o.Control = func() time.Duration {
			if reading++; reading%9 == 0 {
				return 3 * time.Millisecond
			}
			return time.Millisecond
		}
	})
	if r.Verdict() != bench.Regression || r.Dropped == 0 || r.Taken <= r.Dropped {
		t.Errorf("%v, %d of %d pairs dropped", r.Verdict(), r.Dropped, r.Taken)
	}
}

func TestErrors(t *testing.T) {
	w := &world{now: time.Unix(0, 0)}
	good := &fake{benches: []fakeBench{counted("A", 1)}, world: w}
	for _, c := range []struct {
		name       string
		base, head *fake
		change     func(*Options)
		want       string
	}{
		{"a benchmark fails", good, &fake{err: errors.New("exit status 1"), world: w, side: 1}, nil, "head: exit status 1"},
		{"base has none", &fake{world: w}, good, nil, `base has no benchmarks that match "."`},
		{"a line that is none", good, &fake{benches: []fakeBench{{"A", func(*fake, Request) string { return "oops" }}}, world: w}, nil, "head: "},
		{"a bad plan", good, good, func(o *Options) { o.Plan.Pairs = []int{12, 6} }, "want numbers that grow"},
		{"a benchmark that depends on others", good, &fake{benches: []fakeBench{{"A", func(f *fake, r Request) string {
			if r.Bench != "." {
				return ""
			}
			return "2 calls/op"
		}}}, world: w}, nil, "A of example.com/p gave no result"},
	} {
		opt := w.options()
		if c.change != nil {
			c.change(&opt)
		}
		_, err := Run(t.Context(), c.base, c.head, opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestProfiles(t *testing.T) {
	base := []fakeBench{timed("A/x=a,b", 100, 0.01), timed("B", 100, 0.01)}
	head := []fakeBench{timed("A/x=a,b", 120, 0.01), timed("B", 100, 0.01)}
	r, _ := gateFakes(t, base, head, func(_ *world, o *Options) { o.Profiles = t.TempDir() })
	if len(r.Profiles) != 1 || r.Profiles[0].Benchmark != "A/x=a,b" {
		t.Fatalf("profiles %+v", r.Profiles)
	}
	for _, path := range []string{r.Profiles[0].Old, r.Profiles[0].New} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	for change, want := range map[float64]time.Duration{0.2: 5 * time.Second, -0.2: 5 * time.Second, 2: time.Second, 0.05: 30 * time.Second, 0: 30 * time.Second} {
		if got := profileTime(change); got != want {
			t.Errorf("a profile for a change of %g takes %v, want %v", change, got, want)
		}
	}
	var comment bytes.Buffer
	if err := r.WriteMarkdown(&comment); err != nil {
		t.Fatal(err)
	}
	if want := "go tool pprof -diff_base " + r.Profiles[0].Old + " " + r.Profiles[0].New; !strings.Contains(comment.String(), want) {
		t.Errorf("no %q in\n%s", want, &comment)
	}
}

func TestSamples(t *testing.T) {
	base := []fakeBench{timed("A", 100, 0.01), counted("D", 5)}
	r, _ := gateFakes(t, base, base, nil)
	for side, s := range []*Samples{&r.Old, &r.New} {
		var out bytes.Buffer
		if err := s.Write(&out); err != nil {
			t.Fatal(err)
		}
		read, err := bench.Read(&out, sideNames[side])
		if err != nil {
			t.Fatal(err)
		}
		if a, d := read.Samples("A-4", "ns/op"), read.Samples("D-4", "calls/op"); len(a) != 12 || len(d) != 1 {
			t.Errorf("%s: %d samples of the time and %d of the count; want 12 and 1", sideNames[side], len(a), len(d))
		}
	}
}

func TestLooks(t *testing.T) {
	plan := DefaultPlan()
	for _, rows := range []int{1, 16, 60, 500} {
		sum, last := 0.0, 0
		for _, l := range plan.looks(plan.Screen, rows) {
			if l.pairs <= last || bench.SamplesNeeded(plan.Screen*l.share, rows, true) > l.pairs {
				t.Errorf("%d rows: a look at %d pairs for %g of the chances comes too early", rows, l.pairs, l.share)
			}
			sum, last = sum+l.share, l.pairs
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%d rows: looks spend %g of the chances", rows, sum)
		}
	}
}

func TestMedianWindowCounts(t *testing.T) {
	text := "pkg: p\nBenchmarkA-4 10 30 ns/op 3 calls/op\nBenchmarkA-4 10 20 ns/op 2 calls/op\nBenchmarkA-4 10 25 ns/op 4 calls/op\nBenchmarkA-40 10 1 ns/op\n"
	out, err := parse([]byte(text), "p", "-4")
	if err != nil {
		t.Fatal(err)
	}
	r := out.results[id{"p", "A"}]
	if calls, _ := r.Value("calls/op"); opTime(r) != 25 || calls != 4 {
		t.Errorf("kept %v", r.Values)
	}
	if len(out.order) != 2 {
		t.Errorf("%v; A-40 is another benchmark", out.order)
	}
}

func TestExactly(t *testing.T) {
	if got, want := Exactly("A/x=1.5|2", "B"), `^BenchmarkA$/^x=1\.5\|2$|^BenchmarkB$`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
