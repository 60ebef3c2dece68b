package bench

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// textTable is rows of cells; a row may end early.
type textTable [][]string

// write aligns columns: gaps are the spaces before the second column and on,
// and those named in right lean to the right. The last column is not padded.
func (t textTable) write(w io.Writer, gaps, right []int) error {
	var widths []int
	for _, row := range t {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	for _, row := range t {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString(strings.Repeat(" ", gaps[i-1]))
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if slices.Contains(right, i) {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}
