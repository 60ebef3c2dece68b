package bench

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"gputax/device"
)

// Metric is one number of a sample, under its benchmark unit.
type Metric struct {
	Unit  string
	Value float64
}

// Metrics is everything a sample says, the time first: ns/op, or sim-ns/op on
// a virtual clock; gpu-ns/op where the device can tell; every counter, zeros
// too; and a time for each named phase.
func (s *Sample) Metrics() []Metric {
	out := []Metric{{timeUnit(s.Clock, ""), s.PerOp}}
	if s.Device > 0 {
		out = append(out, Metric{"gpu-ns/op", s.Device})
	}
	for c, v := range s.Counters {
		out = append(out, Metric{device.Counter(c).Unit(), float64(v)})
	}
	for _, p := range s.Phases {
		if p.Name != "" {
			out = append(out, Metric{timeUnit(s.Clock, p.Name), float64(p.Time)})
		}
	}
	return out
}

// timeUnit is the unit of a time. Simulated times never share a unit with
// measured ones.
func timeUnit(c device.Clock, phase string) string {
	unit := "ns/op"
	if phase != "" {
		unit = phase + "-" + unit
	}
	if c == device.Virtual {
		unit = "sim-" + unit
	}
	return unit
}

// Exact says whether a unit is a count or a simulated time: equal runs give
// equal numbers, and any difference is a change.
func Exact(unit string) bool {
	if strings.HasPrefix(unit, "sim-") {
		return true
	}
	for c := range len(device.Counters{}) {
		if device.Counter(c).Unit() == unit {
			return true
		}
	}
	return false
}

// Units remembers which units were announced. The zero value has announced
// none.
type Units struct {
	mu   sync.Mutex
	seen map[string]bool
}

// Announce writes a Unit line, which tells benchstat and the gate how to read
// a unit, for each metric whose unit was not announced yet.
func (u *Units) Announce(w io.Writer, metrics []Metric) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen == nil {
		u.seen = map[string]bool{}
	}
	for _, m := range metrics {
		if u.seen[m.Unit] {
			continue
		}
		u.seen[m.Unit] = true
		line := fmt.Sprintf("Unit %s better=lower", m.Unit)
		if Exact(m.Unit) {
			line += " assume=exact"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// stdoutUnits is what this process has announced on standard output, where go
// test prints results: one per process, as standard output is.
var stdoutUnits Units

func announceOnStdout(metrics []Metric) error { return stdoutUnits.Announce(os.Stdout, metrics) }
