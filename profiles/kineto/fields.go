package kineto

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// fields goes over the fields of one object that scanner.value has found the
// end of: its brackets and strings are known to be whole.
type fields struct {
	b          []byte
	i          int
	key, value []byte // of the current field; the key without quotes
	bad        bool   // it is not an object, or not a well-formed one
}

func fieldsOf(object []byte) fields {
	if len(object) < 2 || object[0] != '{' {
		return fields{bad: true}
	}
	return fields{b: object, i: 1}
}

// next goes on to the next field.
func (f *fields) next() bool {
	if f.bad || !f.space() {
		return false
	}
	if f.b[f.i] == '}' {
		f.bad = f.i != len(f.b)-1
		return false
	}
	if f.b[f.i] == ',' {
		f.i++
		f.space()
	}
	end, err := valueEnd(f.b, f.i, true)
	if err != nil || f.b[f.i] != '"' {
		f.bad = true
		return false
	}
	f.key = f.b[f.i+1 : end-1]
	f.i = end
	if !f.space() || f.b[f.i] != ':' {
		f.bad = true
		return false
	}
	f.i++
	f.space()
	if end, err = valueEnd(f.b, f.i, true); err != nil {
		f.bad = true
		return false
	}
	f.value, f.i = f.b[f.i:end], end
	return true
}

// space skips white space; false at the end, which an object never has.
func (f *fields) space() bool {
	for f.i < len(f.b) && f.b[f.i] <= ' ' {
		f.i++
	}
	if f.i == len(f.b) {
		f.bad = true
	}
	return !f.bad
}

// unquote is the text of a string value: a part of it or, where it has escapes,
// of scratch, which grows. What is no string gives nothing.
func unquote(v []byte, scratch *[]byte) []byte {
	if len(v) < 2 || v[0] != '"' {
		return nil
	}
	v = v[1 : len(v)-1]
	if bytes.IndexByte(v, '\\') < 0 {
		return v
	}
	buf := (*scratch)[:0]
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 == len(v) {
			buf = append(buf, v[i])
			continue
		}
		i++
		switch v[i] {
		case 'n':
			buf = append(buf, '\n')
		case 't':
			buf = append(buf, '\t')
		case 'r':
			buf = append(buf, '\r')
		case 'b':
			buf = append(buf, '\b')
		case 'f':
			buf = append(buf, '\f')
		case 'u':
			if i+4 < len(v) {
				if r, err := strconv.ParseUint(string(v[i+1:i+5]), 16, 16); err == nil {
					buf = utf8.AppendRune(buf, rune(r)) // halves of a pair become U+FFFD
					i += 4
					continue
				}
			}
			buf = append(buf, '\\', 'u')
		case '"', '\\', '/':
			buf = append(buf, v[i])
		default: // not JSON, and paths of Windows have it
			buf = append(buf, '\\', v[i])
		}
	}
	*scratch = buf
	return buf
}

// integer is a whole number; numbers in quotes count too.
func integer(v []byte) (int64, bool) {
	v = bytes.Trim(v, `"`)
	neg := len(v) > 0 && v[0] == '-'
	if neg {
		v = v[1:]
	}
	if len(v) == 0 || len(v) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// nanoseconds is a decimal number of microseconds, exactly, rounded to
// nanoseconds where it has more digits than that.
func nanoseconds(v []byte) (int64, bool) {
	v = bytes.Trim(v, `"`)
	whole, frac, _ := bytes.Cut(v, []byte{'.'})
	us, ok := integer(whole)
	if !ok || us > math.MaxInt64/2000 || us < math.MinInt64/2000 {
		return scientific(v)
	}
	var ns int64
	for i := range 3 {
		ns *= 10
		if i < len(frac) {
			if c := frac[i]; c < '0' || c > '9' {
				return scientific(v)
			}
			ns += int64(frac[i] - '0')
		}
	}
	for _, c := range frac[min(3, len(frac)):] {
		if c < '0' || c > '9' {
			return scientific(v)
		}
	}
	if len(frac) > 3 && frac[3] >= '5' {
		ns++
	}
	if whole[0] == '-' {
		ns = -ns
	}
	return us*1000 + ns, true
}

// scientific is nanoseconds for a number with an exponent.
func scientific(v []byte) (int64, bool) {
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || math.IsNaN(f) || math.Abs(f) > math.MaxInt64/2000 {
		return 0, false
	}
	return int64(math.Round(f * 1000)), true
}
