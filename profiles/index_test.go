package profiles_test

import (
	"archive/zip"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gputax/device"
	"gputax/profiles"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// folder is handmade's, with one of everything.
func folder() *profiles.Folder {
	r := handmade()
	r.Config = []profiles.Setting{{Key: "command", Value: "gputax profile a|b"}, {Key: "device", Value: "by hand"}}
	r.CPU, r.Heap = []byte("cpu"), []byte("heap")
	r.Warnings = []string{"one record\nwas lost"}
	r.Source.Unseen = map[profiles.Knowledge]string{profiles.Contents: "nobody looked", profiles.HeapAllocs: "nor there"}
	return &profiles.Folder{Recording: r, Title: "two steps by hand", Bench: profiles.BenchOptions{Times: true},
		Findings: []profiles.File{{Name: "findings.md", About: "what is wrong", Write: func(w io.Writer) error {
			_, err := io.WriteString(w, "nothing\n")
			return err
		}}},
		Overheads: []profiles.Overhead{{What: "calls", Without: 200 * time.Millisecond, With: 203 * time.Millisecond, Runs: 3}}}
}

func TestIndexGolden(t *testing.T) {
	var out strings.Builder
	if err := folder().WriteIndex(&out); err != nil {
		t.Fatal(err)
	}
	const path = "testdata/index.golden"
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("wrote\n%s\nwant\n%s", &out, want)
	}
}

// Every Knowledge has words for it.
func TestKnowledgeNames(t *testing.T) {
	for k := profiles.Contents; k <= profiles.HeapAllocs; k++ {
		if strings.HasPrefix(k.String(), "knowledge ") {
			t.Errorf("%s has no words", k)
		}
	}
}

var folderFiles = []string{"bench.txt", "cpu.pb.gz", "findings.md", "gpu.pb.gz", "heap.pb.gz", "index.md", "trace.json"}

func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriteDir(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "new", "p")
	if kept, err := folder().WriteDir(dir); err != nil || kept != "" {
		t.Fatal(kept, err)
	}
	if got := fileNames(t, dir); !slices.Equal(got, folderFiles) {
		t.Errorf("files %q", got)
	}
	for i, want := range []string{"p.1", "p.2"} {
		kept, err := folder().WriteDir(dir)
		if err != nil || filepath.Base(kept) != want || !slices.Equal(fileNames(t, kept), folderFiles) {
			t.Errorf("time %d: kept as %s, error %v", i+2, kept, err)
		}
	}
	if got := fileNames(t, filepath.Dir(dir)); !slices.Equal(got, []string{"p", "p.1", "p.2"}) {
		t.Errorf("left %q", got)
	}
	empty := filepath.Join(parent, "empty")
	if err := os.Mkdir(empty, 0o777); err != nil {
		t.Fatal(err)
	}
	if kept, err := folder().WriteDir(empty); err != nil || kept != "" || !slices.Equal(fileNames(t, empty), folderFiles) {
		t.Errorf("an empty directory: kept %q, error %v", kept, err)
	}
}

// What is not ours is left alone, and what fails leaves nothing behind.
func TestWriteDirRefuses(t *testing.T) {
	parent := t.TempDir()
	other := filepath.Join(parent, "other")
	if err := os.Mkdir(other, 0o777); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(other, "index.md"): "# My notes\n", filepath.Join(parent, "file"): "text"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"other", "file"} {
		if _, err := folder().WriteDir(filepath.Join(parent, name)); err == nil || !strings.Contains(err.Error(), "no profile") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := folder().WriteZip(other); err == nil || !strings.Contains(err.Error(), "no profile") {
		t.Errorf("a directory as a file: %v", err)
	}
	fail := errors.New("the disk is full")
	broken := folder()
	broken.Findings[0].Write = func(io.Writer) error { return fail }
	invalid := folder()
	invalid.Recording.Calls.At(0).Dur = -1
	for _, f := range []*profiles.Folder{broken, invalid} {
		if _, err := f.WriteDir(filepath.Join(parent, "new")); err == nil {
			t.Error("a directory was written")
		}
		if _, err := f.WriteZip(filepath.Join(parent, "new.zip")); err == nil {
			t.Error("a file was written")
		}
	}
	if got := fileNames(t, parent); !slices.Equal(got, []string{"file", "other"}) {
		t.Errorf("left %q", got)
	}
}

// Where nothing can be written is told before a run, and asking leaves nothing.
func TestCheckPlaces(t *testing.T) {
	parent := t.TempDir()
	for _, check := range []func(string) error{profiles.CheckDir, profiles.CheckZip} {
		for _, name := range []string{"p", "new/below/p"} {
			if err := check(filepath.Join(parent, name)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := fileNames(t, parent); len(got) > 0 {
			t.Errorf("left %q", got)
		}
		if runtime.GOOS != "linux" {
			continue
		}
		const want = "nothing can be written in /proc: "
		if err := check("/proc/new/p"); err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "choose another") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestWriteZip(t *testing.T) {
	parent := t.TempDir()
	path := filepath.Join(parent, "p.zip")
	for _, want := range []string{"", "p.1.zip", "p.2.zip"} {
		kept, err := folder().WriteZip(path)
		if err != nil || kept != "" && filepath.Base(kept) != want || kept == "" && want != "" {
			t.Fatalf("kept as %q, want %q; error %v", kept, want, err)
		}
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var names []string
	for _, f := range z.File {
		names = append(names, strings.TrimPrefix(f.Name, "p/"))
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(r); err != nil || len(data) == 0 {
			t.Errorf("%s: %d bytes, error %v", f.Name, len(data), err)
		}
	}
	slices.Sort(names)
	if !slices.Equal(names, folderFiles) {
		t.Errorf("files %q", names)
	}
}

// Recording saves no time, whatever a busy machine makes of it.
func TestIndexOverheadNoise(t *testing.T) {
	f := folder()
	f.Overheads[0].With = f.Overheads[0].Without / 2
	var out strings.Builder
	if err := f.WriteIndex(&out); err != nil || !strings.Contains(out.String(), "| calls | 200 ms | 100 ms | less than the noise | 3 |") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// A recording on a virtual clock says that its times are simulated.
func TestIndexClock(t *testing.T) {
	f := folder()
	f.Recording.Clock = device.Virtual
	var out strings.Builder
	if err := f.WriteIndex(&out); err != nil || !strings.Contains(out.String(), "Times are simulated") {
		t.Errorf("%v\n%s", err, &out)
	}
}
