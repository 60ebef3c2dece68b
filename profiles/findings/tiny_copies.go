package findings

import "gputax/profiles"

// tinyBytes is the size up to which a copy is nearly all latency: 16 KiB take
// under 3 us at the 6 GB/s of a pageable copy, and starting one takes 5 us or
// more.
const tinyBytes = 16 << 10

// tinyPerStep is how many of them a step may make one way in a phase: a model
// has a handful of inputs, and one copy for each is nothing to merge.
const tinyPerStep = 8

var tinyCopies = Rule{
	Name:      "tiny_copies",
	About:     "many small copies one way in one phase, which one copy would do",
	Threshold: "8 or more a step, of at most 16 KiB each",
	Pricing:   "what they take, less one copy of all their bytes",
	Advice:    "Put the items side by side in one array on the host and copy that once; leave on the host what only the host reads.",
	check:     checkTinyCopies,
}

// copyGroup is copies that one could stand for.
type copyGroup struct {
	phase  profiles.NameID
	dir    profiles.Dir
	pinned bool
}

// findTiny tallies the small copies of the loop, by what one could stand for.
func (a *analysis) findTiny() {
	a.tinySync = map[*tally]int64{}
	for i, o := range a.copies() {
		if o.Bytes > tinyBytes {
			continue
		}
		phase := a.opPhase(o)
		t := a.tiny.at(copyGroup{phase, o.Dir, o.Mem == profiles.MemPinned}, phase)
		spent, synced := a.copySpent(i)
		if synced {
			a.tinySync[t]++
		}
		t.add(a, o.Call, o.Name, o.Bytes, spent)
	}
}

// manyTiny is the group of small copies that o is one of, where it is one of
// too many; else nil.
func (a *analysis) manyTiny(o *profiles.Op) *tally {
	if o.Bytes > tinyBytes {
		return nil
	}
	t := a.tiny.index[copyGroup{a.opPhase(o), o.Dir, o.Mem == profiles.MemPinned}]
	if t == nil || !t.perStep(a, tinyPerStep) {
		return nil
	}
	return t
}

func checkTinyCopies(a *analysis) []Finding {
	var list []*tally
	var price int64
	dir := ""
	for i, t := range a.tiny.all {
		key := a.tiny.keys[i]
		if !t.perStep(a, tinyPerStep) {
			continue
		}
		list = append(list, t)
		if way := direction(key.dir); dir == "" || dir == way {
			dir = way
		} else {
			dir = "to the device and back"
		}
		price += a.mergePrice(key, t, a.tinySync[t])
	}
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	return []Finding{{
		Title: a.title("tiny copies "+dir+", which one would do", &e, true),
		Price: price, Evidence: e,
	}}
}

// mergePrice is what making one copy a step of a group's would save.
func (a *analysis) mergePrice(key copyGroup, t *tally, syncs int64) int64 {
	if a.p == nil {
		return t.time - t.time/t.count*a.stepCount()
	}
	steps := a.stepCount()
	now := t.count*a.copyPrice(key.dir, key.pinned, t.bytes/t.count) + syncs*ns(a.p.SyncHost)
	then := steps * a.copyPrice(key.dir, key.pinned, t.bytes/steps)
	if syncs > 0 {
		then += steps * ns(a.p.SyncHost)
	}
	return min(now, t.time) - then
}
