package profiles

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// table writes a Markdown table.
func table(b *bytes.Buffer, head []string, rows func(row func(cells ...string))) {
	line := func(cells ...string) {
		for i := range cells {
			cells[i] = strings.ReplaceAll(oneLine(cells[i]), "|", "\\|")
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	line(head...)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	rows(line)
}

// oneLine is s without line breaks, which would end a table's row.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// code is a command as Markdown; an address stays what it is.
func code(s string) string {
	if s == "" || strings.Contains(s, "://") {
		return s
	}
	return "`" + s + "`"
}

func durationText(d time.Duration) string {
	ns := float64(d)
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return threeDigits(ns/1e3) + " us"
	case ns < 1e9:
		return threeDigits(ns/1e6) + " ms"
	}
	return threeDigits(ns/1e9) + " s"
}

func bytesText(n int64) string {
	switch {
	case n < 1e3:
		return fmt.Sprint(n)
	case n < 1e6:
		return threeDigits(float64(n)/1e3) + "k"
	case n < 1e9:
		return threeDigits(float64(n)/1e6) + "M"
	}
	return threeDigits(float64(n)/1e9) + "G"
}

// threeDigits is v with three digits, never in exponent form.
func threeDigits(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func percent(part, whole time.Duration) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}
