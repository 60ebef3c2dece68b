package annotate

import (
	"fmt"
	"slices"
	"strings"

	"gputax/profiles"
)

// unseen says what the ranges did not tell.
func (n *Notes) unseen() {
	say := func(k profiles.Knowledge, why string) {
		if n.r.Source.Unseen == nil {
			n.r.Source.Unseen = map[profiles.Knowledge]string{}
		}
		n.r.Source.Unseen[k] = why
	}
	if len(n.r.Steps) == 0 {
		why := fmt.Sprintf("no range is named like %q", n.step)
		if n.step == defaultStep {
			why = "no range is named ProfilerStep#n or `step n`"
		}
		if names := n.frequent(); names != "" {
			why += "; there are " + names
		}
		say(profiles.StepBounds, why)
	}
	if len(n.r.Phases) == 0 {
		say(profiles.PhaseNames, "no named ranges within steps")
	}
}

// frequent lists the names of the most ranges.
func (n *Notes) frequent() string {
	count := map[profiles.NameID]int{}
	for i := range n.threads {
		for _, s := range n.threads[i].spans {
			count[s.name]++
		}
	}
	var ids []profiles.NameID
	for id := range count {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b profiles.NameID) int {
		if count[a] != count[b] {
			return count[b] - count[a]
		}
		return strings.Compare(n.r.Names.Name(a), n.r.Names.Name(b))
	})
	const most = 5
	var out []string
	for _, id := range ids[:min(len(ids), most)] {
		out = append(out, fmt.Sprintf("%s (%d)", n.r.Names.Name(id), count[id]))
	}
	if len(ids) > most {
		out = append(out, "...")
	}
	return strings.Join(out, ", ")
}
