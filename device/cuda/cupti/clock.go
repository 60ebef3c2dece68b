package cupti

import "time"

// clock is one moment by two clocks.
type clock struct {
	stamp uint64        // CUPTI's, ns
	host  time.Time     // what at counts from
	at    time.Duration // the host's monotonic clock
}

// readClock reads both, CUPTI's between two readings of the host's, and keeps
// the closest of some tries.
func (l *Library) readClock(host time.Time) (clock, error) {
	c := clock{host: host}
	best := time.Duration(1 << 62)
	for range 8 {
		var stamp uint64
		before := time.Since(host)
		r := l.fn.timestamp(&stamp)
		after := time.Since(host)
		if r != 0 {
			return c, l.fail(r, "cuptiGetTimestamp")
		}
		if after-before < best {
			best, c.stamp, c.at = after-before, stamp, before+(after-before)/2
		}
	}
	return c, nil
}

// span converts times between its two ends, and near them, so that neither
// clock need run at the other's pace.
type span [2]clock

func (s span) at(stamp uint64) time.Duration {
	passed := time.Duration(stamp - s[0].stamp) // negative before the start
	if ticks := s[1].stamp - s[0].stamp; ticks > 0 {
		passed = time.Duration(float64(passed) * (float64(s[1].at-s[0].at) / float64(ticks)))
	}
	return s[0].at + passed
}
