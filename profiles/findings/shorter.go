package findings

import "gputax/profiles"

// shorter adds up what shorter kernels save. One that ends sooner lets the next
// of its stream begin sooner, if that has been issued by then: what is saved is
// lost again where the device runs out of work. A host that waits for the device
// gets all that is saved so far, and is as much earlier with what it does next.
type shorter struct {
	a       *analysis
	streams map[stream]early
	call    int // calls before it are accounted for
	banked  int64
}

// early is how much sooner than recorded a stream is done, and when it was; less
// than 0 is later.
type early struct{ by, end int64 }

type stream struct {
	device uint8
	number int32
}

// op tells of the next op in order of start, and what it itself saves.
func (s *shorter) op(i int32, o *profiles.Op, saves int64) {
	if o.Call < 0 {
		return
	}
	s.waitsUntil(int(o.Call))
	if s.streams == nil {
		s.streams = map[stream]early{}
	}
	at := stream{o.Device, o.Stream}
	by, idle := s.streams[at].by, o.Start-s.streams[at].end
	if by > 0 {
		by = min(by, s.a.queued(o))
	} else {
		by = min(by+idle, 0) // being late takes up the idle time first
	}
	s.streams[at] = early{by + saves, o.Start + o.Dur}
}

// waitsUntil accounts for the waits among the calls before call.
func (s *shorter) waitsUntil(call int) {
	for ; s.call < call; s.call++ {
		if s.a.callTime[s.call].waited > 0 {
			s.bank()
		}
	}
}

func (s *shorter) bank() {
	var most int64
	for at, e := range s.streams {
		most = max(most, e.by)
		s.streams[at] = early{end: e.end}
	}
	s.banked += most
}

// total is what was saved in all: the window also ends sooner where the device
// ended it.
func (s *shorter) total() int64 {
	s.waitsUntil(len(s.a.callTime))
	var hostEnd int64
	for i := range s.a.callTime {
		hostEnd = max(hostEnd, s.a.callEnd(int32(i)))
	}
	for at, e := range s.streams {
		if e.end < hostEnd {
			delete(s.streams, at)
		}
	}
	s.bank()
	return s.banked
}

// queued is how long an op had been ready before it began.
func (a *analysis) queued(o *profiles.Op) int64 {
	c := a.callOf(o)
	ready := c.Start + c.Dur
	if o.Kind != profiles.OpKernel {
		if ready = c.Start; a.p != nil {
			ready += ns(a.p.CopyHost)
		}
	} else if a.p != nil {
		ready += ns(a.p.LaunchLatency)
	}
	return max(o.Start-ready, 0)
}
