package gate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"gputax/bench"
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
	for i, x := range r.Causes {
		if i == 0 {
			fmt.Fprint(&out, "\n#### The cause\n")
		}
		fmt.Fprintln(&out)
		if err := x.WriteMarkdown(&out); err != nil {
			return err
		}
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
func (r *Report) WriteText(w io.Writer, style bench.Style, colour bool) error {
	var out bytes.Buffer
	if err := r.Comparison.WriteText(&out, colour); err != nil {
		return err
	}
	if r.Disturbed != "" {
		fmt.Fprintf(&out, "machine disturbed: %s\n", r.Disturbed)
	}
	for _, x := range r.Causes {
		fmt.Fprint(&out, "\nthe cause: ")
		if err := x.WriteText(&out, style); err != nil {
			return err
		}
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
	s := "No times were to be taken"
	switch {
	case r.Untimed:
		s = "Times were not taken, as exact rows fail already"
	case r.Taken > 0:
		s = fmt.Sprintf("%s of runs in alternation", count(r.Taken, "pair", "pairs"))
		if r.Dropped > 0 {
			s += fmt.Sprintf(", %d of them taken again as the machine was not calm", r.Dropped)
		}
	}
	return fmt.Sprintf("%s; %v in all; seed %d.", s, r.Took.Round(time.Second), r.Seed)
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	var comparison bytes.Buffer
	if err := r.Comparison.WriteJSON(&comparison); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(struct {
		Verdict    string               `json:"verdict"`
		Disturbed  string               `json:"disturbed,omitempty"`
		Pairs      int                  `json:"pairs"`
		Dropped    int                  `json:"pairs_dropped"`
		Seed       uint64               `json:"seed"`
		Seconds    float64              `json:"seconds"`
		Profiles   []Profile            `json:"profiles,omitempty"`
		Causes     []*bench.Explanation `json:"causes,omitempty"`
		Comparison json.RawMessage      `json:"comparison"`
	}{r.Verdict().String(), r.Disturbed, r.Taken, r.Dropped, r.Seed, r.Took.Seconds(), r.Profiles, r.Causes, comparison.Bytes()})
}
