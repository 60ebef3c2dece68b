package bench

import (
	"fmt"
	"io"
	"strings"
)

// title is what was compared, in a line.
func (a *Attribution) title() string {
	t := strings.TrimSpace(a.From + " -> " + a.To)
	if a.From == "" && a.To == "" {
		t = "none switched -> all switched"
	}
	if a.Op != "" {
		t += ", " + a.Op
	}
	return t
}

func (a *Attribution) totals() string {
	return fmt.Sprintf("%s -> %s: %s", timeText(float64(a.Before)), timeText(float64(a.After)), differenceText(float64(a.Before), float64(a.After)))
}

// method is how it was found out, in a line.
func (a *Attribution) method() string {
	how := fmt.Sprintf("all %d combinations", len(a.Combinations))
	if a.Permutations > 0 {
		how = fmt.Sprintf("%d random orders of switching (%d combinations, seed %d)", a.Permutations, len(a.Combinations), a.Seed)
	}
	switch {
	case a.Exact:
		return "Shapley shares of " + how + ", each run once: its time is exact."
	case a.Permutations > 0:
		return "Shapley shares of " + how + ", with 95% intervals."
	}
	return fmt.Sprintf("Shapley shares of %s, %d interleaved rounds (seed %d), medians, with 95%% intervals.", how, a.Rounds, a.Seed)
}

// verdict names the culprit, or says why there is none.
func (a *Attribution) verdict() string {
	if s, ok := a.Culprit(); ok {
		return fmt.Sprintf("The largest share is that of %s: %s, %s of the difference.", s.Name, signedTime(float64(s.NS)), fractionText(s.Fraction))
	}
	return "No factor is named: the difference or its largest share is not clear of 0."
}

// shownInteractions are those worth a line: of at least 1% of the largest
// share.
func (a *Attribution) shownInteractions() []Interaction {
	for i, x := range a.Interactions {
		if x.NS == 0 || 100*abs(x.NS) < abs(a.Shares[0].NS) {
			return a.Interactions[:i]
		}
	}
	return a.Interactions
}

func (a *Attribution) inexact() bool { return !a.Exact || a.Permutations > 0 }

// WriteText writes the attribution for a terminal, with a bar for each share.
func (a *Attribution) WriteText(w io.Writer, s Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", a.title(), a.totals())
	var rows []barRow
	for _, f := range a.Shares {
		cells := []string{f.Name, f.settings(), signedTime(float64(f.NS)), fractionText(f.Fraction)}
		if a.inexact() {
			cells = append(cells, fmt.Sprintf("[%s, %s]", signedTime(float64(f.Low)), signedTime(float64(f.High))))
		}
		rows = append(rows, barRow{cells: cells, value: float64(f.NS)})
	}
	total := []string{"together", "", signedTime(float64(a.Delta)), fractionText(1)}
	if a.inexact() {
		total = append(total, fmt.Sprintf("[%s, %s]", signedTime(float64(a.DeltaLow)), signedTime(float64(a.DeltaHigh))))
	}
	barChart(&b, s, "  ", 2, append(rows, barRow{cells: total, bare: true}))
	if shown := a.shownInteractions(); len(shown) > 0 {
		b.WriteString("\nTwo switched together, beyond each by itself (half is in the share of each):\n")
		rows = nil
		for _, x := range shown {
			rows = append(rows, barRow{cells: []string{x.A + " with " + x.B, signedTime(float64(x.NS))}, value: float64(x.NS)})
		}
		barChart(&b, s, "  ", 1, rows)
	}
	fmt.Fprintf(&b, "\n%s\n%s\n", a.verdict(), a.method())
	for _, warning := range a.Warnings {
		fmt.Fprintf(&b, "note: %s\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the attribution for a comment.
func (a *Attribution) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**: %s\n\n", a.title(), a.totals())
	b.WriteString("| factor | from | to | share | of the difference | 95% interval |\n|---|---|---|--:|--:|---|\n")
	for _, f := range a.Shares {
		interval := "exact"
		if a.inexact() {
			interval = fmt.Sprintf("%s to %s", signedTime(float64(f.Low)), signedTime(float64(f.High)))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.Name, f.From, f.To, signedTime(float64(f.NS)), fractionText(f.Fraction), interval)
	}
	fmt.Fprintf(&b, "| together | | | %s | 100%% | |\n\n", signedTime(float64(a.Delta)))
	for _, x := range a.shownInteractions() {
		fmt.Fprintf(&b, "- %s with %s: %s beyond each by itself\n", x.A, x.B, signedTime(float64(x.NS)))
	}
	fmt.Fprintf(&b, "\n%s %s\n", a.verdict(), a.method())
	for _, warning := range a.Warnings {
		fmt.Fprintf(&b, "\nNote: %s.\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
