package nsys

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gputax/profiles"
)

const nvtxTable = "NVTX_EVENTS"

// note is what an NVTX range's text makes of it.
type note struct {
	operator bool
	site     profiles.SiteID // of an operator
	name     profiles.NameID // of an annotation
}

// ranges reads NVTX ranges.
func (im *importer) ranges() error {
	im.callOf = nil // all ops have their calls, and it is large
	if !im.has(nvtxTable, "start", "end", "globalTid") {
		return nil
	}
	where := "end is not null"
	types, err := im.enum("ENUM_NSYS_EVENT_TYPE")
	if err != nil {
		return err
	}
	var ids []string
	for id, name := range types {
		if name == "NvtxPushPopRange" || name == "NvtxStartEndRange" {
			ids = append(ids, fmt.Sprint(id))
		}
	}
	if slices.Sort(ids); len(ids) > 0 && im.has(nvtxTable, "eventType") {
		where += " and eventType in (" + strings.Join(ids, ", ") + ")"
	}
	columns := fmt.Sprintf("start, end, globalTid, %s, %s, %s", im.column(nvtxTable, "domainId", "0"),
		im.column(nvtxTable, "textId", "0"), im.column(nvtxTable, "text", "null"))
	texts := [2]map[string]note{{}, {}} // of annotations, of operators
	return im.each(columns, nvtxTable+" where "+where, func(v []int64, text string) error {
		start, end := v[0], v[1]
		if end < start {
			im.bad++
			return nil
		}
		library := v[3] != 0 // a domain of its own: NCCL, cuBLAS
		n, ok, err := im.noteOf(texts, text, v[4], library)
		if err != nil || !ok {
			return err
		}
		if n.operator {
			im.within(v[2], start, end, n.site)
			return nil
		}
		thread, proc := im.thread(v[2])
		im.notes.Add(proc, thread, n.name, start, end)
		return nil
	})
}

// noteOf is what to make of a range of that text, or of that id in StringIds.
func (im *importer) noteOf(texts [2]map[string]note, text string, id int64, library bool) (n note, ok bool, err error) {
	key := id << 1
	if library {
		key |= 1
	}
	if text == "" {
		if id == 0 {
			return n, false, nil
		}
		if n, ok = im.noted[key]; ok {
			return n, true, nil
		}
		if text, err = im.string(id); err != nil {
			return n, false, err
		}
		n = im.classify(text, library)
		im.noted[key] = n
		return n, true, nil
	}
	plain := operatorName(text)
	known := texts[0]
	if library || len(plain) < len(text) {
		known = texts[1]
	}
	if n, ok = known[plain]; !ok {
		n = im.classify(text, library)
		known[strings.Clone(plain)] = n
	}
	return n, true, nil
}

// operatorName is an operator's name without what emit_nvtx adds to it: "aten::mm,
// seq = 5, op_id = 7". Other texts stay as they are.
func operatorName(text string) string {
	for _, mark := range []string{", op_id = ", ", seq = "} {
		if i := strings.Index(text, mark); i >= 0 {
			text = text[:i]
		}
	}
	return text
}

// classify tells operators, which are call sites, from annotations.
func (im *importer) classify(text string, library bool) note {
	plain := operatorName(text)
	operator := library || len(plain) < len(text)
	if operator && !im.notes.Marks(plain) {
		return note{operator: true, site: im.site(strings.Clone(plain))}
	}
	return note{name: im.rec.Names.ID(strings.Clone(plain))}
}

// within makes an operator the site of the calls made in it, but of those that
// have an inner one.
func (im *importer) within(globalTid, start, end int64, site profiles.SiteID) {
	thread, ok := im.threads[globalTid]
	if !ok || int(thread) >= len(im.lines) {
		return // no calls
	}
	l := &im.lines[thread]
	length := uint32(min(end-start, math.MaxUint32-1))
	for i := im.find(l, start); i < len(l.calls); i++ {
		at := l.calls[i]
		c := im.rec.Calls.At(int(at))
		if c.Start >= end {
			return
		}
		if length < im.nested[at] {
			im.nested[at], c.Site = length, site
		}
	}
}
