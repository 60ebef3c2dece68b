package findings

import "gputax/profiles"

var repeatedUpload = Rule{
	Name:      "repeated_upload",
	About:     "uploads of bytes that went to the device before, by content",
	Threshold: "one a step, and half of the uploads of that size in the phase",
	Pricing:   "all of them but the first of each content",
	Advice:    "Upload it once, before the loop, and keep the buffer.",
	Needs:     []profiles.Knowledge{profiles.Contents},
	OnHost:    true,
	check:     checkRepeatedUpload,
}

func checkRepeatedUpload(a *analysis) []Finding {
	type key struct {
		phase profiles.NameID
		bytes int64
	}
	type content struct {
		hash  uint64
		bytes int64
	}
	seen := map[content]bool{}
	uploads := map[key]int64{}
	var repeats tallies[key]
	for i, o := range a.copies() {
		d := a.detail(o)
		if o.Dir != profiles.HostToDevice || d == nil || d.Content == 0 {
			continue
		}
		k := key{a.opPhase(o), o.Bytes}
		uploads[k]++
		if c := (content{d.Content, o.Bytes}); !seen[c] {
			seen[c] = true
			continue
		}
		spent, _ := a.copySpent(i)
		repeats.at(k, k.phase).add(a, o.Call, o.Name, o.Bytes, a.capCopy(o, spent))
	}
	var list []*tally
	for i, t := range repeats.all {
		// The first step has nothing to repeat, unless it repeats itself.
		if 2*t.count >= uploads[repeats.keys[i]] && t.count >= max(a.stepCount()-1, 1) && 2*(t.seen+1) > a.stepCount() {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	return []Finding{{
		Title: a.title("uploads that repeat what the device has", &e, true),
		Price: e.Time, Evidence: e,
	}}
}
