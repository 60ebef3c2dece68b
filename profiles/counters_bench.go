package profiles

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gputax/device"
)

// BenchOptions says what WriteBench writes.
type BenchOptions struct {
	// Labels go into every name: variant=gpu_padded/batch=128.
	Labels string
	// Skip leaves out that many steps at the start, which warm up.
	Skip int
	// Times writes times too. A recording of Capture's on a real clock has none
	// that are fit to be reported; those of a virtual clock are, and those of
	// imported recordings are all there is.
	Times bool
	// NoOps leaves out the results of kernels and copies, which other code would
	// not have by the same names.
	NoOps bool
}

// WriteBench writes the recording in Go benchmark format, so that what compares
// results compares recordings: a BenchmarkStep result a step, with its counters
// and times, and a BenchmarkOp result a step for every kernel and copy, with
// its mean time. Without steps, the whole is one result, BenchmarkRun. Counters
// are announced as exact where they are the same in every step.
func (r *Recording) WriteBench(w io.Writer, opt BenchOptions) error {
	if err := r.CheckValid(); err != nil {
		return err
	}
	if n := len(r.Steps); n > 0 && opt.Skip >= n {
		return fmt.Errorf("recording: %d steps to skip, and it has %d", opt.Skip, n)
	}
	b := &benchWriter{rec: r, opt: opt, out: bufio.NewWriter(w), units: map[string]bool{}}
	b.suffix = "/source=" + benchValue(r.Source.Name)
	if opt.Labels != "" {
		b.suffix += "/" + opt.Labels
	}
	b.steps()
	if opt.Times && !opt.NoOps && r.Knows(DeviceTimes) {
		b.ops()
	}
	return b.out.Flush()
}

// benchWriter writes results; its writer keeps the first error.
type benchWriter struct {
	rec    *Recording
	opt    BenchOptions
	out    *bufio.Writer
	suffix string
	units  map[string]bool // that were announced
	varies map[string]bool // units in which steps differ
}

// metric is one number of a result.
type metric struct {
	value float64
	unit  string
}

// timeUnit is the unit of a time; simulated ones never share measured ones'.
func (b *benchWriter) timeUnit(of string) string {
	if of != "" {
		of += "-"
	}
	if b.rec.Clock == device.Virtual {
		return "sim-" + of + "ns/op"
	}
	return of + "ns/op"
}

// result writes one result, and before it says how to read units that are new.
func (b *benchWriter) result(name string, iters int, metrics []metric) {
	for _, m := range metrics {
		if b.units[m.unit] {
			continue
		}
		b.units[m.unit] = true
		fmt.Fprintf(b.out, "Unit %s better=lower", m.unit)
		if exact := !strings.HasSuffix(m.unit, "ns/op") || strings.HasPrefix(m.unit, "sim-"); exact && !b.varies[m.unit] {
			b.out.WriteString(" assume=exact")
		}
		b.out.WriteString("\n")
	}
	fmt.Fprintf(b.out, "Benchmark%s%s %d", name, b.suffix, iters)
	for _, m := range metrics {
		fmt.Fprintf(b.out, " %s %s", strconv.FormatFloat(m.value, 'f', -1, 64), m.unit)
	}
	b.out.WriteString("\n")
}

// steps writes a result a step, or one for the whole.
func (b *benchWriter) steps() {
	r := b.rec
	if len(r.Steps) == 0 {
		all := StepTotals{Time: r.Duration(), Busy: r.Busy(), Counters: r.Counters()}
		b.result("Run", 1, b.metrics(all, r.PhaseCounters()))
		return
	}
	phases := b.phasesByStep()
	var results [][]metric
	for i, s := range r.StepTotals()[b.opt.Skip:] {
		results = append(results, b.metrics(s, phases[b.opt.Skip+i]))
	}
	b.varies = map[string]bool{}
	for _, metrics := range results {
		for i, m := range metrics {
			b.varies[m.unit] = b.varies[m.unit] || m != results[0][i]
		}
	}
	for _, metrics := range results {
		b.result("Step", 1, metrics)
	}
}

// metrics is what one step came to.
func (b *benchWriter) metrics(s StepTotals, phases []device.Phase) []metric {
	var out []metric
	if b.opt.Times {
		out = append(out, metric{float64(s.Time), b.timeUnit("")})
		if b.rec.Knows(DeviceTimes) {
			out = append(out, metric{float64(s.Busy), b.timeUnit("gpu")})
		}
	}
	for c, v := range s.Counters {
		out = append(out, metric{float64(v), device.Counter(c).Unit()})
	}
	for _, p := range phases {
		if b.opt.Times && p.Name != "" {
			out = append(out, metric{float64(p.Time), b.timeUnit(benchValue(p.Name))})
		}
	}
	return out
}

// phasesByStep is the host's time by phase in each step. Every step has every
// phase that any has, so that results have the same units.
func (b *benchWriter) phasesByStep() [][]device.Phase {
	r := b.rec
	index := map[NameID]int{}
	var names []device.Phase
	for _, s := range r.Phases {
		if _, ok := index[s.Name]; !ok && s.Step >= 0 {
			index[s.Name] = len(names)
			names = append(names, device.Phase{Name: r.Names.Name(s.Name)})
		}
	}
	all := make([][]device.Phase, len(r.Steps))
	for i := range all {
		all[i] = slices.Clone(names)
	}
	for _, s := range r.Phases {
		if s.Step >= 0 {
			all[s.Step][index[s.Name]].Time += s.duration()
		}
	}
	return all
}

// ops writes a result a step for every kernel and copy, C++ kernels by their
// templates.
func (b *benchWriter) ops() {
	r := b.rec
	type opStep struct {
		name string
		step int32
	}
	type sum struct{ n, ns int64 }
	short := map[NameID]string{}
	sums := map[opStep]sum{}
	for _, o := range r.Ops.All() {
		name, ok := short[o.Name]
		if !ok {
			name = benchValue(shortName(r.Names.Name(o.Name)))
			short[o.Name] = name
		}
		k := opStep{name, r.stepOf(o)}
		if len(r.Steps) > 0 && int(k.step) < b.opt.Skip {
			continue // outside of steps, or of one that warms up
		}
		s := sums[k]
		sums[k] = sum{s.n + 1, s.ns + o.Dur}
	}
	keys := make([]opStep, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y opStep) int {
		return cmp.Or(cmp.Compare(x.name, y.name), cmp.Compare(x.step, y.step))
	})
	for _, k := range keys {
		s := sums[k]
		b.result("Op/op="+k.name, int(s.n), []metric{{float64(s.ns) / float64(s.n), b.timeUnit("gpu")}})
	}
}

// shortName is a kernel's name without what C++ adds to it: its type, template
// arguments and parameters.
func shortName(name string) string {
	name = strings.ReplaceAll(strings.TrimPrefix(name, "void "), "(anonymous namespace)::", "")
	if i := strings.IndexAny(name, "<("); i > 0 && !strings.Contains(name[:i], " ") {
		return name[:i]
	}
	return name
}

var (
	notInBench = regexp.MustCompile(`[^A-Za-z0-9_.:<>()*,&+-]+`)
	likeProcs  = regexp.MustCompile(`-([0-9]+)$`)
)

// benchValue is s as a value in a benchmark's name: without slashes and spaces,
// and without what reads as GOMAXPROCS at its end.
func benchValue(s string) string {
	s = strings.Trim(notInBench.ReplaceAllString(s, "_"), "_")
	return cmp.Or(likeProcs.ReplaceAllString(s, "_$1"), "unknown")
}
