package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// Style is how a report is laid out for a terminal.
type Style struct {
	Width int  // columns; 0 is 80
	ASCII bool // no block characters
}

func (s Style) width() int {
	if s.Width <= 0 {
		return 80
	}
	return s.Width
}

// barRow is one line of a bar chart: cells, and a value that the bar shows.
type barRow struct {
	cells []string
	value float64
	bare  bool // no bar: a sum under the bars
}

// barChart writes rows as a table with a bar at each row's end: full where the
// value is above 0, light where it is below. The first cells, as many as left,
// stand left, the others right. Columns take what they need; the bars get the
// rest of the width, and where that is less than minBar they are left out.
func barChart(w io.Writer, s Style, indent string, left int, rows []barRow) {
	var widths []int
	most := 0.0
	for _, r := range rows {
		for i, c := range r.cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
		if !r.bare {
			most = max(most, math.Abs(r.value))
		}
	}
	room := s.width() - len(indent) - 1
	for _, n := range widths {
		room -= n + 2
	}
	for _, r := range rows {
		var line strings.Builder
		line.WriteString(indent)
		for i, c := range r.cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i < left {
				line.WriteString(c + pad + "  ")
			} else {
				line.WriteString(pad + c + "  ")
			}
		}
		if most > 0 && !r.bare && room >= minBar {
			line.WriteString(bar(r.value/most, min(room, maxBar), s.ASCII))
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// The widths between which bars are drawn.
const (
	minBar = 6
	maxBar = 40
)

// bar is a bar of part, from -1 to 1, of width columns.
func bar(part float64, width int, ascii bool) string {
	n := math.Abs(part) * float64(width)
	switch {
	case ascii && part < 0:
		return strings.Repeat("-", int(math.Round(n)))
	case ascii:
		return strings.Repeat("#", int(math.Round(n)))
	case part < 0:
		return strings.Repeat("░", int(math.Round(n)))
	}
	eighths := int(math.Round(n * 8))
	out := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		out += string("▏▎▍▌▋▊▉"[3*(rest-1) : 3*rest])
	}
	return out
}

// timeText is a time with three digits: 5.18 ms.
func timeText(ns float64) string {
	for _, u := range []struct {
		unit string
		ns   float64
	}{{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}} {
		if math.Abs(ns) >= 0.9995*u.ns {
			return threeDigits(ns/u.ns) + " " + u.unit
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}

// signedTime is timeText with a sign, and a plain 0 for nothing.
func signedTime(ns float64) string {
	switch {
	case ns == 0:
		return "0"
	case ns > 0:
		return "+" + timeText(ns)
	}
	return timeText(ns)
}

func threeDigits(v float64) string {
	switch a := math.Abs(v); {
	case a < 9.995:
		return fmt.Sprintf("%.2f", v)
	case a < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// fractionText is a fraction in percent, with a digit after the point where it is
// small.
func fractionText(fraction float64) string {
	p := 100 * fraction
	if math.Abs(p) < 9.95 {
		p = math.Round(10*p) / 10
		return fmt.Sprintf("%.1f%%", p+0) // -0 is 0
	}
	return fmt.Sprintf("%.0f%%", p)
}

// differenceText is how after stands to before in words: "3.08 ms less (-59.5%)".
func differenceText(before, after float64) string {
	d, word := after-before, "more"
	if d < 0 {
		word = "less"
	}
	if d == 0 {
		return "the same"
	}
	text := timeText(math.Abs(d)) + " " + word
	switch {
	case before <= 0:
		return text
	case after >= 2*before:
		return fmt.Sprintf("%s (%sx)", text, threeDigits(after/before))
	}
	return fmt.Sprintf("%s (%+.1f%%)", text, 100*d/before)
}
