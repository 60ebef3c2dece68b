package f32

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGeneratedFilesAreCurrent runs the generator into a temporary folder and compares.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "run", "./gen", "-out", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go run ./gen: %v\n%s", err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		t.Fatalf("the generator wrote %d files: %v", len(entries), err)
	}
	for _, e := range entries {
		want, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(e.Name()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the generator writes (%v): run go generate", e.Name(), err)
		}
	}
}
