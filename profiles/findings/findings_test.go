package findings

import (
	"slices"
	"strings"
)

// skips says whether a report left a rule out for a reason with why in it.
func skips(r *Report, rule Rule, why string) bool {
	return slices.ContainsFunc(r.Skipped, func(s Skipped) bool { return s.Rule == rule.Name && strings.Contains(s.Why, why) })
}
