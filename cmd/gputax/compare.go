package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"gputax/bench"

	"golang.org/x/perf/benchproc"
	"golang.org/x/perf/benchunit"
	"golang.org/x/term"
)

const compareAbout = `Compares benchmark results, any producer's in Go benchmark format, and judges
them: times by statistics, exact counters by equality. OLD and NEW are files,
directories with a bench.txt, patterns, or lists of those with commas. Traces of
torch.profiler and exports of Nsight Systems are results too, one a step
(docs/pytorch.md).

It exits with 0 when nothing got worse, 1 on a regression, and 2 on an error or
where there are too few samples to tell. docs/compare.md says what counts.

  gputax compare old.txt new.txt
  gputax compare -min-effect 5% -unit ns/op old.txt new.txt
  gputax compare -format markdown 'old/*.txt' 'new/*.txt'
  gputax compare -skip 1 before.json.gz after.json.gz`

// compareFlags are the flags of gputax compare.
type compareFlags struct {
	format, filter, units, accept string
	old, new                      []string
	opt                           bench.CompareOptions
	imports                       importFlags
}

// compareCommand is gputax compare.
func compareCommand(_ context.Context, stdout, stderr io.Writer, args []string) error {
	c, err := parseCompare(stdout, args)
	if err != nil {
		return err
	}
	filter, err := resultFilter(c.filter, c.units)
	if err != nil {
		return err
	}
	if c.accept != "" {
		if c.opt.Accept, err = readAcceptFile(c.accept); err != nil {
			return err
		}
	}
	c.imports.warn = stderr
	old, err := readSide(c.old, filter, &c.imports)
	if err != nil {
		return fmt.Errorf("old: %w", err)
	}
	new, err := readSide(c.new, filter, &c.imports)
	if err != nil {
		return fmt.Errorf("new: %w", err)
	}
	if err := checkUnits(c.units, old, new); err != nil {
		return err
	}
	result, err := bench.Compare(old, new, c.opt)
	if err != nil {
		return err
	}
	if err := writeComparison(stdout, result, c.format); err != nil {
		return err
	}
	switch result.Verdict() {
	case bench.Regression:
		return errRegression
	case bench.Undecided:
		return errors.New(result.Summary())
	}
	return nil
}

// parseCompare reads the command line.
func parseCompare(stdout io.Writer, args []string) (*compareFlags, error) {
	c := &compareFlags{opt: bench.CompareOptions{MinEffect: map[string]float64{}}}
	f := newFlags("compare")
	f.StringVar(&c.format, "format", "text", "print `text`, markdown, json or csv")
	f.Float64Var(&c.opt.Alpha, "alpha", bench.DefaultAlpha, "chance of any false verdict in the comparison")
	f.Func("min-effect", "least change of a time that counts, `2%` or ns/op=5%; may be repeated (default 2%)", func(s string) error {
		unit, effect, err := parseEffect(s)
		c.opt.MinEffect[unit] = effect
		return err
	})
	f.BoolVar(&c.opt.Paired, "paired", false, "the i-th samples of both sides were taken together, in alternation")
	f.BoolVar(&c.opt.AllowMissing, "allow-missing", false, "benchmarks and units may be missing in NEW")
	f.StringVar(&c.accept, "accept", "", "let pass what this `file` lists: BENCHMARK UNIT NEWVALUE REASON")
	f.StringVar(&c.filter, "filter", "", "only results that match this benchstat `filter`, such as '.name:Epoch /device:host'")
	f.StringVar(&c.units, "unit", "", "only these units (comma-separated `list`)")
	f.Func("old", "another `file` of the old side; may be repeated", func(s string) error { c.old = append(c.old, s); return nil })
	f.Func("new", "another `file` of the new side; may be repeated", func(s string) error { c.new = append(c.new, s); return nil })
	c.imports.register(f)
	c.imports.timesFlag(f)
	rest, err := parseArgs(f, "OLD NEW", compareAbout, stdout, args)
	if err != nil {
		return nil, err
	}
	if len(rest) == 2 {
		c.old, c.new, rest = append(c.old, rest[0]), append(c.new, rest[1]), nil
	}
	if len(rest) > 0 || len(c.old) == 0 || len(c.new) == 0 {
		return nil, errors.New("want OLD and NEW; gputax compare -h shows how")
	}
	if formats := []string{"text", "markdown", "json", "csv"}; !slices.Contains(formats, c.format) {
		return nil, fmt.Errorf("-format %q%s; there are text, markdown, json and csv", c.format, suggest(c.format, formats))
	}
	if a := c.opt.Alpha; !(a > 0 && a < 1) {
		return nil, fmt.Errorf("-alpha %v: want a chance above 0 and below 1", a)
	}
	return c, nil
}

// parseEffect reads 2%, 0.02 or UNIT=2%.
func parseEffect(s string) (unit string, effect float64, err error) {
	if i := strings.LastIndexByte(s, '='); i >= 0 {
		unit, s = s[:i], s[i+1:]
	}
	number, isPercent := strings.CutSuffix(s, "%")
	effect, err = strconv.ParseFloat(number, 64)
	if isPercent {
		effect /= 100
	}
	if err != nil || !(effect >= 0 && effect < 1) {
		return unit, 0, fmt.Errorf("%q: want a change below 100%%, such as 2%% or 0.02", s)
	}
	return unit, effect, nil
}

// resultFilter is what -filter and -unit leave, nil for all.
func resultFilter(filter, units string) (*benchproc.Filter, error) {
	if filter == "" && units == "" {
		return nil, nil
	}
	if filter != "" {
		if _, err := benchproc.NewFilter(filter); err != nil {
			what, _, _ := strings.Cut(err.Error(), "\n") // below it, a drawing of where
			return nil, fmt.Errorf("-filter %s: %s", filter, what)
		}
		filter = "(" + filter + ")"
	}
	if units != "" {
		var quoted []string
		for _, u := range strings.Split(units, ",") {
			quoted = append(quoted, strconv.Quote(u))
		}
		filter += " .unit:(" + strings.Join(quoted, " OR ") + ")"
	}
	f, err := benchproc.NewFilter(strings.TrimSpace(filter))
	if err != nil {
		return nil, fmt.Errorf("-unit %s: %w", units, err)
	}
	return f, nil
}

// checkUnits refuses a unit that was asked for and that neither side has: a
// slip of the pen must not take a unit out of the comparison.
func checkUnits(units string, sides ...*bench.Results) error {
	if units == "" {
		return nil
	}
	for _, u := range strings.Split(units, ",") {
		_, tidied := benchunit.Tidy(1, u)
		if !slices.ContainsFunc(sides, func(r *bench.Results) bool { return slices.Contains(r.Units(), tidied) }) {
			return fmt.Errorf("-unit %s: neither side has it", u)
		}
	}
	return nil
}

func readAcceptFile(path string) ([]bench.Acceptance, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("-accept: %w", err)
	}
	defer f.Close()
	return bench.ReadAccept(f, path)
}

func writeComparison(w io.Writer, c *bench.Comparison, format string) error {
	switch format {
	case "markdown":
		return c.WriteMarkdown(w)
	case "json":
		return c.WriteJSON(w)
	case "csv":
		return c.WriteCSV(w)
	}
	return c.WriteText(w, colourful(w))
}

// colourful says whether w is a terminal whose owner has not asked for plain
// text.
func colourful(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
}
