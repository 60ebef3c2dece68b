package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// Factor is one switch of an ablation, from one setting to another.
type Factor struct {
	Name string `json:"factor"`
	From string `json:"from,omitempty"` // its setting before, where it has a name
	To   string `json:"to,omitempty"`   // and after
}

// AblationRun measures one op with some of the factors switched: factor i is at
// its To where on[i], else at its From. The result is in nanoseconds.
type AblationRun func(ctx context.Context, on []bool) (ns float64, err error)

// AblateOptions say how an ablation is run. The zero value measures every
// combination of up to eight factors seven times.
type AblateOptions struct {
	// Exact says that equal runs give equal numbers, as on a simulated device:
	// once is enough, and there is no interval.
	Exact bool
	// Parallel is how many runs go on at a time where they are Exact; else, and
	// at 0, it is one.
	Parallel int
	// Rounds is how often everything is measured, each time in another random
	// order; 0 is 7. One round gives no interval.
	Rounds int
	// Full is the most factors that are run in every combination; 0 is 8, and
	// 12 is the most. Above it, random orders of switching are run.
	Full int
	// Permutations is how many orders those are; 0 is 32.
	Permutations int
	// Seed draws the orders.
	Seed uint64
	// Feasible refuses combinations that cannot run; nil refuses none. Factors
	// that cannot be switched one without the other are then switched as one.
	Feasible func(on []bool) error
	// Progress, where not nil, is told before each run how many there were and
	// how many there will be. Calls come one at a time.
	Progress func(done, total int)
}

// The bounds and defaults of AblateOptions.
const (
	defaultRounds       = 7
	defaultFull         = 8
	defaultPermutations = 32
	maxFull             = 12
	maxFactors          = 16
)

// Attribution says how much of a difference each factor is.
type Attribution struct {
	// Op, From and To say what was compared; the caller may set them.
	Op   string `json:"op,omitempty"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`

	Before    int64 `json:"before_ns"` // the op with no factor switched, in whole nanoseconds
	After     int64 `json:"after_ns"`  // with all of them
	Delta     int64 `json:"delta_ns"`  // After less Before: what the shares add up to
	DeltaLow  int64 `json:"delta_low_ns"`
	DeltaHigh int64 `json:"delta_high_ns"`

	Shares       []Share       `json:"shares"`                 // the largest first
	Interactions []Interaction `json:"interactions,omitempty"` // of pairs, the largest first; none where orders were drawn

	Exact        bool          `json:"exact"`
	Rounds       int           `json:"rounds"`
	Permutations int           `json:"permutations,omitempty"` // how many orders were drawn; 0 where all combinations were run
	Seed         uint64        `json:"seed"`
	Factors      []Factor      `json:"factors"` // in the order of Combinations' On
	Combinations []Combination `json:"combinations"`
	Warnings     []string      `json:"warnings,omitempty"`
}

// Share is one factor's part of the difference: its Shapley value, the mean
// over all orders of switching of what switching it changes. Low and High are
// the ends of its 95% interval, equal to NS where everything is exact.
type Share struct {
	Factor
	NS       int64   `json:"ns"`
	Low      int64   `json:"low_ns"`
	High     int64   `json:"high_ns"`
	Fraction float64 `json:"fraction"` // of Delta; 0 where that is 0
	Alone    int64   `json:"alone_ns"` // what switching it by itself changes, from Before
	Last     int64   `json:"last_ns"`  // what switching it after all others changes, to After
}

// Interaction is what switching two factors changes beyond the two by
// themselves: their Shapley interaction index. Half of it is in the share of
// each.
type Interaction struct {
	A  string `json:"a"`
	B  string `json:"b"`
	NS int64  `json:"ns"`
}

// Combination is one setting of the factors and what it measured.
type Combination struct {
	On      []bool    `json:"on"`
	NS      int64     `json:"ns"` // the median
	Samples []float64 `json:"samples,omitempty"`
}

