package bench_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gputax/bench"
)

// exampleComparison is a comparison with every kind of row.
func exampleComparison(t *testing.T) *bench.Comparison {
	t.Helper()
	const dir = "testdata/compare/"
	old, err := bench.ReadFiles(dir + "base.txt")
	if err != nil {
		t.Fatal(err)
	}
	new, err := bench.ReadFiles(dir + "change.txt")
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir + "accept.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	accept, err := bench.ReadAccept(f, "accept.txt")
	if err != nil {
		t.Fatal(err)
	}
	c, err := bench.Compare(old, new, bench.CompareOptions{Accept: accept})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComparisonFormats(t *testing.T) {
	c := exampleComparison(t)
	for name, write := range map[string]func(io.Writer) error{
		"text":     func(w io.Writer) error { return c.WriteText(w, false) },
		"markdown": c.WriteMarkdown,
		"json":     c.WriteJSON,
		"csv":      c.WriteCSV,
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata/compare", "comparison."+name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || got.String() != string(want) {
			t.Errorf("%s (%v; go test ./bench -update accepts a change that was meant):\n got\n%s\nwant\n%s", path, err, &got, want)
		}
	}
}

// Colour wraps words, and changes nothing else.
func TestColour(t *testing.T) {
	c := exampleComparison(t)
	var plain, coloured bytes.Buffer
	c.WriteText(&plain, false)
	c.WriteText(&coloured, true)
	if strings.Contains(plain.String(), "\x1b") || !strings.Contains(coloured.String(), "\x1b[31mWORSE\x1b[0m") {
		t.Error("colour where none was asked for, or none where it was")
	}
	if got := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(coloured.String(), ""); got != plain.String() {
		t.Errorf("with colours taken off:\n%s", got)
	}
}

// Every format is well formed whatever is in a name, and tells of every row.
func TestFormatsEscape(t *testing.T) {
	old := "Unit n better=lower assume=exact\npkg: <p>|x\nBenchmarkA|b/c=\"d,e\"*_<i>`@x 1 0 n 5 weird|unit\n"
	new := strings.Replace(old, " 0 n", " 3 n", 1)
	c := compareTexts(t, old, new, bench.CompareOptions{})
	var out bytes.Buffer
	if err := c.WriteMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if cells := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); strings.HasPrefix(line, "|") && cells != 8 {
			t.Errorf("%d cells: %s", cells-1, line)
		}
	}
	if s := out.String(); strings.Contains(s, "<i>") || strings.Contains(s, "@x") || !strings.Contains(s, "from 0") {
		t.Errorf("markdown:\n%s", s)
	}
	out.Reset()
	if err := c.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var decoded struct {
		Verdict string
		Rows    []struct {
			Benchmark, Unit string
			Delta           *float64
		}
	}
	if err := json.Unmarshal(out.Bytes(), &decoded); err != nil || len(decoded.Rows) != 2 || decoded.Verdict != "regression" || decoded.Rows[0].Delta != nil {
		t.Errorf("%v in %s", err, &out)
	}
	out.Reset()
	if err := c.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	if lines, err := csv.NewReader(&out).ReadAll(); err != nil || len(lines) != 3 || lines[1][1] != decoded.Rows[0].Benchmark {
		t.Errorf("%v in %q", err, lines)
	}
}

// The numbers that benchstat's public documentation gives for its example.
func TestBenchstatExample(t *testing.T) {
	old, err := bench.ReadFiles("testdata/compare/benchstat_old.txt")
	if err != nil {
		t.Fatal(err)
	}
	new, err := bench.ReadFiles("testdata/compare/benchstat_new.txt")
	if err != nil {
		t.Fatal(err)
	}
	c, err := bench.Compare(old, new, bench.CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := c.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`Encode/format=json-48 +1\.718µ ± 1% +1\.423µ ± 1% +-17\.20% \(p=0\.000 n=10\)  better`,
		`Encode/format=gob-48 +3\.066µ ± 0% +3\.070µ ± 2% +~ \(p=0\.446 n=10\)\n`,
		`geomean +2\.295µ +2\.090µ +-8\.94%`,
	} {
		if !regexp.MustCompile(want).MatchString(text.String()) {
			t.Errorf("no %s in\n%s", want, &text)
		}
	}
}

// On its own example and on files with noise, ties, zeros and unequal numbers
// of samples, benchstat itself gives the same centers, ranges, changes and
// p-values, where it can be run.
func TestAgainstBenchstat(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs benchstat")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := exec.CommandContext(ctx, "go", "tool", "-n", "benchstat").Run(); err != nil {
		t.Skip("go tool benchstat is not to be had here:", err)
	}
	for _, pair := range [][2]string{{"benchstat_old.txt", "benchstat_new.txt"}, {"base.txt", "change.txt"}} {
		a, b := "testdata/compare/"+pair[0], "testdata/compare/"+pair[1]
		out, err := exec.CommandContext(ctx, "go", "tool", "benchstat", "-format", "csv", "-ignore", "cpu", a, b).Output()
		if err != nil {
			t.Fatal(err)
		}
		c := compareFiles(t, a, b)
		checked := 0
		for name, want := range benchstatRows(t, string(out)) {
			i := slices.IndexFunc(c.Rows, func(r bench.Row) bool { return r.Benchmark+" "+r.Unit == name })
			if i < 0 || c.Rows[i].Exact {
				continue
			}
			r := c.Rows[i]
			checked++
			if relativeError(r.Old.Center, want.old) > 1e-9 || relativeError(r.New.Center, want.new) > 1e-9 || math.Abs(r.P-want.p) > 0.0005 {
				t.Errorf("%s: %+v, benchstat has %+v", name, r, want)
			}
			if want.change != "~" && want.change != strconv.FormatFloat(r.Delta*100, 'f', 2, 64)+"%" && want.change != "+"+strconv.FormatFloat(r.Delta*100, 'f', 2, 64)+"%" {
				t.Errorf("%s: changed by %v, benchstat has %s", name, r.Delta, want.change)
			}
		}
		if checked < 2 {
			t.Errorf("%v: %d rows found in benchstat's output:\n%s", pair, checked, out)
		}
	}
}

func compareFiles(t *testing.T, old, new string) *bench.Comparison {
	t.Helper()
	a, err := bench.ReadFiles(old)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bench.ReadFiles(new)
	if err != nil {
		t.Fatal(err)
	}
	c, err := bench.Compare(a, b, bench.CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func relativeError(got, want float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want)
}

// benchstatRow is one row of benchstat's CSV.
type benchstatRow struct {
	old, new, p float64
	change      string
}

// benchstatRows reads benchstat's CSV: a header with the unit, then name, old,
// range, new, range, change and p-value.
func benchstatRows(t *testing.T, text string) map[string]benchstatRow {
	t.Helper()
	rows := map[string]benchstatRow{}
	unit := ""
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) < 7 {
			continue
		}
		if f[0] == "" {
			unit = f[1]
			continue
		}
		old, err1 := strconv.ParseFloat(f[1], 64)
		new, err2 := strconv.ParseFloat(f[3], 64)
		p, _, _ := strings.Cut(strings.TrimPrefix(f[6], "p="), " ")
		value, err3 := strconv.ParseFloat(p, 64)
		if err1 == nil && err2 == nil && err3 == nil {
			rows[f[0]+" "+unit] = benchstatRow{old, new, value, f[5]}
		}
	}
	return rows
}
