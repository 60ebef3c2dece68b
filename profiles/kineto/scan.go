package kineto

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent is the longest event that is read, in bytes: names of kernels run to
// a few kilobytes, so more than this is not a trace.
const maxEvent = 16 << 20

// maxDepth is how deep arrays and objects may nest within an event.
const maxDepth = 64

// scanner goes through the events of a trace without keeping it in memory and
// without allocating: encoding/json reads such files at a few tens of megabytes
// a second.
type scanner struct {
	r    io.Reader
	buf  []byte
	i, n int   // the unread part of buf
	off  int64 // where buf begins in the input
	eof  bool

	events  int64  // seen so far
	scratch []byte // for keys with escapes
}

// errShort says that what is in the buffer ends too early.
var errShort = errors.New("unexpected end")

func newScanner(r io.Reader) *scanner { return &scanner{r: r, buf: make([]byte, 1<<17)} }

// fill reads more, keeping what is unread. At the end of the input it returns
// errShort.
func (s *scanner) fill() error {
	if s.eof {
		return errShort
	}
	if s.i > 0 {
		copy(s.buf, s.buf[s.i:s.n])
		s.off += int64(s.i)
		s.i, s.n = 0, s.n-s.i
	}
	if s.n == len(s.buf) {
		if len(s.buf) >= maxEvent {
			return fmt.Errorf("a value of more than %d MB", maxEvent>>20)
		}
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for range 100 {
		k, err := s.r.Read(s.buf[s.n:])
		s.n += k
		if err == io.EOF {
			s.eof = true
			if k > 0 {
				return nil
			}
			return errShort
		}
		if err != nil {
			return err
		}
		if k > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}

// peek is the next byte that is not white space.
func (s *scanner) peek() (byte, error) {
	for {
		for ; s.i < s.n; s.i++ {
			if c := s.buf[s.i]; c > ' ' {
				return c, nil
			}
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// need takes the next byte, which must be c.
func (s *scanner) need(c byte) error {
	got, err := s.peek()
	if err != nil {
		return err
	}
	if got != c {
		return fmt.Errorf("%q where %q should be", got, c)
	}
	s.i++
	return nil
}

// next takes a separator: more is true after a comma, false after end.
func (s *scanner) next(end byte) (more bool, err error) {
	got, err := s.peek()
	switch {
	case err != nil:
		return false, err
	case got == end:
		s.i++
		return false, nil
	case got == ',':
		s.i++
		return true, nil
	}
	return false, fmt.Errorf("%q where ',' or %q should be", got, end)
}

// value is the bytes of the next value, valid until the next call.
func (s *scanner) value() ([]byte, error) {
	if _, err := s.peek(); err != nil {
		return nil, err
	}
	for {
		end, err := valueEnd(s.buf[:s.n], s.i, s.eof)
		if err == nil {
			v := s.buf[s.i:end]
			s.i = end
			return v, nil
		}
		if err != errShort {
			return nil, err
		}
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
}

// array calls f with each element of the array that comes next.
func (s *scanner) array(f func(element []byte) error) error {
	if err := s.need('['); err != nil {
		return err
	}
	if c, err := s.peek(); err != nil {
		return err
	} else if c == ']' {
		s.i++
		return nil
	}
	for {
		v, err := s.value()
		if err != nil {
			return err
		}
		s.events++
		if err := f(v); err != nil {
			return err
		}
		more, err := s.next(']')
		if err != nil || !more {
			return err
		}
	}
}

// object calls f with each key of the object that comes next; f takes the value.
func (s *scanner) object(f func(key string) error) error {
	if err := s.need('{'); err != nil {
		return err
	}
	if c, err := s.peek(); err != nil {
		return err
	} else if c == '}' {
		s.i++
		return nil
	}
	for {
		if c, err := s.peek(); err != nil {
			return err
		} else if c != '"' {
			return fmt.Errorf("%q where a key should be", c)
		}
		k, err := s.value()
		if err != nil {
			return err
		}
		key := string(unquote(k, &s.scratch))
		if err := s.need(':'); err != nil {
			return err
		}
		if err := f(key); err != nil {
			return err
		}
		more, err := s.next('}')
		if err != nil || !more {
			return err
		}
	}
}

// valueEnd is where the value at b[i] ends. Numbers and words end at a
// separator, or with the input where b is all there is.
func valueEnd(b []byte, i int, all bool) (int, error) {
	if i >= len(b) {
		return 0, errShort
	}
	switch c := b[i]; {
	case c == '"':
		return stringEnd(b, i)
	case c == '{' || c == '[':
		return nestedEnd(b, i)
	case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f' || c == 'n' || c == 'N' || c == 'I':
		// Kineto writes NaN and Infinity as they are.
		for i++; i < len(b); i++ {
			if c := b[i]; c <= ' ' || c == ',' || c == '}' || c == ']' || c == ':' || c == '"' || c == '{' || c == '[' {
				return i, nil
			}
		}
		if all {
			return i, nil
		}
		return 0, errShort
	default:
		return 0, fmt.Errorf("%q where a value should be", c)
	}
}

// stringEnd is where the string at b[i] ends, after its quote.
func stringEnd(b []byte, i int) (int, error) {
	for j := i + 1; ; {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return 0, errShort
		}
		j += k + 1
		slashes := 0
		for p := j - 2; p > i && b[p] == '\\'; p-- {
			slashes++
		}
		if slashes%2 == 0 {
			return j, nil
		}
	}
}

// nestedEnd is where the object or array at b[i] ends. Only its brackets and
// strings are looked at.
func nestedEnd(b []byte, i int) (int, error) {
	var objects uint64 // a bit a level: whether it is an object
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			end, err := stringEnd(b, i)
			if err != nil {
				return 0, err
			}
			i = end
			continue
		case '{', '[':
			if depth == maxDepth {
				return 0, fmt.Errorf("nested deeper than %d", maxDepth)
			}
			objects <<= 1
			if b[i] == '{' {
				objects |= 1
			}
			depth++
		case '}', ']':
			if (objects&1 == 1) != (b[i] == '}') {
				return 0, fmt.Errorf("%q closes another bracket", b[i])
			}
			objects >>= 1
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return 0, errShort
}
