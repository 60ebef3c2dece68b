package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// What can be wrong with a file, for errors.Is. The wrapping errors say which
// file and what exactly.
var (
	ErrForeign   = errors.New("not a gputax file")
	ErrVersion   = errors.New("unknown version")
	ErrTruncated = errors.New("truncated")
	ErrAltered   = errors.New("altered since it was written")
	ErrContent   = errors.New("unexpected content")
)

// File is named arrays of numbers with a small header: parameters, or a whole
// checkpoint.
type File struct {
	Header   map[string]json.RawMessage
	Sections []Section
}

// Section is one array.
type Section struct {
	Name string
	Data []float32
}

// Set makes v, as JSON, the header's value of key.
func (f *File) Set(key string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("model: file header %q: %w", key, err)
	}
	if f.Header == nil {
		f.Header = map[string]json.RawMessage{}
	}
	f.Header[key] = raw
	return nil
}

// Get decodes the header's value of key into v.
func (f *File) Get(key string, v any) error {
	raw, ok := f.Header[key]
	if !ok {
		return fmt.Errorf("no header value %q: %w", key, ErrContent)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("header value %q: %w: %w", key, err, ErrContent)
	}
	return nil
}

// Section is the array of that name.
func (f *File) Section(name string) ([]float32, error) {
	for _, s := range f.Sections {
		if s.Name == name {
			return s.Data, nil
		}
	}
	return nil, fmt.Errorf("no section %q: %w", name, ErrContent)
}

// The format, all numbers little-endian: a preamble of magic, version (uint32),
// length of the JSON (uint32) and of the arrays (uint64); the JSON; the arrays
// as float32 one after the other; the SHA-256 of all that.
const (
	magic        = "gputax\x00\x1a"
	version      = 1
	preambleSize = len(magic) + 4 + 4 + 8
)

// index is the JSON of a file.
type index struct {
	Header   map[string]json.RawMessage `json:"header"`
	Sections []sectionIndex             `json:"sections"`
}

type sectionIndex struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Encode writes f to w.
func (f *File) Encode(w io.Writer) error {
	idx := index{Header: f.Header, Sections: []sectionIndex{}}
	count, seen := 0, map[string]bool{}
	for _, s := range f.Sections {
		if seen[s.Name] {
			return fmt.Errorf("model: encode: two sections are named %q", s.Name)
		}
		seen[s.Name] = true
		idx.Sections = append(idx.Sections, sectionIndex{s.Name, len(s.Data)})
		count += len(s.Data)
	}
	head, err := json.Marshal(idx)
	if err != nil {
		return fmt.Errorf("model: encode: %w", err)
	}
	out := make([]byte, 0, preambleSize+len(head)+4*count+sha256.Size)
	out = append(out, magic...)
	out = binary.LittleEndian.AppendUint32(out, version)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(head)))
	out = binary.LittleEndian.AppendUint64(out, uint64(4*count))
	out = append(out, head...)
	for _, s := range f.Sections {
		for _, v := range s.Data {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		}
	}
	sum := sha256.Sum256(out)
	_, err = w.Write(append(out, sum[:]...))
	return err
}

// Decode reads one file from r, to its end. It returns nothing of a file that
// is not whole.
func Decode(r io.Reader) (*File, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		return nil, ErrForeign
	}
	if len(data) < preambleSize {
		return nil, fmt.Errorf("%w: %d bytes, a preamble has %d", ErrTruncated, len(data), preambleSize)
	}
	le := binary.LittleEndian
	if v := le.Uint32(data[len(magic):]); v != version {
		return nil, fmt.Errorf("%w %d; this program reads %d", ErrVersion, v, version)
	}
	head, payload := uint64(le.Uint32(data[len(magic)+4:])), le.Uint64(data[len(magic)+8:])
	want := uint64(preambleSize) + head + payload + sha256.Size
	switch got := uint64(len(data)); {
	case payload > math.MaxInt64/2:
		return nil, fmt.Errorf("%w: arrays of %d bytes", ErrAltered, payload)
	case got < want:
		return nil, fmt.Errorf("%w: %d bytes of %d", ErrTruncated, got, want)
	case got > want:
		return nil, fmt.Errorf("%w: %d bytes, %d too many", ErrAltered, got, got-want)
	}
	body := data[:want-sha256.Size]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[len(body):]) {
		return nil, fmt.Errorf("%w: the checksum differs", ErrAltered)
	}
	return parse(body[preambleSize:preambleSize+int(head)], body[preambleSize+int(head):])
}

// parse makes a File of its JSON and its arrays.
func parse(head, payload []byte) (*File, error) {
	var idx index
	if err := json.Unmarshal(head, &idx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrContent, err)
	}
	f := &File{Header: idx.Header}
	for _, s := range idx.Sections {
		if s.Count < 0 || s.Count > len(payload)/4 {
			return nil, fmt.Errorf("section %q of %d numbers, %d bytes are left: %w", s.Name, s.Count, len(payload), ErrContent)
		}
		data := make([]float32, s.Count)
		for i := range data {
			data[i] = math.Float32frombits(binary.LittleEndian.Uint32(payload[4*i:]))
		}
		payload = payload[4*s.Count:]
		f.Sections = append(f.Sections, Section{s.Name, data})
	}
	if len(payload) != 0 {
		return nil, fmt.Errorf("%d bytes belong to no section: %w", len(payload), ErrContent)
	}
	return f, nil
}
