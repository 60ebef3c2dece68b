// Study measures how often the gate is wrong, on real samples of this
// project's benchmarks.
//
//	go run ./bench/gate/study collect   # 20 minutes: samples, to gputax-out/study
//	go run ./bench/gate/study aa        # 1,000 comparisons of a version with itself
//	go run ./bench/gate/study power     # slowdowns of 5% and 3% put into one side's samples
//	go run ./bench/gate/study live      # a slowdown of 5% put into code, gated for real
//
// collect runs the gate itself on one version linked twice, with functions in
// different orders in memory, and keeps every pair of runs. aa and power replay
// them through the gate: each comparison draws blocks of consecutive pairs at
// random, so that what disturbs several runs in a row does so there too.
// docs/results keeps what they print as gate_aa.txt, gate_power.txt and
// gate_live.txt.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// study is what all commands share.
type study struct {
	dir     string // of the samples
	machine string
	bench   string
	time    time.Duration // to collect for
	trials  int
	seed    uint64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "study:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("want collect, aa, power or live")
	}
	var s study
	f := flag.NewFlagSet(args[0], flag.ExitOnError)
	f.StringVar(&s.dir, "samples", filepath.Join("gputax-out", "study"), "the samples' `directory`")
	f.StringVar(&s.machine, "machine", fmt.Sprintf("%d shared cores", runtime.NumCPU()), "what to call this machine")
	f.StringVar(&s.bench, "bench", defaultBench, "collect benchmarks that match this `regexp`")
	f.DurationVar(&s.time, "time", 20*time.Minute, "collect for this long")
	f.IntVar(&s.trials, "trials", 0, "comparisons to make (default 1000 for aa, 200 for power, 10 for live)")
	f.Uint64Var(&s.seed, "seed", 1, "draw by this `number`")
	f.Parse(args[1:])
	commands := map[string]struct {
		run    func(context.Context, *study) error
		trials int
	}{"collect": {collect, 0}, "aa": {sameness, 1000}, "power": {power, 200}, "live": {live, 10}}
	c, ok := commands[args[0]]
	if !ok {
		return fmt.Errorf("no command %q; there are collect, aa, power and live", args[0])
	}
	if s.trials == 0 {
		s.trials = c.trials
	}
	return c.run(ctx, &s)
}

// header is how every result begins: what made it, where and when.
func (s *study) header(what string, commands ...string) {
	fmt.Printf("%s\n\ncommand: go run ./bench/gate/study %s\nmachine: %s\ndate:    %s\n", what,
		strings.Join(commands, "; go run ./bench/gate/study "), s.machine, time.Now().Format(time.DateOnly))
}
