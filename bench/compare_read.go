package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchproc"
)

// Results is one side of a comparison: samples by benchmark and unit, in the
// order they were taken. The zero value is empty and ready to use.
//
// Values are kept in base units, as benchstat shows them: ns/op becomes sec/op
// and MB/s becomes B/s. Whatever takes a unit's name takes either form.
type Results struct {
	// Filter keeps a part of what is read or added from then on; nil keeps all.
	Filter *benchproc.Filter

	names  []string // of what was read, for messages and column heads
	index  map[string]*benchmark
	order  []*benchmark
	units  map[string]unitInfo
	wrote  map[string]string // units as they were written, by base unit
	config configValues
	key    []byte // the last lookup's key, kept for its space
}

// benchmark is all samples of one benchmark.
type benchmark struct {
	pkg, name string
	series    []series
}

// series is all samples in one unit, in the order they were taken.
type series struct {
	unit   string
	values []float64
}

func (b *benchmark) find(unit string) *series {
	for i := range b.series {
		if b.series[i].unit == unit {
			return &b.series[i]
		}
	}
	return nil
}

// ReadFiles reads files in Go benchmark format as one side of a comparison. It
// refuses a file that is missing, has no result, or has a line it cannot
// trust: see [Results.Read].
func ReadFiles(paths ...string) (*Results, error) {
	r := new(Results)
	if len(paths) == 0 {
		return nil, errors.New("no benchmark files given")
	}
	for _, p := range paths {
		if err := r.ReadFile(p); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Read reads results in Go benchmark format; the name is for messages.
func Read(in io.Reader, name string) (*Results, error) {
	r := new(Results)
	if err := r.Read(in, name); err != nil {
		return nil, err
	}
	return r, nil
}

// ReadFile adds a file's results to r. A directory stands for its bench.txt.
func (r *Results) ReadFile(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "bench.txt")
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read benchmark results: %w", err)
	}
	defer f.Close()
	return r.Read(f, path)
}

