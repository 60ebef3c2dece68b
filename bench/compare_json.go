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
	if math.IsInf(float64(n), 0) || math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
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
		return &jsonSide{number(s.Center), number(s.Lo), number(s.Hi), s.N}
	}
	out.Old, out.New = side(r.Old), side(r.New)
	if out.Old == nil || out.New == nil {
		return out
	}
	set := func(v float64) *number { n := number(v); return &n }
	out.Delta = set(r.Delta)
	if !r.Exact {
		out.EffectLo, out.EffectHi, out.MinEffect = set(r.Effect.Lo), set(r.Effect.Hi), set(r.MinEffect)
		out.P, out.PAdjusted = set(r.P), set(r.PAdjusted)
	}
	return out
}

// WriteJSON writes a comparison as one JSON object. Numbers that are not
// finite are null: a change from zero, a bound that does not exist.
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
		if n == nil || math.IsInf(float64(*n), 0) || math.IsNaN(float64(*n)) {
			return ""
		}
		return strconv.FormatFloat(float64(*n), 'g', -1, 64)
	}
	side := func(s *jsonSide) []string {
		if s == nil {
			return []string{"", "", "", "0"}
		}
		return []string{text(&s.Center), text(&s.Lo), text(&s.Hi), strconv.Itoa(s.N)}
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