// Ablate switches factors one by one and in combination, runs each, and gives
// each factor its share of the difference between none switched and all. The
// shares are whole nanoseconds and add up to it exactly: fractions of one go to
// the shares that lost most in rounding.
//
// Up to eight factors it runs all 2^n combinations. Above, it runs random
// orders of switching, each with its reverse, and says how far off that may be.
func Ablate(ctx context.Context, factors []Factor, run AblationRun, opt AblateOptions) (*Attribution, error) {
	opt.fill()
	if err := opt.check(factors); err != nil {
		return nil, err
	}
	g, err := newGame(factors, opt.Feasible)
	if err != nil {
		return nil, err
	}
	a := &Attribution{Exact: opt.Exact, Rounds: opt.Rounds, Seed: opt.Seed, Factors: g.players, Warnings: g.ties}
	m := &measurer{game: g, run: run, opt: &opt}
	if n := len(g.players); n <= opt.Full {
		err = a.enumerate(ctx, m)
	} else {
		err = a.sample(ctx, m)
		a.Warnings = append(a.Warnings, fmt.Sprintf("%d factors have %d combinations: %d random orders of switching were run instead of all; interactions are left out",
			n, 1<<n, opt.Permutations))
	}
	if err != nil {
		return nil, err
	}
	a.Combinations = m.combinations()
	a.finish()
	return a, nil
}

func (o *AblateOptions) fill() {
	for _, d := range []struct {
		at    *int
		value int
	}{{&o.Rounds, defaultRounds}, {&o.Full, defaultFull}, {&o.Permutations, defaultPermutations}, {&o.Parallel, 1}} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
	if o.Exact {
		o.Rounds = 1
	} else {
		o.Parallel = 1
	}
	o.Permutations += o.Permutations % 2 // each goes with its reverse
}

func (o *AblateOptions) check(factors []Factor) error {
	switch {
	case len(factors) == 0:
		return errors.New("bench: ablate: the two sides differ in no factor")
	case len(factors) > maxFactors:
		return fmt.Errorf("bench: ablate: %d factors: %d are the most", len(factors), maxFactors)
	case o.Full < 1 || o.Full > maxFull:
		return fmt.Errorf("bench: ablate: all combinations of %d factors: want 1 to %d", o.Full, maxFull)
	case o.Rounds < 1 || o.Permutations < 1 || o.Parallel < 1:
		return fmt.Errorf("bench: ablate: %d rounds, %d permutations, %d at a time: want at least 1", o.Rounds, o.Permutations, o.Parallel)
	}
	for i, f := range factors {
		if slices.ContainsFunc(factors[:i], func(g Factor) bool { return g.Name == f.Name }) {
			return fmt.Errorf("bench: ablate: two factors are called %q", f.Name)
		}
	}
	return nil
}

// finish sorts, fills in fractions, and warns of what a reader should know.
func (a *Attribution) finish() {
	for i := range a.Shares {
		if a.Delta != 0 {
			a.Shares[i].Fraction = float64(a.Shares[i].NS) / float64(a.Delta)
		}
	}
	slices.SortStableFunc(a.Shares, func(x, y Share) int { return compareMagnitude(x.NS, y.NS) })
	slices.SortStableFunc(a.Interactions, func(x, y Interaction) int { return compareMagnitude(x.NS, y.NS) })
	switch {
	case a.Delta == 0:
		a.Warnings = append(a.Warnings, "both sides take the same time: what the factors do cancels out")
	case a.DeltaLow <= 0 && a.DeltaHigh >= 0:
		a.Warnings = append(a.Warnings, "the difference is within the noise: its interval holds 0, and the shares are shares of noise")
	}
	switch {
	case a.Exact || a.Permutations > 0 || a.Rounds >= 5:
	case a.Rounds == 1:
		a.Warnings = append(a.Warnings, "one round measures no interval; run at least 5")
	default:
		a.Warnings = append(a.Warnings, fmt.Sprintf("the intervals of %d rounds are rough; run at least 5", a.Rounds))
	}
}

// compareMagnitude orders the larger in size first.
func compareMagnitude(x, y int64) int { return cmp.Compare(abs(y), abs(x)) }

func abs(x int64) int64 {
	if x < 0 {
		return -x
	}
	return x
}

// Culprit is the factor with the largest share. It is none where the
// difference is within the noise, where the share's own interval holds 0, or
// where it goes against the difference.
func (a *Attribution) Culprit() (Share, bool) {
	if len(a.Shares) == 0 || a.Delta == 0 || a.DeltaLow <= 0 && a.DeltaHigh >= 0 {
		return Share{}, false
	}
	s := a.Shares[0]
	return s, s.Fraction > 0 && (s.Low > 0 || s.High < 0)
}

// settings is what the factor was switched from and to, where they have names.
func (f Factor) settings() string {
	if f.From == "" && f.To == "" {
		return ""
	}
	return f.From + " -> " + f.To
}
