package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"gputax/bench"
	"gputax/bench/suite"
	"gputax/trainer"

	"golang.org/x/term"
)

const whyAbout = `Names the cause of a difference, and says how much of it that is.

Two variants, or VARIANT+KEY=VALUE...: switches every factor they differ in, by
itself and in combination, trains the epoch each way, and gives each factor its
share of the difference (docs/variants.md has the variants and the factors).

  gputax why cpu_loop gpu_padded
  gputax why -device cuda:0 cpu_loop gpu_padded+dist=one_by_one

Two files of results: prices the change in every counter by the device's
profile, and shows the change in every phase and, with CPU profiles (cpu.pb.gz
beside the files, or -cpu-old and -cpu-new), in every host function. It names a
culprit only where that comes to 70% to 130% of the difference.

  gputax why old/bench.txt new/bench.txt
  gputax why before.json.gz after.json.gz   traces of torch.profiler, or nsys exports

Two commits: builds and runs their benchmarks, and does the same.

  gputax why -base main -bench 'Epoch/./device=sim'

docs/why.md says how both work. -story writes docs/paradox.md.`

// whyFlags is what gputax why was asked for.
type whyFlags struct {
	device    string
	instances int
	full      bool
	rounds    int
	orders    int
	per       time.Duration
	seed      uint64
	results   resultsFlags
	commits   commitsFlags
	out       reportFlags
}

// reportFlags is how a report is printed.
type reportFlags struct {
	format string
	ascii  bool
}

// whyCommand is gputax why.
func whyCommand(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	var o whyFlags
	f := newFlags("why")
	f.StringVar(&o.device, "device", "sim:h200", "run variants on this `device`")
	f.IntVar(&o.instances, "instances", suite.QuickEpoch, "instances an epoch, at least; 256 are two steps of the reference batch")
	f.BoolVar(&o.full, "full", false, "whole epochs of the reference workload")
	f.IntVar(&o.rounds, "rounds", 7, "measure everything `N` times, on real devices")
	f.IntVar(&o.orders, "orders", 32, "above eight factors, try `N` random orders of switching")
	f.DurationVar(&o.per, "time", 100*time.Millisecond, "measure at least this long a sample, on real devices")
	f.Uint64Var(&o.seed, "seed", 1, "draw random orders by this `number`")
	f.StringVar(&o.results.run, "run", "", "of results, only names that match this `regexp`")
	f.Float64Var(&o.results.least, "min", 2, "of results, only times that changed by this many `percent`")
	f.IntVar(&o.results.top, "top", 3, "of results, print the `N` that changed most")
	f.StringVar(&o.results.profile, "profile", "", "price results by this device profile, a `name` or FILE.json (default the device's own)")
	f.StringVar(&o.results.oldCPU, "cpu-old", "", "CPU profile of the old results, a `file`")
	f.StringVar(&o.results.newCPU, "cpu-new", "", "CPU profile of the new results, a `file`")
	f.StringVar(&o.out.format, "format", "text", "text, markdown or json")
	f.BoolVar(&o.out.ascii, "ascii", false, "bars without block characters")
	o.results.imports.register(f)
	f.StringVar(&o.commits.base, "base", "", "explain what changed since this `commit`, instead of FROM TO")
	f.StringVar(&o.commits.head, "head", "", "until this `commit` (default the working tree, with what is not committed)")
	f.StringVar(&o.commits.bench, "bench", ".", "of commits, the benchmarks that match this `regexp`, as go test -bench takes it")
	f.StringVar(&o.commits.packages, "pkg", "./bench", "of commits, the benchmarks of these packages (comma-separated `list`)")
	docs := f.String("story", "", "write paradox.md in this `directory` of documents; with -device, run its ablations there first")
	rest, err := parseArgs(f, "FROM TO", whyAbout, stdout, args)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if *docs != "" {
		if !isSet(f, "device") {
			o.device = ""
		}
		return whyStory(ctx, stdout, stderr, *docs, o.device)
	}
	if o.commits.base != "" {
		if len(rest) > 0 {
			return fmt.Errorf("-base %s stands for FROM and TO; what is %q?", o.commits.base, strings.Join(rest, " "))
		}
		return whyCommits(ctx, stdout, stderr, o)
	}
	if len(rest) != 2 {
		return fmt.Errorf("want FROM and TO, got %d arguments; gputax why -h shows what they can be", len(rest))
	}
	from, to := rest[0], rest[1]
	switch isFrom, isTo := exists(from), exists(to); {
	case isFrom && isTo:
		return whyFiles(stdout, stderr, o.results, o.out, from, to)
	case isFrom:
		return fmt.Errorf("%s is a file, and %s is none; give two files or two variants", from, to)
	case isTo:
		return fmt.Errorf("%s is a file, and %s is none; give two files or two variants", to, from)
	}
	return whyVariants(ctx, stdout, stderr, o, from, to)
}

