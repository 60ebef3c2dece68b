package profiles

import (
	"path"
	"regexp"
	"runtime"
	"strings"
)

// maxFrames is how much of a call stack is kept.
const maxFrames = 32

// site is the call stack from outside the recorder up to Capture.
func (l *logbook) site() SiteID {
	var key [maxFrames]uintptr
	framePCs(&key)
	id, ok := l.sites[key]
	if ok {
		return id
	}
	before := l.countHeap()
	pcs := make([]uintptr, maxFrames)
	id = l.newSite(pcs[:runtime.Callers(3, pcs)]) // from the tap on
	l.sites[key] = id
	after := l.countHeap()
	l.own.objects += after.objects - before.objects
	l.own.bytes += after.bytes - before.bytes
	return id
}

// newSite is the number of a call stack that was not seen before; 0 where
// nothing of it is the program's.
func (l *logbook) newSite(pcs []uintptr) SiteID {
	var s Site
	frames := runtime.CallersFrames(pcs)
	for more := len(pcs) > 0; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch pkg := packageOf(f.Function); {
		case f.Function == captureFunc:
			more = false
		case len(s.Frames) == 0 && (pkg == "gputax/device" || ownFrames.MatchString(f.Function) || tapFrames.MatchString(f.Function)):
		case pkg == "runtime":
		default:
			s.Frames = append(s.Frames, Frame{Func: f.Function, File: fileOf(pkg, f.File), Line: f.Line})
		}
	}
	if len(s.Frames) == 0 {
		return 0
	}
	l.rec.Sites = append(l.rec.Sites, s)
	return SiteID(len(l.rec.Sites) - 1)
}

// tapFrames matches what calls the logbook.
var tapFrames = regexp.MustCompile(`^gputax/profiles\.\(\*tap\)\.`)

// captureFunc is what runs the op: what called it is no part of a call stack.
const captureFunc = "gputax/profiles.Capture"

// packageOf is the import path of a function's package.
func packageOf(function string) string {
	dir, last := path.Split(function)
	name, _, _ := strings.Cut(last, ".")
	return dir + name
}

// fileOf is a file's name as go build -trimpath would have it, the same on
// every machine: the import path of its package and its name.
func fileOf(pkg, file string) string {
	dir, name := path.Split(file)
	if pkg == "main" {
		pkg = path.Base(dir)
	}
	return path.Join(pkg, name)
}
