package model

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gputax/device"
)

// sample is a checkpoint's like: several arrays, one empty, and numbers that
// text would lose.
func sample(t *testing.T) (*File, []byte) {
	t.Helper()
	f := &File{Sections: []Section{
		{"params", []float32{1, -2.5, float32(math.Inf(1)), float32(math.NaN()), math.SmallestNonzeroFloat32}},
		{"empty", []float32{}},
		{"adam.m", []float32{3}},
	}}
	if err := f.Set("epoch", 12); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil {
		t.Fatal(err)
	}
	return f, b.Bytes()
}

func TestFileRoundTrip(t *testing.T) {
	want, data := sample(t)
	got, err := Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var epoch int
	if err := got.Get("epoch", &epoch); err != nil || epoch != 12 {
		t.Errorf("epoch %d, %v", epoch, err)
	}
	for i, s := range want.Sections {
		if got.Sections[i].Name != s.Name || !slices.Equal(device.Bytes(got.Sections[i].Data), device.Bytes(s.Data)) {
			t.Errorf("section %d is %v, want %v", i, got.Sections[i], s)
		}
	}
	if data, err := got.Section("adam.m"); err != nil || data[0] != 3 {
		t.Errorf("adam.m is %v, %v", data, err)
	}
	if _, err := got.Section("adam.v"); !errors.Is(err, ErrContent) {
		t.Errorf("a section that is not there: %v", err)
	}
	if err := got.Get("step", &epoch); !errors.Is(err, ErrContent) {
		t.Errorf("a header value that is not there: %v", err)
	}
	var text string
	if err := got.Get("epoch", &text); !errors.Is(err, ErrContent) {
		t.Errorf("a number as text: %v", err)
	}
	var again bytes.Buffer
	if err := got.Encode(&again); err != nil || !bytes.Equal(again.Bytes(), data) {
		t.Error("encoded again, the file differs")
	}
}

// Cut short anywhere, or with any bit changed, a file is refused.
func TestFileDamage(t *testing.T) {
	_, data := sample(t)
	for n := range data {
		want := ErrTruncated
		if n < len(magic) {
			want = ErrForeign
		}
		if f, err := Decode(bytes.NewReader(data[:n])); f != nil || !errors.Is(err, want) {
			t.Fatalf("%d of %d bytes: got %v, want %v", n, len(data), err, want)
		}
		altered := bytes.Clone(data)
		altered[n] ^= 1 << (n % 8)
		f, err := Decode(bytes.NewReader(altered))
		known := errors.Is(err, ErrForeign) || errors.Is(err, ErrVersion) || errors.Is(err, ErrTruncated) || errors.Is(err, ErrAltered)
		if f != nil || !known {
			t.Fatalf("byte %d changed: got %v", n, err)
		}
	}
	if _, err := Decode(bytes.NewReader(append(bytes.Clone(data), 0))); !errors.Is(err, ErrAltered) {
		t.Errorf("a byte more: %v", err)
	}
	future := bytes.Clone(data)
	binary.LittleEndian.PutUint32(future[len(magic):], version+1)
	if _, err := Decode(bytes.NewReader(future)); !errors.Is(err, ErrVersion) {
		t.Errorf("a later version: %v", err)
	}
	huge := bytes.Clone(data)
	binary.LittleEndian.PutUint64(huge[len(magic)+8:], math.MaxUint64-100)
	if _, err := Decode(bytes.NewReader(huge)); !errors.Is(err, ErrAltered) {
		t.Errorf("a huge length: %v", err)
	}
	for _, foreign := range []string{"", "PK\x03\x04 something else entirely", "{}"} {
		if _, err := Decode(strings.NewReader(foreign)); !errors.Is(err, ErrForeign) {
			t.Errorf("%q: %v", foreign, err)
		}
	}
}

func TestEncodeRefusesTwins(t *testing.T) {
	f := &File{Sections: []Section{{"a", nil}, {"a", nil}}}
	if err := f.Encode(&bytes.Buffer{}); err == nil {
		t.Error("two sections of one name were taken")
	}
	if err := f.Set("f", func() {}); err == nil {
		t.Error("a function was taken as JSON")
	}
}

func TestSaveLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.bin")
	params := make([]float32, NewLayout(small).Size)
	NewLayout(small).Init(params, 4)
	for range 2 { // the second time over the first
		if err := Save(path, small, params); err != nil {
			t.Fatal(err)
		}
	}
	cfg, got, err := Load(path)
	if err != nil || cfg != small || !slices.Equal(got, params) {
		t.Errorf("loaded %+v, %d parameters, %v", cfg, len(got), err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files beside the one saved", len(files)-1)
	}
}

// Errors of Load name the file and the fault, and nothing is returned.
func TestLoadRefusals(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, config any, sections ...Section) string {
		path := filepath.Join(dir, name)
		f := &File{Sections: sections}
		if config != nil {
			if err := f.Set("config", config); err != nil {
				t.Fatal(err)
			}
		}
		if err := WriteFile(path, f); err != nil {
			t.Fatal(err)
		}
		return path
	}
	short := filepath.Join(dir, "short")
	whole, err := os.ReadFile(write("whole", small, Section{"params", make([]float32, NewLayout(small).Size)}))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(short, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "nowhere"), "no such file"},
		{short, "truncated"},
		{write("no-config", nil, Section{"params", nil}), `no header value "config"`},
		{write("bad-config", Config{}, Section{"params", nil}), "0 customers"},
		{write("no-params", small), `no section "params"`},
		{write("few-params", small, Section{"params", make([]float32, 5)}), "5 parameters, the config says"},
	} {
		cfg, params, err := Load(c.path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: got %v, want %q", c.path, err, c.want)
		}
		if cfg != (Config{}) || params != nil {
			t.Errorf("%s: something was returned beside the error", c.path)
		}
	}
	if err := Save(filepath.Join(dir, "x"), small, make([]float32, 3)); err == nil {
		t.Error("3 parameters were saved")
	}
	if err := Save(filepath.Join(dir, "x"), Config{}, nil); err == nil {
		t.Error("the zero config was saved")
	}
	if err := Save(filepath.Join(dir, "no", "such", "folder"), small, make([]float32, NewLayout(small).Size)); err == nil {
		t.Error("saved in a folder that is not there")
	}
}

// A write that fails leaves the old file, and nothing else.
func TestWriteIsAtomic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint")
	good, data := sample(t)
	if err := WriteFile(path, good); err != nil {
		t.Fatal(err)
	}
	bad := &File{Sections: []Section{{"a", nil}, {"a", nil}}}
	if err := WriteFile(path, bad); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an error that names %s", err, path)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
		t.Errorf("the old file changed: %v", err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files were left behind", len(files)-1)
	}
}
