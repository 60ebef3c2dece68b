package kineto

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"sort"
	"strconv"
	"strings"

	"gputax/profiles"
)

// maxFrames is how many functions of a stack are kept, the innermost.
const maxFrames = 32

// function is one run of a Python function.
type function struct {
	start, end int64
	name       profiles.NameID
	thread     uint16
}

func (im *importer) function(e *event, name profiles.NameID) {
	thread, _ := im.thread(e)
	im.python.Add(function{e.start, e.start + e.dur, name, thread})
}

// withoutAddress makes <built-in method to of Tensor object at 0x7f01> one
// function for all tensors. It changes name's bytes.
func withoutAddress(name []byte) []byte {
	at := bytes.Index(name, []byte(" at 0x"))
	if at < 0 {
		return name
	}
	end := at + len(" at 0x")
	for end < len(name) && strings.IndexByte("0123456789abcdefABCDEF", name[end]) >= 0 {
		end++
	}
	return append(name[:at], name[end:]...)
}

// functions sorts a log in place: by thread, then outer before inner.
type functions struct{ *profiles.Log[function] }

func (f functions) Less(i, j int) bool {
	a, b := f.At(i), f.At(j)
	return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) < 0
}

func (f functions) Swap(i, j int) {
	a, b := f.At(i), f.At(j)
	*a, *b = *b, *a
}

// stack is where a thread is in its Python functions.
type stack struct {
	next, end int // of its functions in the log
	open      []function
}

// at is the functions that run at a time, the innermost last. Times must not go
// back.
func (s *stack) at(log *profiles.Log[function], t int64) []function {
	for s.next < s.end && log.At(s.next).start <= t {
		f := *log.At(s.next)
		s.next++
		for len(s.open) > 0 && s.open[len(s.open)-1].end <= f.start {
			s.open = s.open[:len(s.open)-1]
		}
		s.open = append(s.open, f)
	}
	for len(s.open) > 0 && s.open[len(s.open)-1].end <= t {
		s.open = s.open[:len(s.open)-1]
	}
	return s.open
}

// stacks finds each thread's functions.
func (im *importer) stacks() map[uint16]*stack {
	if f := (functions{&im.python}); !sort.IsSorted(f) {
		sort.Sort(f)
	}
	out := map[uint16]*stack{}
	var last *stack
	for i, f := range im.python.All() {
		if last == nil || im.python.At(last.next).thread != f.thread {
			last = &stack{next: i}
			out[f.thread] = last
		}
		last.end = i + 1
	}
	return out
}

// sites gives every call that asked for something its call site: the operator
// and, where they were recorded, the Python functions.
func (im *importer) sites() {
	switch {
	case im.python.Len() > 0:
	case im.count[catOperator] > 0:
		im.rec.Source.Unseen[profiles.CallSites] = "the trace has no Python stacks, only operators; with_stack=True records them"
	default:
		im.rec.Source.Unseen[profiles.CallSites] = "the trace has neither Python stacks nor operators"
	}
	stacks := im.stacks()
	known := map[string]profiles.SiteID{"": 0}
	var key []byte
	for _, c := range im.rec.Calls.All() {
		external := uint64(c.Site)
		c.Site = 0
		if c.Kind == profiles.CallOther {
			continue
		}
		key = key[:0]
		if name, ok := im.operators.Get(external); ok {
			key = binary.LittleEndian.AppendUint32(key, name)
		}
		if s := stacks[c.Thread]; s != nil {
			open := s.at(&im.python, c.Start)
			for i := len(open) - 1; i >= max(0, len(open)-maxFrames); i-- {
				key = binary.LittleEndian.AppendUint32(key, uint32(open[i].name))
			}
		}
		id, ok := known[string(key)]
		if !ok {
			id = profiles.SiteID(len(im.rec.Sites))
			im.rec.Sites = append(im.rec.Sites, im.site(key))
			known[string(key)] = id
		}
		c.Site = id
	}
}

// site is the call stack of the names in key.
func (im *importer) site(key []byte) (s profiles.Site) {
	for ; len(key) > 0; key = key[4:] {
		s.Frames = append(s.Frames, frame(im.rec.Names.Name(profiles.NameID(binary.LittleEndian.Uint32(key)))))
	}
	return s
}

// frame takes "train.py(12): step" apart; what is not like that is a function
// without a file.
func frame(name string) profiles.Frame {
	at := strings.LastIndex(name, "): ")
	if at < 0 {
		return profiles.Frame{Func: name}
	}
	open := strings.LastIndexByte(name[:at], '(')
	if open <= 0 {
		return profiles.Frame{Func: name}
	}
	line, err := strconv.Atoi(name[open+1 : at])
	if err != nil {
		return profiles.Frame{Func: name}
	}
	return profiles.Frame{Func: name[at+3:], File: name[:open], Line: line}
}
