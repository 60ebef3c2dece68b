package profiles

import (
	"encoding/json"
	"strconv"
)

// begin begins an event. What follows are its other fields, then its arguments,
// then end: a run may have millions, so they are written as they come.
func (t *trace) begin(ph byte, name string, pid, tid int) {
	t.buf = t.buf[:0]
	if t.some {
		t.buf = append(t.buf, ',')
	}
	t.some = true
	t.buf = append(t.buf, "\n{\"ph\":\""...)
	t.buf = append(t.buf, ph)
	t.buf = append(t.buf, "\",\"pid\":"...)
	t.buf = strconv.AppendInt(t.buf, int64(pid), 10)
	t.buf = append(t.buf, ",\"tid\":"...)
	t.buf = strconv.AppendInt(t.buf, int64(tid), 10)
	t.buf = append(t.buf, ",\"name\":"...)
	t.buf = appendString(t.buf, name)
	t.args = false
}

// field adds a field whose value is JSON already.
func (t *trace) field(key, value string) {
	t.buf = append(t.buf, ",\""...)
	t.buf = append(t.buf, key...)
	t.buf = append(t.buf, "\":"...)
	t.buf = append(t.buf, value...)
}

// time adds a time: the format has microseconds, here with nanoseconds after the
// point.
func (t *trace) time(key string, ns int64) {
	t.field(key, "")
	t.buf = strconv.AppendInt(t.buf, ns/1000, 10)
	rest := ns % 1000
	t.buf = append(t.buf, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// key begins an argument.
func (t *trace) key(key string) {
	if t.args {
		t.buf = append(t.buf, ',')
	} else {
		t.buf = append(t.buf, ",\"args\":{"...)
	}
	t.args = true
	t.buf = appendString(t.buf, key)
	t.buf = append(t.buf, ':')
}

// text adds an argument.
func (t *trace) text(key, value string) {
	t.key(key)
	t.buf = appendString(t.buf, value)
}

// number adds an argument.
func (t *trace) number(key string, value int64) {
	t.key(key)
	t.buf = strconv.AppendInt(t.buf, value, 10)
}

// end writes the event.
func (t *trace) end() {
	if t.args {
		t.buf = append(t.buf, '}')
	}
	t.buf = append(t.buf, '}')
	t.out.Write(t.buf)
}

// appendString appends s as JSON. Names are nearly always plain.
func appendString(buf []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // of a string: cannot fail
			return append(buf, quoted...)
		}
	}
	buf = append(buf, '"')
	buf = append(buf, s...)
	return append(buf, '"')
}
