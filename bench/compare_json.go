package bench

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"strconv"
)

// number is a float64 that JSON has as null where it is not finite.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if s := n.text(); s != "" {
		return []byte(s), nil
	}
	return []byte("null"), nil
}

// text is a number, or nothing where it is not finite.
func (n number) text() string {
	if math.IsInf(float64(n), 0) || math.IsNaN(float64(n)) {
		return ""
	}
	return strconv.FormatFloat(float64(n), 'g', -1, 64)
}

// toDigits is v to so many digits: fewer than it has, so that no machine's way
// of rounding shows.
func toDigits(v float64, digits int) number {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	if err != nil {
		return number(v)
	}
	return number(r)
}

// jsonSide is one side of a row in JSON.
type jsonSide struct {
	Center number `json:"center"`
	Lo     number `json:"lo"`
	Hi     number `json:"hi"`
	N      int    `json:"n"`
}

// jsonRow is a row in JSON. What a row does not have is left out: a side
// without samples, and statistics where none were made.
type jsonRow struct {
	Pkg       string    `json:"pkg,omitempty"`
	Benchmark string    `json:"benchmark"`
	Unit      string    `json:"unit,omitempty"`
	Written   string    `json:"unit_written,omitempty"`
	Exact     bool      `json:"exact"`
	Better    string    `json:"better"`
	Verdict   string    `json:"verdict"`
	Fails     bool      `json:"fails"`
	Old       *jsonSide `json:"old,omitempty"`
	New       *jsonSide `json:"new,omitempty"`
	Delta     *number   `json:"delta,omitempty"`
	EffectLo  *number   `json:"effect_lo,omitempty"`
	EffectHi  *number   `json:"effect_hi,omitempty"`
	MinEffect *number   `json:"min_effect,omitempty"`
	P         *number   `json:"p,omitempty"`
	PAdjusted *number   `json:"p_adjusted,omitempty"`
	Need      int       `json:"need,omitempty"`
	Note      string    `json:"note,omitempty"`
}

func newJSONRow(r *Row) jsonRow {
	out := jsonRow{Pkg: r.Pkg, Benchmark: r.Benchmark, Unit: r.Unit, Written: r.Written, Exact: r.Exact, Better: r.Better.String(),
		Verdict: r.Verdict.String(), Fails: r.Verdict.Fails(), Need: r.Need, Note: r.Note}
	side := func(s Summary) *jsonSide {
		if s.N == 0 {
			return nil
		}
		return &jsonSide{toDigits(s.Center, 15), toDigits(s.Lo, 15), toDigits(s.Hi, 15), s.N}
	}
	out.Old, out.New = side(r.Old), side(r.New)
	if out.Old == nil || out.New == nil {
		return out
	}
	set := func(v float64) *number { n := toDigits(v, 10); return &n }
	out.Delta = set(r.Delta)
	if !r.Exact {
		out.P = set(r.P)
	}
	if !r.Exact && r.Verdict != RowUnjudged {
		out.EffectLo, out.EffectHi, out.MinEffect, out.PAdjusted = set(r.Effect.Lo), set(r.Effect.Hi), set(r.MinEffect), set(r.PAdjusted)
	}
	return out
}

// WriteJSON writes a comparison as one JSON object. Values are in base units.
// Numbers that are not finite are null: a change from zero, a bound that does
// not exist. Values have 15 digits, statistics 10.
func (c *Comparison) WriteJSON(w io.Writer) error {
	out := struct {
		Verdict  string    `json:"verdict"`
		Summary  string    `json:"summary"`
		Old      string    `json:"old"`
		New      string    `json:"new"`
		Alpha    float64   `json:"alpha"`
		Paired   bool      `json:"paired"`
		Timed    int       `json:"timed_rows"`
		Warnings []string  `json:"warnings"`
		Rows     []jsonRow `json:"rows"`
	}{c.Verdict().String(), c.Summary(), c.OldName, c.NewName, c.Alpha, c.Paired, c.Timed, []string{}, []jsonRow{}}
	for _, w := range c.Warnings {
		out.Warnings = append(out.Warnings, w.Error())
	}
	for i := range c.Rows {
		out.Rows = append(out.Rows, newJSONRow(&c.Rows[i]))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(out)
}

// WriteCSV writes a line a row, after one of column names. Values are in base
// units; a field is empty where there is no number for it.
func (c *Comparison) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"pkg", "benchmark", "unit", "exact", "better", "verdict", "old", "old_lo", "old_hi", "old_n",
		"new", "new_lo", "new_hi", "new_n", "delta", "effect_lo", "effect_hi", "p", "p_adjusted", "need", "note"})
	text := func(n *number) string {
		if n == nil {
			return ""
		}
		return n.text()
	}
	side := func(s *jsonSide) []string {
		if s == nil {
			return []string{"", "", "", "0"}
		}
		return []string{s.Center.text(), s.Lo.text(), s.Hi.text(), strconv.Itoa(s.N)}
	}
	for i := range c.Rows {
		r := newJSONRow(&c.Rows[i])
		line := []string{r.Pkg, r.Benchmark, r.Unit, strconv.FormatBool(r.Exact), r.Better, r.Verdict}
		line = append(append(line, side(r.Old)...), side(r.New)...)
		line = append(line, text(r.Delta), text(r.EffectLo), text(r.EffectHi), text(r.P), text(r.PAdjusted), strconv.Itoa(r.Need), r.Note)
		out.Write(line)
	}
	out.Flush()
	return out.Error()
}
