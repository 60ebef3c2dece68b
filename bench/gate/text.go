package gate

import (
	"bytes"
	"fmt"
	"io"
	"time"
)

// WriteMarkdown writes the report as a comment for a pull request: the verdict
// and the table, the cause, the profiles, and how it was measured.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprint(&out, "### gputax gate\n\n")
	if r.Disturbed != "" {
		fmt.Fprintf(&out, "The machine was disturbed, so times are not judged: %s.\n\n", r.Disturbed)
	}
	if err := r.Comparison.WriteMarkdown(&out); err != nil {
		return err
	}
	if r.Cause != "" {
		fmt.Fprintf(&out, "\n#### The cause\n\n%s\n", r.Cause)
	}
	if len(r.Profiles) > 0 {
		fmt.Fprint(&out, "\n#### CPU profiles\n\n")
		for _, p := range r.Profiles {
			fmt.Fprintf(&out, "- `go tool pprof -diff_base %s %s`\n", p.Old, p.New)
		}
	}
	fmt.Fprintf(&out, "\n%s\n", r.measured())
	_, err := w.Write(out.Bytes())
	return err
}

// WriteText writes the report for a terminal.
func (r *Report) WriteText(w io.Writer, colour bool) error {
	var out bytes.Buffer
	if err := r.Comparison.WriteText(&out, colour); err != nil {
		return err
	}
	if r.Disturbed != "" {
		fmt.Fprintf(&out, "machine disturbed: %s\n", r.Disturbed)
	}
	if r.Cause != "" {
		fmt.Fprintf(&out, "\nthe cause:\n\n%s\n", r.Cause)
	}
	for _, p := range r.Profiles {
		fmt.Fprintf(&out, "profiles: go tool pprof -diff_base %s %s\n", p.Old, p.New)
	}
	fmt.Fprintln(&out, r.measured())
	_, err := w.Write(out.Bytes())
	return err
}

// measured says how it was measured.
func (r *Report) measured() string {
	s := "Nothing was timed"
	if r.Taken > 0 {
		s = fmt.Sprintf("%s of runs in alternation", count(r.Taken, "pair", "pairs"))
		if r.Dropped > 0 {
			s += fmt.Sprintf(", %d of them taken again as the machine was not calm", r.Dropped)
		}
	}
	return fmt.Sprintf("%s; %v in all; seed %d.", s, r.Took.Round(time.Second), r.Seed)
}
