package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gputax/bench"
	"gputax/bench/gate"
)

const gateAbout = `Builds the benchmarks of a base commit and of the working tree, runs them in
alternation, and fails where the working tree is slower or counts more. Exact
counters and simulated times are decided by one run; times are sampled until
they are decided, within a budget, and a slowdown is confirmed on fresh samples.
Works for the benchmarks of any Go module. docs/gate.md says what is done.

It exits with 0 when nothing got worse, 1 on a regression, and 2 on an error or
where it could not decide.

  gputax gate -base main
  gputax gate -base origin/main -pkg ./... -bench 'Cost|Epoch//device=sim' -budget 10m`

// gateFlags are the flags of gputax gate.
type gateFlags struct {
	checkouts     gate.Checkouts
	opt           gate.Options
	plan          gate.Plan
	packages      string
	accept        string
	undecidedPass bool
	dir, format   string
}

// gateCommand is gputax gate.
func gateCommand(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	g, err := parseGate(stdout, args)
	if err != nil {
		return err
	}
	if g.accept != "" {
		if g.opt.Compare.Accept, err = readAcceptFile(g.accept); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(g.dir, 0o777); err != nil {
		return fmt.Errorf("-o %s: %w", g.dir, err)
	}
	p := newProgress(stderr, 0)
	defer p.clear()
	g.opt.Log, g.checkouts.Log = p.say, p.say
	g.opt.Progress = p.show
	report, err := g.run(ctx)
	if err != nil {
		return err
	}
	p.clear()
	if err := g.write(stdout, report); err != nil {
		return err
	}
	switch report.Verdict() {
	case bench.Regression:
		return errRegression
	case bench.Undecided:
		if !g.undecidedPass {
			return errors.New(undecided(report))
		}
	}
	return nil
}

// run builds both sides, gates, and explains what failed.
func (g *gateFlags) run(ctx context.Context) (_ *gate.Report, err error) {
	sides, err := gate.Open(ctx, g.checkouts)
	if err != nil {
		if e := (*gate.UnknownRefError)(nil); errors.As(err, &e) {
			return nil, fmt.Errorf("%w%s", err, suggest(e.Ref, e.Known))
		}
		return nil, err
	}
	defer func() { err = errors.Join(err, sides.Close()) }()
	report, err := gate.Run(ctx, sides.Base, sides.Head, g.opt)
	if err != nil {
		return nil, err
	}
	report.Comparison.OldName, report.Comparison.NewName = sides.BaseName, sides.HeadName
	return report, nil
}

// parseGate reads the command line.
func parseGate(stdout io.Writer, args []string) (*gateFlags, error) {
	g := &gateFlags{plan: gate.DefaultPlan()}
	g.opt.Plan = &g.plan
	g.opt.Compare.MinEffect = map[string]float64{}
	f := newFlags("gate")
	f.StringVar(&g.checkouts.Base, "base", "", "compare with this `commit`, branch or tag")
	f.StringVar(&g.checkouts.Head, "head", "", "gate this `commit` (default the working tree, with what is not committed)")
	f.StringVar(&g.packages, "pkg", "./bench", "the benchmarks of these packages (comma-separated `list`)")
	f.StringVar(&g.checkouts.Tags, "tags", "", "build tags (comma-separated `list`)")
	f.StringVar(&g.opt.Bench, "bench", ".", "only benchmarks that match this `regexp`, as go test -bench takes it")
	g.planFlags(f)
	f.Func("min-effect", "least change of a time that counts, `2%` or ns/op=5%; may be repeated (default 2%)", func(s string) error {
		unit, effect, err := parseEffect(s)
		g.opt.Compare.MinEffect[unit] = effect
		return err
	})
	f.BoolVar(&g.opt.Compare.AllowMissing, "allow-missing", false, "benchmarks and units may be missing")
	f.StringVar(&g.accept, "accept", "", "let pass what this `file` lists: BENCHMARK UNIT NEWVALUE REASON")
	f.BoolVar(&g.opt.Phases, "phases", false, "judge the times of phases too")
	f.BoolVar(&g.opt.All, "all", false, "take times also where counters have failed already")
	f.Func("undecided", "`fail` or pass where times are not decided within the budget (default fail)", func(s string) error {
		g.undecidedPass = s == "pass"
		if s != "pass" && s != "fail" {
			return errors.New("want fail or pass")
		}
		return nil
	})
	f.IntVar(&g.opt.CPUs, "cpu", 0, "run benchmarks on `N` CPUs (default all there are)")
	f.Uint64Var(&g.opt.Seed, "seed", 0, "order runs by this `number` (default a random one, which is printed)")
	f.StringVar(&g.dir, "o", filepath.Join("gputax-out", "gate"), "write comment.md, both sides' results and profiles to this `directory`")
	f.StringVar(&g.format, "format", "text", "print `text`, markdown or json")
	if err := parse(f, gateAbout, stdout, args); err != nil {
		return nil, err
	}
	return g, g.check(isSet(f, "seed"))
}

// planFlags are the flags that change the plan.
func (g *gateFlags) planFlags(f *flag.FlagSet) {
	f.DurationVar(&g.plan.Budget, "budget", g.plan.Budget, "spend at most this `time` on timed runs")
	f.Func("pairs", "judge times after these numbers of pairs of runs (comma-separated `list`; default 12,24,48,96,192,384,768)", func(s string) error {
		g.plan.Pairs = nil
		for _, field := range strings.Split(s, ",") {
			n, err := strconv.Atoi(field)
			if err != nil {
				return fmt.Errorf("%q is no number", field)
			}
			g.plan.Pairs = append(g.plan.Pairs, n)
		}
		return nil
	})
	f.DurationVar(&g.plan.Window, "time", g.plan.Window, "measure about this long a window; the median of five counts")
	f.Float64Var(&g.plan.Tolerance, "tolerance", g.plan.Tolerance, "a row passes undecided only if its samples exclude a slowdown of this `fraction`")
	f.IntVar(&g.plan.Layouts, "layouts", g.plan.Layouts, "link `N` binaries a side, with functions in different orders")
	f.IntVar(&g.plan.Chunk, "chunk", g.plan.Chunk, "run `N` benchmarks in a process")
}

// check refuses what makes no sense, and fills in what follows from the rest.
func (g *gateFlags) check(seeded bool) error {
	if g.checkouts.Base == "" {
		return errors.New("-base says which commit to compare with, such as -base main; gputax gate -h shows all flags")
	}
	if formats := []string{"text", "markdown", "json"}; !slices.Contains(formats, g.format) {
		return fmt.Errorf("-format %q%s; there are text, markdown and json", g.format, suggest(g.format, formats))
	}
	if !seeded {
		g.opt.Seed = rand.Uint64N(1e9)
	}
	if g.opt.CPUs < 0 {
		return fmt.Errorf("-cpu %d: want at least 1", g.opt.CPUs)
	}
	g.checkouts.Dir = "."
	g.checkouts.Packages = strings.FieldsFunc(g.packages, func(c rune) bool { return c == ',' || c == ' ' })
	g.opt.Profiles = filepath.Join(g.dir, "profiles")
	return g.plan.Check()
}

// write writes the results, the comment and what is printed.
func (g *gateFlags) write(stdout io.Writer, r *gate.Report) error {
	if err := explainFailures(r); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{"old.txt": r.Old.Write, "new.txt": r.New.Write, "comment.md": r.WriteMarkdown} {
		if err := writeFile(filepath.Join(g.dir, name), os.O_TRUNC, write); err != nil {
			return err
		}
	}
	if summary := os.Getenv("GITHUB_STEP_SUMMARY"); summary != "" {
		if err := writeFile(summary, os.O_APPEND, r.WriteMarkdown); err != nil {
			return err
		}
	}
	switch g.format {
	case "markdown":
		return r.WriteMarkdown(stdout)
	case "json":
		return r.WriteJSON(stdout)
	}
	if err := r.WriteText(stdout, (&reportFlags{}).style(stdout), colourful(stdout)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stdout, "The comment and both sides' results are in %s.\n", g.dir)
	return err
}

func writeFile(path string, mode int, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|mode, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// mostCauses is how many failures are explained; the first fail for the same
// cause as the others more often than not.
const mostCauses = 3

// explainFailures finds the cause of each benchmark that got worse, by what
// was counted and, where there are any, by the CPU profiles.
func explainFailures(r *gate.Report) error {
	old, new := new(bench.Results), new(bench.Results)
	for _, side := range []struct {
		to   *bench.Results
		from *gate.Samples
	}{{old, &r.Old}, {new, &r.New}} {
		for _, result := range side.from.Results {
			if err := side.to.Add(result); err != nil {
				return err
			}
		}
	}
	var done []string
	for _, row := range r.Comparison.Failed() {
		if row.Verdict != bench.RowWorse || slices.Contains(done, row.Benchmark) || len(done) == mostCauses {
			continue
		}
		done = append(done, row.Benchmark)
		o := resultsFlags{real: !row.Exact}
		for _, p := range r.Profiles {
			if p.Package == row.Pkg && strings.HasPrefix(row.Benchmark, p.Benchmark) {
				o.oldCPU, o.newCPU = p.Old, p.New
			}
		}
		found, err := explainNames(old, new, []string{row.Benchmark}, o)
		if err != nil { // what failed has failed, explained or not
			r.Comparison.Warnings = append(r.Comparison.Warnings, err)
		}
		r.Causes = append(r.Causes, found...)
	}
	return nil
}

// undecided is why a gate has not come to a verdict, in a line.
func undecided(r *gate.Report) string {
	if r.Disturbed != "" {
		return "undecided: machine disturbed: " + r.Disturbed
	}
	rows := 0
	note := ""
	for _, row := range r.Comparison.Rows {
		if row.Verdict == bench.RowTooFew {
			if rows++; note == "" {
				note = fmt.Sprintf("%s %s: %s", row.Benchmark, row.Written, row.Note)
			}
		}
	}
	if rows == 0 {
		return "undecided: nothing could be compared"
	}
	return fmt.Sprintf("%d of %d rows undecided; -undecided pass lets them through; the first: %s", rows, len(r.Comparison.Rows), note)
}

// show puts a text in the place of the progress line.
func (p *progress) show(format string, args ...any) {
	if p.on {
		line := fmt.Sprintf(format, args...)
		fmt.Fprintf(p.w, "\r\x1b[K%s", line[:min(len(line), max(p.width-1, 0))])
	}
}
