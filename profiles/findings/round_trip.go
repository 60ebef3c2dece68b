package findings

import (
	"maps"
	"slices"

	"gputax/profiles"
)

const (
	// tripBytes is the least a round trip moves: two scalars may well be equal
	// by chance.
	tripBytes = 16
	// Where contents are not seen, that many copies of a step must have the same
	// size in both directions, and of no less than that many bytes.
	tripMatches    = 8
	tripMatchBytes = 64
)

var roundTrip = Rule{
	Name:      "round_trip",
	About:     "data that goes to the device and comes back unchanged within a step; by contents, or where these are not seen by matching sizes, and then called likely",
	Threshold: "one a step, of at least 16 bytes; by sizes, 8 a step of at least 64 bytes",
	Pricing:   "the copies back; and those to the device where nothing was launched between",
	Advice:    "The host has this data already: read it there, and do not send what no kernel reads.",
	check:     checkRoundTrip,
}

func checkRoundTrip(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	known := a.rec.Knows(profiles.Contents)
	if known {
		a.tripsByContent(&groups)
	} else {
		a.tripsBySize(&groups)
	}
	list := groups.perStep(a, 1)
	if len(list) == 0 {
		return nil
	}
	e := a.evidence(list)
	e.Note = "bytes are those of both ways; so is the time, where nothing was launched between"
	what := "copies that come back unchanged"
	if !known {
		what = "copies to the device, with as many of the same size back"
	}
	return []Finding{{
		Title: a.title(what, &e, false),
		Price: e.Time, Evidence: e, Likely: !known,
	}}
}

// trip is an upload that a download may turn out to undo.
type trip struct {
	op       int32
	launches int64 // up to then
}

// walkCopies goes over the loop's copies in order and tells how many launches
// came before each.
func (a *analysis) walkCopies(visit func(op int32, o *profiles.Op, launches int64)) {
	var launches int64
	for i, o := range a.rec.Ops.All() {
		switch {
		case o.Kind == profiles.OpKernel:
			launches++
		case o.Kind == profiles.OpCopy && !o.InGraph && o.Call >= 0 && a.opInLoop(o):
			visit(int32(i), o, launches)
		}
	}
}

func (a *analysis) tripsByContent(groups *tallies[profiles.NameID]) {
	type key struct {
		content uint64
		bytes   int64
		buffer  uint32
	}
	up, step := map[key]trip{}, int32(-1)
	a.walkCopies(func(i int32, o *profiles.Op, launches int64) {
		c, d := a.callOf(o), a.detail(o)
		if c.Step != step {
			clear(up)
			step = c.Step
		}
		if d == nil || d.Content == 0 || o.Bytes < tripBytes {
			return
		}
		k := key{d.Content, o.Bytes, d.Buffer}
		switch o.Dir {
		case profiles.HostToDevice:
			up[k] = trip{i, launches}
		case profiles.DeviceToHost:
			from, ok := up[k]
			if !ok {
				return
			}
			time, _ := a.copySpent(i)
			time = a.capCopy(o, time)
			if from.launches == launches {
				sent := a.rec.Ops.At(int(from.op))
				there, _ := a.copySpent(from.op)
				time += a.capCopy(sent, there)
				delete(up, k) // it is priced
			}
			groups.at(c.Phase, c.Phase).add(a, o.Call, o.Name, 2*o.Bytes, time)
		}
	})
}

// capCopy is what was charged to a copy, and no more than the profile says.
func (a *analysis) capCopy(o *profiles.Op, spent int64) int64 {
	return a.capped(func() int64 {
		return a.copyPrice(o.Dir, o.Mem == profiles.MemPinned, o.Bytes) + ns(a.p.SyncHost)
	}, spent)
}

// sizeCount is a step's copies of one size.
type sizeCount struct {
	ups, downs        int64
	upTime, downTime  int64
	lastUp, firstDown int64 // launches up to then
	phase             profiles.NameID
	first             int32
	name              profiles.NameID
}

func (a *analysis) tripsBySize(groups *tallies[profiles.NameID]) {
	sizes, step := map[int64]*sizeCount{}, int32(-1)
	fold := func() {
		for _, bytes := range slices.Sorted(maps.Keys(sizes)) {
			s := sizes[bytes]
			if n := min(s.ups, s.downs); n >= tripMatches && s.downs <= s.ups {
				time := s.downTime
				if s.lastUp == s.firstDown {
					time += s.upTime
				}
				groups.at(s.phase, s.phase).addMany(a, s.first, s.name, n, 2*n*bytes, time)
			}
		}
		clear(sizes)
	}
	a.walkCopies(func(i int32, o *profiles.Op, launches int64) {
		c := a.callOf(o)
		if c.Step != step {
			fold()
			step = c.Step
		}
		if o.Bytes < tripMatchBytes {
			return
		}
		s := sizes[o.Bytes]
		if s == nil {
			s = &sizeCount{}
			sizes[o.Bytes] = s
		}
		spent, _ := a.copySpent(i)
		spent = a.capCopy(o, spent)
		switch {
		case o.Dir == profiles.HostToDevice:
			s.ups, s.upTime, s.lastUp = s.ups+1, s.upTime+spent, launches
		case o.Dir == profiles.DeviceToHost && s.ups > 0:
			if s.downs == 0 {
				s.firstDown, s.phase, s.first, s.name = launches, c.Phase, o.Call, o.Name
			}
			s.downs, s.downTime = s.downs+1, s.downTime+spent
		}
	})
	fold()
}
