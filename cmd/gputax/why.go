package main

import (
	"context"
	"encoding/json"
	"errors"
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
  gputax why -device cuda:0 cpu_loop gpu_padded+dist=one_by_one`

// whyFlags is what gputax why was asked for.
type whyFlags struct {
	device    string
	instances int
	full      bool
	rounds    int
	orders    int
	per       time.Duration
	seed      uint64
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
	f.StringVar(&o.out.format, "format", "text", "text, markdown or json")
	f.BoolVar(&o.out.ascii, "ascii", false, "bars without block characters")
	rest, err := parseArgs(f, "FROM TO", whyAbout, stdout, args)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if len(rest) != 2 {
		return fmt.Errorf("want FROM and TO, got %d arguments; gputax why -h shows what they can be", len(rest))
	}
	return whyVariants(ctx, stdout, stderr, o, rest[0], rest[1])
}

func (o *whyFlags) check() error {
	switch {
	case o.instances < 1:
		return fmt.Errorf("-instances %d: want at least 1", o.instances)
	case o.rounds < 1 || o.orders < 1:
		return errors.New("-rounds, -orders: want at least 1")
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