// Read adds results in Go benchmark format to r. All that would make a
// comparison pass without cause is an error, with file and line: a malformed
// or half-written result, a failed run, a number that is none, a unit with two
// meanings, no result at all. After an error r holds what came before it.
func (r *Results) Read(in io.Reader, name string) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read benchmark results from %s: %w", name, err)
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if err := checkLines(text, name); err != nil {
		return err
	}
	read := 0
	lines := benchfmt.NewReader(bytes.NewReader(text), name)
	for lines.Scan() {
		switch rec := lines.Result().(type) {
		case *benchfmt.SyntaxError:
			return fmt.Errorf("%w: not a whole benchmark result; take the results again", rec)
		case *benchfmt.UnitMetadata:
			err = r.addMetadata(rec)
		case *benchfmt.Result:
			read++
			err = r.add(rec)
		}
		if err != nil {
			_, line := lines.Result().Pos()
			return fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if read == 0 {
		return fmt.Errorf("%s: no benchmark results in Go benchmark format", name)
	}
	r.names = append(r.names, name)
	return nil
}

// Add adds one result as if it had been read. It keeps nothing of res.
func (r *Results) Add(res *benchfmt.Result) error { return r.add(res.Clone()) }

// SetUnit announces how to read a unit, as a Unit line does. It is an error to
// say what contradicts an earlier announcement.
func (r *Results) SetUnit(unit string, better Direction, exact bool) error {
	return r.announce(unit, unitInfo{better: better, exact: exact})
}

// Benchmarks is the names of the benchmarks in r, without "Benchmark", in the
// order they were first seen.
func (r *Results) Benchmarks() []string {
	names := make([]string, len(r.order))
	for i, b := range r.order {
		names[i] = b.name
	}
	return names
}

// Units is the units of r, in base units, in the order they were first seen.
func (r *Results) Units() []string {
	var units []string
	seen := map[string]bool{}
	for _, b := range r.order {
		for i := range b.series {
			if u := b.series[i].unit; !seen[u] {
				seen[u] = true
				units = append(units, u)
			}
		}
	}
	return units
}

// Samples is a copy of the samples of a benchmark in a unit, in base units and
// in the order they were taken; empty where there are none. Benchmarks of one
// name in several packages are taken together.
func (r *Results) Samples(name, unit string) []float64 {
	var out []float64
	unit = tidyUnit(unit)
	for _, b := range r.order {
		if b.name != strings.TrimPrefix(name, "Benchmark") {
			continue
		}
		if s := b.find(unit); s != nil {
			out = append(out, s.values...)
		}
	}
	return out
}

// Name says what was read, in short.
func (r *Results) Name() string {
	switch len(r.names) {
	case 0:
		return ""
	case 1:
		return r.names[0]
	}
	return fmt.Sprintf("%s +%d", r.names[0], len(r.names)-1)
}

// add is Add for a result that it may change.
func (r *Results) add(res *benchfmt.Result) error {
	if err := tidyResult(res); err != nil {
		return err
	}
	if r.Filter != nil {
		// The error only says why the filter matched nothing.
		if ok, _ := r.Filter.Apply(res); !ok {
			return nil
		}
	}
	r.config.add(res.Config)
	b := r.lookup(res)
	for _, v := range res.Values {
		s := b.find(v.Unit)
		if s == nil {
			b.series = append(b.series, series{unit: v.Unit})
			s = &b.series[len(b.series)-1]
			r.noteWritten(v)
		}
		s.values = append(s.values, v.Value)
	}
	return nil
}

// noteWritten remembers a unit that is not a base unit.
func (r *Results) noteWritten(v benchfmt.Value) {
	if v.OrigUnit == "" || r.wrote[v.Unit] != "" {
		return
	}
	if r.wrote == nil {
		r.wrote = map[string]string{}
	}
	r.wrote[v.Unit] = v.OrigUnit
}

// lookup finds or makes the benchmark a result belongs to.
func (r *Results) lookup(res *benchfmt.Result) *benchmark {
	var pkg []byte
	if i, ok := res.ConfigIndex("pkg"); ok {
		pkg = res.Config[i].Value
	}
	r.key = append(append(append(r.key[:0], pkg...), 0), res.Name...)
	if b := r.index[string(r.key)]; b != nil {
		return b
	}
	if r.index == nil {
		r.index = map[string]*benchmark{}
	}
	b := &benchmark{pkg: string(pkg), name: string(res.Name)}
	r.index[string(r.key)] = b
	r.order = append(r.order, b)
	return b
}

// check refuses a side with nothing to compare.
func (r *Results) check(side string) error {
	switch {
	case r != nil && len(r.order) > 0:
		return nil
	case r != nil && r.Filter != nil && len(r.names) > 0:
		return fmt.Errorf("no result of %s, the %s side, passes the filter", r.Name(), side)
	}
	return fmt.Errorf("the %s side has no results", side)
}

// get finds the benchmark of another side, nil where r has none.
func (r *Results) get(b *benchmark) *benchmark { return r.index[b.pkg+"\x00"+b.name] }

// largest is the largest value a sample may have: sums and ratios of larger
// ones might not be numbers.
const largest = 1e150

// tidyResult checks a result and brings its values to base units.
func tidyResult(res *benchfmt.Result) error {
	if len(res.Name) == 0 {
		return errors.New("a benchmark without a name")
	}
	if res.Iters <= 0 {
		return fmt.Errorf("benchmark %s: %d iterations", res.Name, res.Iters)
	}
	if len(res.Values) == 0 {
		return fmt.Errorf("benchmark %s: no measurements", res.Name)
	}
	for i := range res.Values {
		v := &res.Values[i]
		if math.IsNaN(v.Value) || math.Abs(v.Value) > largest {
			return fmt.Errorf("benchmark %s: %v %s is not a number to compare", res.Name, v.Value, v.Unit)
		}
		// The reader leaves the unit of a zero as it is; Add takes any.
		if unit, factor := tidyFactor(v.Unit); unit != v.Unit {
			v.OrigValue, v.OrigUnit = v.Value, v.Unit
			v.Value, v.Unit = v.Value*factor, unit
		}
		for _, w := range res.Values[:i] {
			if w.Unit == v.Unit {
				return fmt.Errorf("benchmark %s: two values in %s in one result", res.Name, v.Unit)
			}
		}
	}
	return nil
}

// checkLines finds what the format's reader passes over, but which says that
// results are missing: a run that failed, a result without its name, a last
// line that may be cut short.
func checkLines(text []byte, name string) error {
	if bytes.IndexByte(text, 0) >= 0 {
		return fmt.Errorf("%s: not a text file", name)
	}
	line := 0
	for l := range bytes.Lines(text) {
		line++
		s := string(bytes.TrimSuffix(l, []byte("\n")))
		switch {
		case s == "FAIL", strings.HasPrefix(s, "FAIL\t"), strings.HasPrefix(s, "--- FAIL:"), strings.HasPrefix(s, "panic: "),
			strings.HasPrefix(s, "fatal error: "):
			return fmt.Errorf("%s:%d: the run failed: %q", name, line, s)
		case resultWithoutName(s):
			return fmt.Errorf("%s:%d: a result without a benchmark's name: %q; did the benchmark print?", name, line, strings.TrimSpace(s))
		case len(s) == len(l) && strings.HasPrefix(s, "Benchmark"):
			return fmt.Errorf("%s:%d: the last line does not end: the file may be cut short", name, line)
		}
	}
	return nil
}

// resultWithoutName recognises the rest of a result line that something else
// was printed into.
func resultWithoutName(line string) bool {
	if !strings.Contains(line, "/op") || line[0] != ' ' && line[0] != '\t' && (line[0] < '0' || line[0] > '9') {
		return false
	}
	f := strings.Fields(line)
	if len(f) < 3 || !strings.HasSuffix(f[2], "/op") {
		return false
	}
	_, iters := strconv.Atoi(f[0])
	_, value := strconv.ParseFloat(f[1], 64)
	return iters == nil && value == nil
}
