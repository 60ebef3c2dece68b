package bench

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

// WriteText writes a comparison for people: for each package a table a unit of
// times, laid out like benchstat's; the exact rows that changed; what came and
// went; and a last line with the verdict. Colour is for terminals.
func (c *Comparison) WriteText(w io.Writer, colour bool) error {
	var out bytes.Buffer
	t := textWriter{&out, colour}
	fmt.Fprintf(&out, "old: %s\nnew: %s\n", c.OldName, c.NewName)
	all := c.pick(func(*Row) bool { return true })
	for _, pkg := range distinct(all, func(r *Row) string { return r.Pkg }) {
		rows := c.pick(func(r *Row) bool { return r.Pkg == pkg })
		if pkg != "" {
			fmt.Fprintf(&out, "pkg: %s\n", pkg)
		}
		t.times(rows)
		t.exact(rows)
		t.oneSided(rows, RowMissing)
		t.oneSided(rows, RowNew)
	}
	for _, r := range c.pick(func(r *Row) bool { return r.Verdict == RowAccepted }) {
		fmt.Fprintf(&out, "accepted: %s: %s\n", rowText(r), r.Note)
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(&out, "warning: %v\n", w)
	}
	if c.Timed > 0 {
		fmt.Fprintln(&out, c.method())
	}
	fmt.Fprintln(&out, t.paint(c.Summary(), c.Verdict() == Pass))
	_, err := w.Write(out.Bytes())
	return err
}

// Summary is the verdict in a line, with how many rows it rests on.
func (c *Comparison) Summary() string {
	var parts []string
	for _, v := range []RowVerdict{RowWorse, RowMissing, RowVaries, RowTooFew, RowAccepted, RowBetter, RowSame, RowNew, RowUnjudged} {
		if n := c.Count(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %v", n, v))
		}
	}
	s := map[Verdict]string{Pass: "PASS", Regression: "FAIL", Undecided: "UNDECIDED"}[c.Verdict()] + ": " + strings.Join(parts, ", ")
	if need := c.needed(); need > 0 {
		s += fmt.Sprintf("; take at least %d samples a side", need)
	}
	return s
}

// method says how times were judged.
func (c *Comparison) method() string {
	test := "Mann-Whitney"
	if c.Paired {
		test = "signed ranks of pairs"
	}
	s := fmt.Sprintf("times: %s by %s, alpha %g for all together", count(c.Timed, "row"), test, c.Alpha)
	if n := c.unsure(); n > 0 {
		s += fmt.Sprintf("; %d unsure, a change that counts was neither found nor excluded", n)
	}
	return s
}

// unsure is how many rows pass because noise hides what change there may be.
func (c *Comparison) unsure() int {
	n := 0
	for i := range c.Rows {
		if c.Rows[i].Verdict == RowSame && c.Rows[i].Need > 0 {
			n++
		}
	}
	return n
}

// needed is how many samples a side it takes for any verdict, 0 where there
// are enough.
func (c *Comparison) needed() int {
	for i := range c.Rows {
		if c.Rows[i].Verdict == RowTooFew {
			return c.Rows[i].Need
		}
	}
	return 0
}

// pick is the rows that keep says.
func (c *Comparison) pick(keep func(*Row) bool) []*Row {
	var out []*Row
	for i := range c.Rows {
		if keep(&c.Rows[i]) {
			out = append(out, &c.Rows[i])
		}
	}
	return out
}

// distinct is the values of key, in order of appearance.
func distinct(rows []*Row, key func(*Row) string) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range rows {
		if k := key(r); !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return out
}

// textWriter writes the parts of the text form.
type textWriter struct {
	out    *bytes.Buffer
	colour bool
}

func (t *textWriter) paint(s string, good bool) string {
	switch {
	case !t.colour:
		return s
	case good:
		return "\x1b[32m" + s + "\x1b[0m"
	}
	return "\x1b[31m" + s + "\x1b[0m"
}

// times writes a table for each unit of times that both sides have.
func (t *textWriter) times(rows []*Row) {
	byUnit := map[string][]*Row{}
	var units []string
	for _, r := range rows {
		if r.Exact || r.Old.N == 0 || r.New.N == 0 {
			continue
		}
		if byUnit[r.Unit] == nil {
			units = append(units, r.Unit)
		}
		byUnit[r.Unit] = append(byUnit[r.Unit], r)
	}
	for _, unit := range units {
		table := textTable{{unit, "old", "", "new", "", "change"}}
		for _, r := range byUnit[unit] {
			old, new := centers(r)
			table = append(table, []string{r.Benchmark, old, "± " + spread(r.Old), new, "± " + spread(r.New), deltaText(r),
				"(" + pText(r) + ")", t.mark(r)})
		}
		if g := geomean(byUnit[unit]); g != nil {
			table = append(table, g)
		}
		fmt.Fprintln(t.out)
		table.write(t.out, []int{2, 1, 2, 1, 2, 1, 2}, []int{1, 3, 5})
	}
}

