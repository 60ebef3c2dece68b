package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"gputax/bench/gate"

	"golang.org/x/perf/benchfmt"
)

// pool is the collected pairs of one benchmark.
type pool struct {
	name   string   // without "Benchmark" and the number of CPUs
	pairs  []pair   // in the order they were taken
	blocks [2][]int // where blocks of pairs begin: of the first samples' layouts, and of those that confirm
}

// pair is a run of either side, and which of the side's binaries ran.
type pair struct {
	runs   [2]recorded
	layout int
}

// recorded is one run.
type recorded struct {
	ns   float64
	wall time.Duration
}

// readPools reads what collect wrote.
func readPools(dir string) ([]*pool, error) {
	var pools []*pool
	byName := map[string]*pool{}
	for side, file := range []string{"old.txt", "new.txt"} {
		f, err := os.Open(filepath.Join(dir, file))
		if err != nil {
			return nil, fmt.Errorf("%w; go run ./bench/gate/study collect makes it", err)
		}
		defer f.Close()
		at := map[string]int{}
		lines := benchfmt.NewReader(f, file)
		for lines.Scan() {
			r, ok := lines.Result().(*benchfmt.Result)
			if !ok {
				continue
			}
			name := r.Name.String()
			p := byName[name]
			if p == nil {
				p = &pool{name: name}
				byName[name] = p
				pools = append(pools, p)
			}
			if err := p.add(side, at[name], r); err != nil {
				return nil, err
			}
			at[name]++
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	for _, p := range pools {
		p.findBlocks()
		if n := min(len(p.blocks[0]), len(p.blocks[1])); n < leastBlocks {
			return nil, fmt.Errorf("%s has %d blocks of consecutive pairs; collect more pairs, there must be %d", p.name, n, leastBlocks)
		}
	}
	if len(pools) == 0 {
		return nil, fmt.Errorf("no samples in %s; go run ./bench/gate/study collect", dir)
	}
	return pools, nil
}

// add adds one side's i-th sample.
func (p *pool) add(side, i int, r *benchfmt.Result) error {
	if i >= len(p.pairs) {
		p.pairs = append(p.pairs, pair{})
	}
	ns, _ := r.Value("sec/op")
	wall, _ := r.Value(wallUnit)
	layout, _ := r.Value(layoutUnit)
	if p.pairs[i].layout != 0 && p.pairs[i].layout != int(layout) || ns <= 0 {
		return fmt.Errorf("%s: sample %d of both sides is no pair", p.name, i)
	}
	p.pairs[i].layout = int(layout)
	p.pairs[i].runs[side] = recorded{ns * 1e9, time.Duration(wall)}
	return nil
}

// leastBlocks is how many blocks there must be to draw from.
const leastBlocks = 8

// findBlocks finds the runs of pairs in all of a phase's layouts, one after the
// other. A pair that was dropped as disturbed breaks a block.
func (p *pool) findBlocks() {
	n := gate.DefaultPlan().Layouts
	for i := 0; i+n <= len(p.pairs); i++ {
		first := p.pairs[i].layout
		whole := first%n == 1
		for k := range n {
			whole = whole && p.pairs[i+k].layout == first+k
		}
		if whole {
			p.blocks[first/n] = append(p.blocks[first/n], i)
		}
	}
}

// trial is one comparison by replayed pairs.
type trial struct {
	pools  []*pool
	random *rand.Rand
	deal   bool               // binaries are dealt to the sides at random, by layout; else runs are, by pair
	dealt  map[int]bool       // the layouts whose binaries are exchanged
	slow   map[string]float64 // factors on head's times
	now    time.Time          // moves by what the runs took
	tapes  map[string]*tape   // by the regular expression that asks for them
}

// tape is the runs of one benchmark in a trial.
type tape struct {
	*pool
	start   int          // of the block
	pending [2]*recorded // of the pair that was last drawn
}

// run gates, and returns what the gate says.
func (t *trial) run(ctx context.Context, seed uint64) (*gate.Report, error) {
	t.now = time.Unix(0, 0)
	t.tapes, t.dealt = map[string]*tape{}, map[int]bool{}
	for _, p := range t.pools {
		t.tapes[gate.Exactly(p.name)] = &tape{pool: p}
	}
	plan := gate.DefaultPlan()
	return gate.Run(ctx, player{t, 0}, player{t, 1}, gate.Options{
		Plan: &plan, Seed: seed, CPUs: 1,
		Now:     func() time.Time { return t.now },
		Control: func() time.Duration { t.now = t.now.Add(time.Millisecond); return time.Millisecond },
	})
}

// player is a side that replays.
type player struct {
	*trial
	side int
}

func (player) Packages() []string { return []string{"replayed"} }

// Run returns the next run of what is asked for; everything, asked for once at
// first, is each benchmark's first.
func (p player) Run(_ context.Context, r gate.Request) ([]byte, error) {
	out := []byte("pkg: replayed\n")
	if tape := p.tapes[r.Bench]; tape != nil {
		return p.line(out, tape.pool, tape.take(p.trial, p.side, r.Layout)), nil
	}
	for _, pool := range p.pools {
		out = p.line(out, pool, pool.pairs[0].runs[0])
	}
	return out, nil
}

func (p player) line(out []byte, of *pool, r recorded) []byte {
	if f, ok := p.slow[of.name]; ok && p.side == 1 {
		r.ns *= f
	}
	p.now = p.now.Add(r.wall)
	return fmt.Appendf(out, "Benchmark%s\t1\t%.7g ns/op\n", of.name, r.ns)
}

// exchanges says whether a pair's runs change sides.
func (t *trial) exchanges(layout int) bool {
	if !t.deal {
		return t.random.IntN(2) == 1
	}
	if _, ok := t.dealt[layout]; !ok {
		t.dealt[layout] = t.random.IntN(2) == 1
	}
	return t.dealt[layout]
}

// take is a side's run of the pair under way, or of the next. A new block is
// drawn when the gate begins with a phase's layouts anew.
func (t *tape) take(by *trial, side, layout int) recorded {
	if t.pending[side] == nil {
		n := gate.DefaultPlan().Layouts
		phase, at := (layout-1)/n, (layout-1)%n
		if at == 0 {
			t.start = t.blocks[phase][by.random.IntN(len(t.blocks[phase]))]
		}
		runs := t.pairs[t.start+at].runs
		if by.exchanges(layout) {
			runs[0], runs[1] = runs[1], runs[0]
		}
		t.pending = [2]*recorded{&runs[0], &runs[1]}
	}
	r := t.pending[side]
	t.pending[side] = nil
	return *r
}
