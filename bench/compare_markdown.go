package bench

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// markdownRows is the most rows of one table of a comment: code hosts refuse
// comments that are too long.
const markdownRows = 100

// WriteMarkdown writes a comparison as a comment for a pull request: the
// verdict, the rows that fail or were let pass, those that improved, and the
// rest folded away.
func (c *Comparison) WriteMarkdown(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "**%s**\n", markdownText(c.Summary()))
	pick := func(verdicts ...RowVerdict) []*Row {
		return c.pick(func(r *Row) bool { return slices.Contains(verdicts, r.Verdict) })
	}
	if rows := slices.Concat(pick(RowWorse, RowMissing, RowVaries, RowTooFew), pick(RowAccepted)); len(rows) > 0 {
		fmt.Fprintln(&out)
		markdownTable(&out, rows)
	}
	if rows := pick(RowBetter); len(rows) > 0 {
		fmt.Fprint(&out, "\nImproved:\n\n")
		markdownTable(&out, rows)
	}
	if len(c.Warnings) > 0 {
		fmt.Fprintln(&out)
		for _, w := range c.Warnings {
			fmt.Fprintf(&out, "- warning: %s\n", markdownText(w.Error()))
		}
	}
	rest := pick(RowSame, RowNew, RowUnjudged)
	equal := len(rest)
	rest = slices.DeleteFunc(rest, func(r *Row) bool { return r.Exact && r.Verdict == RowSame })
	if equal -= len(rest); equal > 0 {
		fmt.Fprintf(&out, "\n%s equal.\n", count(equal, "exact row"))
	}
	if len(rest) > 0 {
		fmt.Fprintf(&out, "\n<details><summary>%s</summary>\n\n", count(len(rest), "more row"))
		markdownTable(&out, rest)
		fmt.Fprint(&out, "\n</details>\n")
	}
	fmt.Fprintf(&out, "\nold: %s, new: %s", markdownText(c.OldName), markdownText(c.NewName))
	if c.Timed > 0 {
		fmt.Fprintf(&out, "; %s", markdownText(c.method()))
	}
	fmt.Fprintln(&out)
	_, err := w.Write(out.Bytes())
	return err
}

func markdownTable(out *bytes.Buffer, rows []*Row) {
	fmt.Fprint(out, "| | benchmark | unit | old | new | change | |\n|---|---|---|--:|--:|--:|---|\n")
	for i, r := range rows {
		if i == markdownRows {
			fmt.Fprintf(out, "\n... and %d more\n", len(rows)-i)
			break
		}
		old, new := centers(r)
		unit := r.Unit
		if r.Exact {
			unit = r.Written
		}
		change, note := "", ""
		if r.Old.N > 0 && r.New.N > 0 {
			change = deltaText(r)
			if !r.Exact {
				note = pText(r)
			}
		}
		if r.Note != "" {
			note = strings.TrimPrefix(note+"; "+r.Note, "; ")
		}
		verdict := r.Verdict.String()
		if r.Verdict.Fails() || r.Verdict == RowTooFew {
			verdict = "**" + verdict + "**"
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s |\n", verdict, markdownText(r.Benchmark), markdownText(unit), old, new, change,
			markdownText(note))
	}
}

// markdownText keeps what results say from being read as markup.
func markdownText(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return markdownEscapes.Replace(s)
}

var markdownEscapes = strings.NewReplacer("\\", "\\\\", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "<", "&lt;", "&", "&amp;",
	"[", "\\[", "@", "&#64;", "~", "\\~", "#", "&#35;")
