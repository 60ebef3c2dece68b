package bench_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"gputax/bench"
)

// names is factors called a, b, c, ...
func letters(n int) []bench.Factor {
	var out []bench.Factor
	for i := range n {
		out = append(out, bench.Factor{Name: string(rune('a' + i)), From: "off", To: "on"})
	}
	return out
}

// table is a game by its values: v[i] is that of the combination i, bit p for
// player p.
func table(v ...float64) bench.AblationRun {
	return func(_ context.Context, on []bool) (float64, error) {
		c := 0
		for i, o := range on {
			if o {
				c |= 1 << i
			}
		}
		return v[c], nil
	}
}

func shareOf(t *testing.T, a *bench.Attribution, name string) bench.Share {
	t.Helper()
	i := slices.IndexFunc(a.Shares, func(s bench.Share) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no share of %q in %+v", name, a.Shares)
	}
	return a.Shares[i]
}

func sum(a *bench.Attribution) (total int64) {
	for _, s := range a.Shares {
		total += s.NS
	}
	return total
}

// Games whose values are known from the definition.
func TestAblateKnownGames(t *testing.T) {
	for name, c := range map[string]struct {
		run          bench.AblationRun
		n            int
		shares       []int64 // by player
		interactions string
	}{
		"one factor":  {table(100, 130), 1, []int64{30}, ""},
		"additive":    {table(10, 11, 30, 31), 2, []int64{1, 20}, "a b 0"},
		"only both":   {table(0, 0, 0, 100), 2, []int64{50, 50}, "a b 100"},
		"either":      {table(0, 100, 100, 100), 2, []int64{50, 50}, "a b -100"},
		"cancels out": {table(50, 70, 30, 50), 2, []int64{20, -20}, "a b 0"},
		// Two left gloves and one right: a pair is worth 6; a has the right one.
		"gloves": {table(0, 0, 0, 6, 0, 6, 0, 6), 3, []int64{4, 1, 1}, "a b 3 a c 3 b c -3"},
		// 100 between three: thirds, and the one that is left goes to the first.
		"thirds": {table(0, 0, 0, 0, 0, 0, 0, 100), 3, []int64{34, 33, 33}, "a b 50 a c 50 b c 50"},
		"less":   {table(100, 100, 100, 100, 100, 100, 100, 0), 3, []int64{-34, -33, -33}, "a b -50 a c -50 b c -50"},
	} {
		a, err := bench.Ablate(context.Background(), letters(c.n), c.run, bench.AblateOptions{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, f := range letters(c.n) {
			got = append(got, shareOf(t, a, f.Name).NS)
		}
		if !slices.Equal(got, c.shares) || sum(a) != a.Delta || a.Delta != a.After-a.Before {
			t.Errorf("%s: shares %v of %d, want %v", name, got, a.Delta, c.shares)
		}
		var pairs []string
		for _, x := range a.Interactions {
			pairs = append(pairs, fmt.Sprint(x.A, " ", x.B, " ", x.NS))
		}
		slices.Sort(pairs)
		if strings.Join(pairs, " ") != c.interactions {
			t.Errorf("%s: interactions %q, want %q", name, pairs, c.interactions)
		}
	}
}

// What is switched alone and last, on which side of which combination.
func TestAblateEnds(t *testing.T) {
	a, err := bench.Ablate(context.Background(), letters(2), table(100, 110, 103, 150), bench.AblateOptions{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	s := shareOf(t, a, "a")
	if s.Alone != 10 || s.Last != 47 || s.Low != s.NS || s.High != s.NS || a.DeltaLow != 50 || a.DeltaHigh != 50 {
		t.Errorf("%+v of %d to %d", s, a.DeltaLow, a.DeltaHigh)
	}
	if len(a.Combinations) != 4 || !slices.Equal(a.Combinations[1].On, []bool{true, false}) || a.Combinations[1].NS != 110 {
		t.Errorf("combinations %+v", a.Combinations)
	}
	if c, ok := a.Culprit(); !ok || c.Name != "a" {
		t.Errorf("the culprit is %+v, %v", c, ok)
	}
}

// noisy is random numbers for each combination of any number of factors, the
// same every time.
func fixed(seed uint64) bench.AblationRun {
	return func(_ context.Context, on []bool) (float64, error) {
		c := uint64(0)
		for i, o := range on {
			if o {
				c |= 1 << i
			}
		}
		return float64(rand.New(rand.NewPCG(seed, c)).Int64N(1e12)), nil
	}
}

// Shares add up to the whole, to the nanosecond, whatever the game: run in full
// or sampled, exact or measured.
func TestSharesAddUp(t *testing.T) {
	for seed := range uint64(15) {
		for _, n := range []int{1, 2, 3, 5, 8, 10} {
			for _, exact := range []bool{true, false} {
				a, err := bench.Ablate(context.Background(), letters(n), fixed(seed), bench.AblateOptions{Exact: exact, Rounds: 2, Permutations: 4, Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				if sum(a) != a.Delta || a.Before+a.Delta != a.After || (n > 8) != (a.Permutations == 4) {
					t.Fatalf("%d factors, exact %v: shares of %d add up to %d; %+v", n, exact, a.Delta, sum(a), a)
				}
			}
		}
	}
}

// Sampled orders come near to all of them, and their intervals hold the truth.
func TestSampledNearFull(t *testing.T) {
	// Nine factors, each worth its number, and two that only count together.
	run := func(_ context.Context, on []bool) (float64, error) {
		v := 1e6
		for i, o := range on {
			if o {
				v += 1e4 * float64(i)
			}
		}
		if on[0] && on[8] {
			v += 1e5
		}
		return v, nil
	}
	full, err := bench.Ablate(context.Background(), letters(9), run, bench.AblateOptions{Exact: true, Full: 9})
	if err != nil {
		t.Fatal(err)
	}
	some, err := bench.Ablate(context.Background(), letters(9), run, bench.AblateOptions{Exact: true, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(some.Combinations) >= len(full.Combinations) || some.Interactions != nil || len(some.Warnings) != 1 {
		t.Errorf("%d of %d combinations, warnings %q", len(some.Combinations), len(full.Combinations), some.Warnings)
	}
	for _, f := range letters(9) {
		want, got := shareOf(t, full, f.Name), shareOf(t, some, f.Name)
		if got.Low > want.NS || got.High < want.NS || math.Abs(float64(got.NS-want.NS)) > 2e4 {
			t.Errorf("%s: %d in %d to %d, in full %d", f.Name, got.NS, got.Low, got.High, want.NS)
		}
	}
}

// An order and its reverse halve what two factors do together: where nothing
// else interacts, they are enough, exact or measured.
func TestAnOrderAndItsReverse(t *testing.T) {
	run := func(_ context.Context, on []bool) (float64, error) {
		v := 1000.0
		for i, o := range on {
			if o {
				v += 100 * float64(i)
			}
			if o && on[(i+1)%len(on)] {
				v += 10
			}
		}
		return v, nil
	}
	for _, exact := range []bool{true, false} {
		a, err := bench.Ablate(context.Background(), letters(9), run, bench.AblateOptions{Exact: exact, Permutations: 1, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range letters(9) {
			if got, want := shareOf(t, a, f.Name).NS, int64(100*i+10); got != want || a.Permutations != 2 {
				t.Errorf("exact %v: %s has %d, want %d", exact, f.Name, got, want)
			}
		}
	}
}

func TestCulprit(t *testing.T) {
	share := bench.Share{NS: 80, Low: 70, High: 90, Fraction: 0.8}
	for name, c := range map[string]struct {
		change func(a *bench.Attribution)
		want   bool
	}{
		"clear":                 {func(*bench.Attribution) {}, true},
		"the difference is not": {func(a *bench.Attribution) { a.DeltaLow = -1 }, false},
		"the share is not":      {func(a *bench.Attribution) { a.Shares[0].Low = -1 }, false},
		"against it":            {func(a *bench.Attribution) { a.Shares[0].Fraction = -0.8 }, false},
		"no difference":         {func(a *bench.Attribution) { a.Delta, a.DeltaLow, a.DeltaHigh = 0, 0, 0 }, false},
		"no shares":             {func(a *bench.Attribution) { a.Shares = nil }, false},
		"less": {func(a *bench.Attribution) {
			a.Delta, a.DeltaLow, a.DeltaHigh = -100, -110, -90
			a.Shares[0].NS, a.Shares[0].Low, a.Shares[0].High = -80, -90, -70
		}, true},
	} {
		a := &bench.Attribution{Delta: 100, DeltaLow: 90, DeltaHigh: 110, Shares: []bench.Share{share}}
		c.change(a)
		if _, got := a.Culprit(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// The 95% intervals of measured shares hold the truth in at least 90% of
// trials, with heavy tails and drift too.
func TestIntervalsHold(t *testing.T) {
	held, trials, fooled := 0, 200, 0
	for trial := range trials {
		rng := rand.New(rand.NewPCG(uint64(trial), 7))
		runs := 0
		run := func(_ context.Context, on []bool) (float64, error) {
			v := 1e6 + 1e5*rng.NormFloat64()*0.1 + float64(runs)*10
			runs++
			if rng.IntN(20) == 0 {
				v *= 1.5
			}
			if on[0] {
				v += 5e4
			}
			return v, nil
		}
		a, err := bench.Ablate(context.Background(), letters(2), run, bench.AblateOptions{Rounds: 9, Seed: uint64(trial)})
		if err != nil {
			t.Fatal(err)
		}
		if s := shareOf(t, a, "a"); s.Low <= 5e4 && s.High >= 5e4 {
			held++
		}
		if c, ok := a.Culprit(); ok && c.Name != "a" {
			fooled++
		}
	}
	t.Logf("held in %d of %d, the wrong factor named in %d", held, trials, fooled)
	if held < trials*90/100 || fooled > 0 {
		t.Errorf("held in %d of %d trials; the wrong factor was named in %d", held, trials, fooled)
	}
}

// A difference within the noise has no culprit.
func TestNoCulpritInNoise(t *testing.T) {
	named := 0
	for trial := range uint64(100) {
		rng := rand.New(rand.NewPCG(trial, 1))
		run := func(context.Context, []bool) (float64, error) { return 1e6 + 1e4*rng.NormFloat64(), nil }
		a, err := bench.Ablate(context.Background(), letters(3), run, bench.AblateOptions{Seed: trial})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := a.Culprit(); ok {
			named++
		}
	}
	if named > 8 {
		t.Errorf("a culprit was named in %d of 100 comparisons of the same thing", named)
	}
}

// Factors that cannot be switched one without the other are one.
func TestAblateTies(t *testing.T) {
	refused := errors.New("b needs d")
	feasible := func(on []bool) error {
		if on[1] && !on[3] {
			return refused
		}
		return nil
	}
	run := func(_ context.Context, on []bool) (float64, error) {
		if err := feasible(on); err != nil {
			t.Errorf("%v was run", on)
		}
		v := 100.0
		for i, o := range on {
			if o {
				v += math.Pow(10, float64(i))
			}
		}
		return v, nil
	}
	a, err := bench.Ablate(context.Background(), letters(4), run, bench.AblateOptions{Exact: true, Feasible: feasible})
	if err != nil {
		t.Fatal(err)
	}
	if s := shareOf(t, a, "b+d"); s.NS != 1010 || len(a.Shares) != 3 || len(a.Combinations) != 8 || s.From != "off+off" {
		t.Errorf("%+v", a.Shares)
	}
	if len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "b needs d") {
		t.Errorf("warnings %q", a.Warnings)
	}
	never := func(on []bool) error {
		if on[0] && on[1] {
			return refused
		}
		return nil
	}
	if _, err := bench.Ablate(context.Background(), letters(2), run, bench.AblateOptions{Feasible: never}); !errors.Is(err, refused) {
		t.Errorf("a side that cannot run gave %v", err)
	}
}

func TestAblateRefuses(t *testing.T) {
	ok := table(1, 2, 3, 4)
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		factors []bench.Factor
		run     bench.AblationRun
		opt     bench.AblateOptions
		want    string
	}{
		"none":     {nil, ok, bench.AblateOptions{}, "no factor"},
		"many":     {letters(17), ok, bench.AblateOptions{}, "16 are the most"},
		"twice":    {append(letters(1), letters(1)...), ok, bench.AblateOptions{}, `called "a"`},
		"full":     {letters(2), ok, bench.AblateOptions{Full: 13}, "want 1 to 12"},
		"rounds":   {letters(2), ok, bench.AblateOptions{Rounds: -1}, "at least 1"},
		"negative": {letters(2), table(1, -2, 3, 4), bench.AblateOptions{}, "with a=on: took -2 ns"},
		"NaN":      {letters(1), table(math.NaN(), 1), bench.AblateOptions{}, "with no factor switched"},
		"broken":   {letters(2), func(context.Context, []bool) (float64, error) { return 0, broken }, bench.AblateOptions{Exact: true, Parallel: 3}, "broken"},
	} {
		if _, err := bench.Ablate(context.Background(), c.factors, c.run, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop := func(context.Context, []bool) (float64, error) { cancel(); return 1, nil }
	if _, err := bench.Ablate(ctx, letters(3), stop, bench.AblateOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled ablation gave %v", err)
	}
}

// Exact runs go on side by side, others never; progress counts all of them;
// measured rounds come in different orders.
func TestAblateSchedule(t *testing.T) {
	for _, exact := range []bool{true, false} {
		var running, most, runs atomic.Int32
		told := 0
		var order []string
		run := func(_ context.Context, on []bool) (float64, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			runs.Add(1)
			if !exact {
				order = append(order, fmt.Sprint(on))
			}
			for range 1000 { // let others begin
				bytes.Repeat([]byte{1}, 1000)
			}
			return 1, nil
		}
		_, err := bench.Ablate(context.Background(), letters(4), run, bench.AblateOptions{Exact: exact, Parallel: 4, Rounds: 3,
			Progress: func(done, total int) {
				if done != told || total != map[bool]int{true: 16, false: 48}[exact] {
					t.Errorf("run %d of %d", done, total)
				}
				told++
			}})
		if err != nil {
			t.Fatal(err)
		}
		if !exact && (most.Load() != 1 || slices.Equal(order[:16], order[16:32])) {
			t.Errorf("%d at a time, in order %v", most.Load(), order)
		}
		if int(runs.Load()) != told {
			t.Errorf("%d runs, told of %d", runs.Load(), told)
		}
	}
}

// reports compares a report with its golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/why/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (go test ./bench -update accepts a change that was meant):\n got\n%s\nwant\n%s", path, got, want)
	}
}

func TestAblationReports(t *testing.T) {
	factors := []bench.Factor{{Name: "cost", From: "loop", To: "padded"}, {Name: "dup", From: "1", To: "9"}, {Name: "graph", From: "off", To: "on"}}
	exact, err := bench.Ablate(context.Background(), factors, table(5e6, 9e6, 5.1e6, 4e7, 4e6, 8e6, 4.1e6, 3.8e7), bench.AblateOptions{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	exact.From, exact.To, exact.Op = "cpu_loop", "gpu_padded+dup=9", "an epoch on sim:h200"
	rng := rand.New(rand.NewPCG(1, 2))
	measured, err := bench.Ablate(context.Background(), factors[:2], func(ctx context.Context, on []bool) (float64, error) {
		v, err := table(5e6, 9e6, 5.1e6, 4e7)(ctx, on)
		return v * (1 + 0.01*rng.NormFloat64()), err
	}, bench.AblateOptions{Rounds: 5, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	noise, err := bench.Ablate(context.Background(), letters(1), table(100, 100), bench.AblateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, s := range []bench.Style{{}, {Width: 60, ASCII: true}, {Width: 30}} {
		for _, a := range []*bench.Attribution{exact, measured, noise} {
			fmt.Fprintf(&out, "=== %+v\n", s)
			if err := a.WriteText(&out, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	golden(t, "ablation.txt", out.String())
	out.Reset()
	for _, a := range []*bench.Attribution{exact, measured, noise} {
		if err := a.WriteMarkdown(&out); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out)
	}
	golden(t, "ablation.md", out.String())
}
