package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// shownParts is how many phases or functions a report shows.
const shownParts = 8

func (x *Explanation) totals() string {
	return fmt.Sprintf("%s -> %s (%s): %s", timeText(x.Before), timeText(x.After), x.Unit, differenceText(x.Before, x.After))
}

// WriteText writes the explanation for a terminal, with bars.
func (x *Explanation) WriteText(w io.Writer, s Style) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", x.Benchmark, x.totals())
	if len(x.Events) > 0 {
		b.WriteString("\n" + x.eventsHead() + "\n")
		var rows []barRow
		for _, e := range x.shownEvents() {
			rows = append(rows, barRow{cells: eventCells(e), value: e.NS})
		}
		if x.PricedBy != "" {
			rows = append(rows, barRow{cells: []string{"together", "", "", signedTime(x.Explained * x.Delta), fractionText(x.Explained)}, bare: true})
		}
		barChart(&b, s, "  ", 1, rows)
	}
	for _, t := range []struct {
		head  string
		parts []Part
	}{{"Phases, on the host's time line:", x.Phases}, {fmt.Sprintf("Host functions, by CPU profiles; all together %s:", fractionText(x.FunctionsExplained)), x.Functions}} {
		rows := partRows(t.parts)
		if len(rows) > 0 {
			fmt.Fprintf(&b, "\n%s\n", t.head)
			barChart(&b, s, "  ", 1, rows)
		}
	}
	fmt.Fprintf(&b, "\n%s\n", x.Verdict)
	for _, warning := range x.Warnings {
		fmt.Fprintf(&b, "note: %s\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shownEvents is the events worth a line: of at least a thousandth of the
// dearest, or without a price.
func (x *Explanation) shownEvents() []Event {
	var shown []Event
	for _, e := range x.Events {
		if e.Price == 0 || 1000*math.Abs(e.NS) >= math.Abs(x.Events[0].NS) {
			shown = append(shown, e)
		}
	}
	return shown
}

func (x *Explanation) eventsHead() string {
	if x.PricedBy == "" {
		return "Counted events that changed; there are no prices for them:"
	}
	return "Counted events that changed, at the prices of " + x.PricedBy + ":"
}

func eventCells(e Event) []string {
	if e.Price == 0 {
		return []string{e.Name, signedCount(e.Change), "", "", ""}
	}
	return []string{e.Name, signedCount(e.Change), "x " + priceText(e.Price), signedTime(e.NS), fractionText(e.Fraction)}
}

// priceText is a price, which may be a fraction of a nanosecond.
func priceText(ns float64) string {
	if ns < 10 {
		return fmt.Sprintf("%.2g ns", ns)
	}
	return timeText(ns)
}

func signedCount(n float64) string {
	switch a := math.Abs(n); {
	case a < 1e6:
		return fmt.Sprintf("%+.0f", n)
	case a < 1e9:
		return fmt.Sprintf("%+.3gM", n/1e6)
	}
	return fmt.Sprintf("%+.3gG", n/1e9)
}

// partRows is the parts that changed, the largest few.
func partRows(parts []Part) []barRow {
	var rows []barRow
	for _, p := range parts {
		if p.NS == 0 || len(rows) == shownParts {
			break
		}
		rows = append(rows, barRow{cells: []string{p.Name, timeText(p.Before), timeText(p.After), signedTime(p.NS), fractionText(p.Fraction)}, value: p.NS})
	}
	return rows
}

// WriteMarkdown writes the explanation for a comment.
func (x *Explanation) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**`%s`**: %s\n\n%s\n", x.Benchmark, x.totals(), x.Verdict)
	if len(x.Events) > 0 {
		fmt.Fprintf(&b, "\n%s\n\n| event | change | price | time | of the difference |\n|---|--:|--:|--:|--:|\n", x.eventsHead())
		for _, e := range x.shownEvents() {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(eventCells(e), " | "))
		}
	}
	for _, t := range []struct {
		head  string
		parts []Part
	}{{"phase", x.Phases}, {"host function", x.Functions}} {
		rows := partRows(t.parts)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n| %s | before | after | change | of the difference |\n|---|--:|--:|--:|--:|\n", t.head)
		for _, r := range rows {
			r.cells[0] = "`" + r.cells[0] + "`"
			fmt.Fprintf(&b, "| %s |\n", strings.Join(r.cells, " | "))
		}
	}
	for _, warning := range x.Warnings {
		fmt.Fprintf(&b, "\nNote: %s.\n", warning)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
