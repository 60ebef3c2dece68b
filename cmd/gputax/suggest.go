package main

import (
	"fmt"
	"slices"
	"strings"
)

// suggest is "; did you mean ...?" with the names near to name, or nothing.
func suggest(name string, names []string) string {
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, n := range names {
		d := editDistance(name, n)
		if strings.Contains(n, name) || d <= 1+len(n)/3 {
			found = append(found, near{n, d})
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.distance - b.distance })
	found = found[:min(len(found), 3)]
	quoted := make([]string, len(found))
	for i, f := range found {
		quoted[i] = f.name
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(quoted, " or "))
}

// editDistance is how many letters must be changed, added or removed to turn a
// into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