// exact writes a table of the exact rows that are not equal.
func (t *textWriter) exact(rows []*Row) {
	table := textTable{{"exact", "unit", "old", "new", "change"}}
	equal := 0
	for _, r := range rows {
		switch {
		case !r.Exact || r.Old.N == 0 || r.New.N == 0:
		case r.Verdict == RowSame:
			equal++
		default:
			old, new := centers(r)
			table = append(table, []string{r.Benchmark, r.Written, old, new, deltaText(r), t.mark(r)})
		}
	}
	if len(table) > 1 {
		fmt.Fprintln(t.out)
		table.write(t.out, []int{2, 2, 2, 2, 2}, []int{2, 3, 4})
	}
	if equal > 0 {
		fmt.Fprintf(t.out, "\n%s equal\n", count(equal, "exact row"))
	}
}

// oneSided lists what only one side has: whole benchmarks by name, units by
// how many benchmarks they are in.
func (t *textWriter) oneSided(rows []*Row, v RowVerdict) {
	label := t.paint(v.String(), !v.Fails())
	var units []string
	in := map[string][]string{}
	for _, r := range rows {
		switch {
		case r.Verdict != v:
		case r.Unit == "" && r.Note != "":
			fmt.Fprintf(t.out, "%s: %s (%s)\n", label, r.Benchmark, r.Note)
		case r.Unit == "":
			fmt.Fprintf(t.out, "%s: %s\n", label, r.Benchmark)
		default:
			if in[r.Written] == nil {
				units = append(units, r.Written)
			}
			in[r.Written] = append(in[r.Written], r.Benchmark)
		}
	}
	for _, unit := range units {
		fmt.Fprintf(t.out, "%s: %s in %s\n", label, unit, some(in[unit], 2))
	}
}

// some is the first few of a list, and how many more there are.
func some(names []string, n int) string {
	if len(names) > n+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
	}
	return strings.Join(names, ", ")
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// mark is the verdict at the end of a row; nothing where all is the same.
func (t *textWriter) mark(r *Row) string {
	note := ""
	if r.Note != "" {
		note = ": " + r.Note
	}
	switch r.Verdict {
	case RowSame:
		if r.Need > 0 {
			return fmt.Sprintf("unsure: %s to %s", signedPercent(r.Effect.Lo), signedPercent(r.Effect.Hi))
		}
		return ""
	case RowTooFew:
		return t.paint(fmt.Sprintf("TOO FEW: need %d", r.Need), false)
	case RowBetter, RowAccepted: // why it was accepted stands below the tables
		return t.paint(r.Verdict.String(), true)
	case RowUnjudged: // a warning says why
		return r.Verdict.String()
	}
	return t.paint(strings.ToUpper(r.Verdict.String()), false) + note
}

// centers is both sides' values: exact ones in full, as they were written, the
// others in a common scale.
func centers(r *Row) (old, new string) {
	if r.Exact {
		old, new = exactText(r.Old.Center, r.Written), exactText(r.New.Center, r.Written)
	} else {
		s := benchunit.CommonScale([]float64{r.Old.Center, r.New.Center}, benchunit.ClassOf(r.Unit))
		old, new = s.Format(r.Old.Center), s.Format(r.New.Center)
	}
	if r.Old.N == 0 {
		old = "-"
	}
	if r.New.N == 0 {
		new = "-"
	}
	return old, new
}

func spread(s Summary) string {
	return benchmath.Summary{Center: s.Center, Lo: s.Lo, Hi: s.Hi}.PctRangeString()
}

// deltaText is the change, or ~ where chance explains it.
func deltaText(r *Row) string {
	chance := r.Verdict == RowSame || r.Verdict == RowTooFew || r.Verdict == RowUnjudged
	if chance && !r.Exact && r.P > benchmath.DefaultThresholds.CompareAlpha {
		return "~"
	}
	return signedPercent(r.Delta)
}

func signedPercent(delta float64) string {
	switch {
	case math.IsInf(delta, 0):
		return "from 0"
	case delta != 0 && math.Abs(delta) < 0.00005:
		return fmt.Sprintf("%+.1g%%", delta*100)
	}
	return fmt.Sprintf("%+.2f%%", delta*100)
}

func pText(r *Row) string {
	if r.Old.N == r.New.N {
		return fmt.Sprintf("p=%.3f n=%d", r.P, r.Old.N)
	}
	return fmt.Sprintf("p=%.3f n=%d+%d", r.P, r.Old.N, r.New.N)
}

// rowText is a row in a few words.
func rowText(r *Row) string {
	if r.Unit == "" {
		return r.Benchmark + " missing"
	}
	old, new := centers(r)
	unit := r.Unit
	if r.Exact {
		unit = r.Written
	}
	return fmt.Sprintf("%s %s %s -> %s", r.Benchmark, unit, old, new)
}

// geomean is the table's last row, as benchstat has it: the geometric means of
// the centers and of the ratios. A single row and one with a zero have none.
func geomean(rows []*Row) []string {
	var old, new, ratio float64
	for _, r := range rows {
		a, b := r.Old.Center, r.New.Center
		if a <= 0 || b <= 0 || len(rows) == 1 {
			return nil
		}
		old, new, ratio = old+math.Log(a), new+math.Log(b), ratio+math.Log(b/a)
	}
	n, class := float64(len(rows)), benchunit.ClassOf(rows[0].Unit)
	return []string{"geomean", benchunit.Scale(math.Exp(old/n), class), "", benchunit.Scale(math.Exp(new/n), class), "",
		signedPercent(math.Exp(ratio/n) - 1)}
}
