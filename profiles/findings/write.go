package findings

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// WriteJSON writes the report as indented JSON; lists that are empty are [].
func (r *Report) WriteJSON(w io.Writer) error {
	out := *r
	out.Findings = append([]Finding{}, r.Findings...)
	out.Skipped = append([]Skipped{}, r.Skipped...)
	out.Warnings = append([]string{}, r.Warnings...)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(&out)
}

// small is the share of the window under which a finding is listed in one line
// at the end.
const small = 0.01

// WriteMarkdown writes the report for people.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Findings\n\n")
	fmt.Fprintf(&b, "%s, %s recorded", r.Source, duration(r.Epoch))
	if r.Steps > 0 {
		fmt.Fprintf(&b, ", %s steps", number(int64(r.Steps)))
	}
	fmt.Fprintf(&b, ". Prices are by %s:\nwhat the recorded time would be shorter by. Several may be for the same calls; they do not add up.\n\n", r.Prices)
	r.writeSplit(&b)
	var minor []Finding
	n := 0
	for _, f := range r.Findings {
		if f.Share < small && f.Unpriced == "" {
			minor = append(minor, f)
			continue
		}
		n++
		f.write(&b, n)
	}
	if n == 0 {
		b.WriteString("No finding is worth 1% of it.\n\n")
	}
	if len(minor) > 0 {
		b.WriteString("## Under 1%\n\n")
		for _, f := range minor {
			fmt.Fprintf(&b, "- %s (`%s`, %s). %s\n", f.Title, f.Rule, f.price(), f.Advice)
		}
		b.WriteString("\n")
	}
	r.writeRest(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeSplit says where the window went.
func (r *Report) writeSplit(b *strings.Builder) {
	if r.Epoch <= 0 {
		return
	}
	b.WriteString("| the device | time | share |\n|---|---|---|\n")
	row := func(what string, t int64) {
		if t > 0 {
			fmt.Fprintf(b, "| %s | %s | %.1f%% |\n", what, duration(t), 100*share(t, r.Epoch))
		}
	}
	row("runs kernels", r.Time.Kernels)
	row("copies, and no kernel runs", r.Time.Copies)
	for _, p := range r.Time.Idle {
		row("is idle: "+p.Cause, p.Time)
	}
	b.WriteString("\n")
}

// write is one finding as a section.
func (f *Finding) write(b *strings.Builder, n int) {
	likely := ""
	if f.Likely {
		likely = "likely: "
	}
	fmt.Fprintf(b, "## %d. %s%s\n\n%s (`%s`)\n\n", n, likely, f.Title, f.price(), f.Rule)
	f.Evidence.write(b)
	fmt.Fprintf(b, "- Do: %s\n\n", f.Advice)
}

func (e *Evidence) write(b *strings.Builder) {
	b.WriteString("- Seen:")
	if e.Count > 0 {
		b.WriteString(" " + number(e.Count))
	}
	if len(e.Names) > 0 {
		fmt.Fprintf(b, " of `%s`", strings.Join(shortNames(e.Names), "`, `"))
	}
	if e.Bytes > 0 {
		fmt.Fprintf(b, ", %s", size(e.Bytes))
	}
	if e.Count > 0 {
		fmt.Fprintf(b, ", charged %s.", duration(e.Time))
	}
	if e.Note != "" {
		fmt.Fprintf(b, " %s%s.", strings.ToUpper(e.Note[:1]), e.Note[1:])
	}
	b.WriteString("\n")
	for _, p := range e.Places {
		fmt.Fprintf(b, "  - %s: %s, %s", orUnnamed(p.Phase), number(p.Count), duration(p.Time))
		if p.Site != "" {
			fmt.Fprintf(b, "; first in %s", p.Site)
		}
		if p.Step >= 0 {
			fmt.Fprintf(b, ", step %d", p.Step)
		}
		b.WriteString("\n")
	}
}

// price is a finding's price in words.
func (f *Finding) price() string {
	if f.Unpriced != "" {
		return "no price: " + f.Unpriced
	}
	s := fmt.Sprintf("%s, %.1f%% of the time", duration(f.Price), 100*f.Share)
	if f.PerStep > 0 {
		s += fmt.Sprintf(", %s a step", duration(f.PerStep))
	}
	if f.PerEpoch > 0 && f.PerEpoch != f.Price {
		s += fmt.Sprintf(", %s an epoch", duration(f.PerEpoch))
	}
	return s
}

// shortNames are kernels' names without what C++ adds to them: types, template
// arguments, parameters.
func shortNames(names []string) []string {
	var out []string
	for _, n := range names {
		n = strings.ReplaceAll(strings.TrimPrefix(n, "void "), "(anonymous namespace)::", "")
		if i := strings.IndexAny(n, "<("); i > 0 && !strings.Contains(n[:i], " ") {
			n = n[:i]
		}
		if len(n) > longestName {
			n = n[:longestName] + "..."
		}
		out = append(out, n)
	}
	return out
}

// longestName is how much of a name is shown.
const longestName = 60

func orUnnamed(phase string) string {
	if phase == "" {
		return "(no phase)"
	}
	return phase
}

// writeRest says what was not looked at, and what the recording warns of.
func (r *Report) writeRest(b *strings.Builder) {
	if len(r.Skipped) > 0 {
		b.WriteString("## Not looked for\n\n")
		for _, s := range r.Skipped {
			fmt.Fprintf(b, "- `%s`: %s\n", s.Rule, s.Why)
		}
		b.WriteString("\n")
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(b, "Warning: %s\n\n", w)
	}
}
