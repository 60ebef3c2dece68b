package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"gputax/bench"
	"gputax/bench/gate"
)

// tally counts what comparisons came to.
type tally struct {
	comparisons, rows              int
	same, better, worse, undecided int // rows, less those that were made slower and fail
	caught                         int // rows that were made slower and fail
	pairs                          int
	took, longest                  time.Duration
	lines                          []string // rows to look at
}

func (t *tally) add(r *gate.Report, slow map[string]float64) {
	t.comparisons++
	t.pairs += r.Taken
	t.took += r.Took
	t.longest = max(t.longest, r.Took)
	for _, row := range r.Comparison.Rows {
		t.rows++
		_, slowed := slow[row.Benchmark]
		what := ""
		switch {
		case slowed && row.Verdict == bench.RowWorse:
			t.caught++
		case slowed:
			what = "missed"
		case row.Verdict == bench.RowWorse:
			t.worse++
			what = "false"
		case row.Verdict == bench.RowBetter:
			t.better++
		case row.Verdict == bench.RowTooFew:
			t.undecided++
		default:
			t.same++
		}
		if what != "" {
			t.lines = append(t.lines, fmt.Sprintf("%s: %s %+.1f%% in %d pairs: %v %s", what, row.Benchmark, 100*row.Delta, row.New.N, row.Verdict, row.Note))
		}
	}
}

// compare makes comparisons on all CPUs. The i-th is the same whatever their
// number.
func (s *study) compare(ctx context.Context, make func(i int, random *rand.Rand) *trial) (*tally, error) {
	var (
		sum  tally
		mu   sync.Mutex
		errs []error
		wg   sync.WaitGroup
		next = -1
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for ctx.Err() == nil {
				mu.Lock()
				next++
				i := next
				mu.Unlock()
				if i >= s.trials {
					return
				}
				random := rand.New(rand.NewPCG(s.seed, uint64(i)))
				t := make(i, random)
				report, err := t.run(ctx, random.Uint64())
				mu.Lock()
				if err != nil {
					errs = append(errs, err)
				} else {
					sum.add(report, t.slow)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return &sum, errors.Join(append(errs, ctx.Err())...)
}

// modes are the two ways in which nothing but chance decides between the sides.
var modes = []struct {
	name string
	deal bool
}{
	{"runs dealt to the sides at random, pair by pair", false},
	{"binaries, linked apart, dealt to the sides at random, with all their runs", true},
}

// sameness is the A/A study: nothing was changed, so nothing may fail.
func sameness(ctx context.Context, s *study) error {
	pools, err := readPools(s.dir)
	if err != nil {
		return err
	}
	s.header("A/A: this project's benchmarks gated by themselves; every failure is a false one.", "collect", "aa")
	describe(pools)
	for _, mode := range modes {
		sum, err := s.compare(ctx, func(_ int, random *rand.Rand) *trial {
			return &trial{pools: pools, random: random, deal: mode.deal}
		})
		if err != nil {
			return err
		}
		fmt.Printf("\n%s:\n  %d comparisons, %d rows: %d false failures\n", mode.name, sum.comparisons, sum.rows, sum.worse)
		fmt.Printf("  rows: %d same, %d better, %d undecided; %s\n", sum.same, sum.better, sum.undecided, sum.effort())
		sum.print()
	}
	return nil
}

// power is how many slowdowns are caught.
func power(ctx context.Context, s *study) error {
	pools, err := readPools(s.dir)
	if err != nil {
		return err
	}
	s.header("Power: one benchmark's times made longer on one side; how often it fails the gate.", "collect", "power")
	describe(pools)
	for _, mode := range modes {
		fmt.Printf("\n%s:\n", mode.name)
		for _, percent := range []float64{5, 3} {
			sum, err := s.compare(ctx, func(i int, random *rand.Rand) *trial {
				slow := map[string]float64{pools[i%len(pools)].name: 1 + percent/100}
				return &trial{pools: pools, random: random, deal: mode.deal, slow: slow}
			})
			if err != nil {
				return err
			}
			fmt.Printf("  %g%% slower: %d of %d caught (%.1f%%); %d false failures of %d other rows; %s\n", percent, sum.caught,
				sum.comparisons, 100*float64(sum.caught)/float64(sum.comparisons), sum.worse, sum.rows-sum.comparisons, sum.effort())
			sum.print()
		}
	}
	return nil
}

// effort is what comparisons took, on the machine the samples are from.
func (t *tally) effort() string {
	return fmt.Sprintf("%.1f pairs of runs a row, %v a comparison, %v at most", float64(t.pairs)/float64(t.rows),
		(t.took / time.Duration(t.comparisons)).Round(time.Second), t.longest.Round(time.Second))
}

// mostLines is how many single rows are printed.
const mostLines = 12

func (t *tally) print() {
	for i, line := range t.lines {
		if i == mostLines {
			fmt.Printf("    ... and %d more\n", len(t.lines)-i)
			break
		}
		fmt.Println("    " + line)
	}
}