// isSet says whether a flag was given.
func isSet(f *flag.FlagSet, name string) (set bool) {
	f.Visit(func(g *flag.Flag) { set = set || g.Name == name })
	return set
}

// exists says whether there is a file or a directory of that name.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (o *whyFlags) check() error {
	switch {
	case o.instances < 1:
		return fmt.Errorf("-instances %d: want at least 1", o.instances)
	case o.rounds < 1 || o.orders < 1:
		return errors.New("-rounds, -orders: want at least 1")
	case o.results.top < 1 || !(o.results.least >= 0):
		return fmt.Errorf("-top %d, -min %g: want at least 1, and no less than 0", o.results.top, o.results.least)
	}
	return o.out.check()
}

func (o *reportFlags) check() error {
	switch o.format {
	case "text", "markdown", "json":
		return nil
	}
	return fmt.Errorf("-format %q: want text, markdown or json", o.format)
}

// whyVariants explains the difference of two variants by ablation.
func whyVariants(ctx context.Context, stdout, stderr io.Writer, o whyFlags, from, to string) error {
	a, err := ablate(ctx, stderr, o, from, to)
	if err != nil {
		return err
	}
	return o.out.print(stdout, map[string]any{"ablation": a}, a)
}

// ablate runs the ablation of two variants.
func ablate(ctx context.Context, stderr io.Writer, o whyFlags, from, to string) (*bench.Attribution, error) {
	ab := suite.Ablation{Options: trainer.Tiny(), Device: o.device, Open: openNamed, Time: o.per}
	if !o.full {
		ab.Options.Epoch = o.instances
	}
	var err error
	if ab.From, err = parseVariant(from); err != nil {
		return nil, err
	}
	if ab.To, err = parseVariant(to); err != nil {
		return nil, err
	}
	if ab.From == ab.To {
		return nil, fmt.Errorf("%s and %s have the same factors: there is no difference to explain", from, to)
	}
	p := newProgress(stderr, 0)
	a, err := ab.Run(ctx, bench.AblateOptions{
		Rounds: o.rounds, Permutations: o.orders, Seed: o.seed, Parallel: runtime.GOMAXPROCS(0),
		Progress: func(done, total int) {
			p.total = total
			p.step(from + " -> " + to)
		},
	})
	p.clear()
	if err != nil {
		return nil, err
	}
	a.From, a.To = from, to
	return a, nil
}

// parseVariant is trainer.ParseFactors for the command's own engine, with the
// near names where there is none of that name.
func parseVariant(spec string) (trainer.Factors, error) {
	name, _, _ := strings.Cut(spec, "+")
	if _, err := trainer.Named(name); err != nil {
		return trainer.Factors{}, fmt.Errorf("no variant or file %q; docs/variants.md has the variants%s", name, suggest(name, variantNames()))
	}
	f, err := trainer.ParseFactors(spec)
	if err == nil && f.Engine != "kernels" {
		err = fmt.Errorf("%s: this command is built without the library for engine=%s", spec, f.Engine)
	}
	return f, err
}

// explained is what every kind of explanation can be written as.
type explained interface {
	WriteText(w io.Writer, s bench.Style) error
	WriteMarkdown(w io.Writer) error
}

// print writes reports in the format asked for; data is what JSON gets.
func (o *reportFlags) print(w io.Writer, data any, reports ...explained) error {
	if o.format == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(data)
	}
	style := o.style(w)
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(w)
		}
		write := func() error { return r.WriteText(w, style) }
		if o.format == "markdown" {
			write = func() error { return r.WriteMarkdown(w) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// style is as wide as the terminal, and in ASCII where the locale has no UTF-8.
func (o *reportFlags) style(w io.Writer) bench.Style {
	s := bench.Style{Width: 100, ASCII: o.ascii}
	f, ok := w.(*os.File)
	if !ok {
		return s
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.ASCII = o.ascii || !utf8Locale(os.Getenv)
		if width > 0 {
			s.Width = min(width, 120)
		}
	}
	return s
}

// utf8Locale says whether the first locale variable that is set names UTF-8, as
// it does on nearly every terminal; none set counts as yes.
func utf8Locale(getenv func(string) string) bool {
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(getenv(key)); v != "" {
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return true
}
