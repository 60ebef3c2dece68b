package main

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const docsDir = "../../docs"

// docs/paradox.md is what the command makes of the files it names.
func TestParadoxDocument(t *testing.T) {
	want, err := renderStory(docsDir)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(docsDir, document)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is not what gputax why -story docs writes (%v); run that, or go test ./cmd/gputax -update", path, err)
	}
}

// The story run again, a step of it, gives the kept shares to the
// nanosecond; and those of whole epochs are within two points of them.
func TestParadoxReplays(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates a dozen epochs")
	}
	kept, err := readStory(filepath.Join(docsDir, storyOnSim))
	if err != nil || kept == nil {
		t.Fatal("no kept story: ", err)
	}
	step, err := runChecked(context.Background(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := asJSON(t, step), asJSON(t, kept.Checked); got != want || len(step) != len(checked) {
		t.Errorf("a step of the story no longer gives what docs/%s has; if that was meant, run gputax why -story docs -device %s\n got %s\nwant %s",
			storyOnSim, storyDevice, got, want)
	}
	for _, q := range step {
		whole := kept.chapter(q.Name).Ablation
		for _, s := range q.Ablation.Shares {
			for _, w := range whole.Shares {
				if s.Name == w.Name && math.Abs(s.Fraction-w.Fraction) > 0.02 {
					t.Errorf("%s: %s has %.1f%% of a step and %.1f%% of an epoch", q.Name, s.Name, 100*s.Fraction, 100*w.Fraction)
				}
			}
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The document with a card's story beside the simulated one; and what is wrong
// with one is said.
func TestParadoxOnACard(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(docsDir)); err != nil {
		t.Fatal(err)
	}
	kept, err := readStory(filepath.Join(dir, storyOnSim))
	if err != nil {
		t.Fatal(err)
	}
	// A card on which everything takes twice as long, TF32 matters, and how
	// batches are collated is lost in the noise.
	for i := range kept.Chapters {
		c := &kept.Chapters[i]
		c.Instances /= 2
		for j := range c.Ablation.Shares {
			switch s := &c.Ablation.Shares[j]; s.Name {
			case "tf32":
				s.Fraction = 0.2
			case "collate":
				s.Low, s.High = -1e9, 1e9
			}
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, storyOnCard), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(asJSON(t, kept))
	text, err := renderStory(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| told | what it was | variant | `sim:a6000-pytorch` | one H200 |",
		"| `cpu_loop` | 677 ms | 1.35 s |",
		"| 0 (0.0%) | 0 (20.0%) | not a cause; on the card right in part |",
		"| -510 us (under 0.1%) | -1.02 ms, noise | not a cause |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the document", want)
		}
	}
	kept.Chapters = kept.Chapters[1:]
	for text, want := range map[string]string{"{": "unexpected end", asJSON(t, kept): `no chapter "22 to 48"`} {
		write(text)
		if _, err := renderStory(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := os.Remove(filepath.Join(dir, storyOnSim)); err != nil {
		t.Fatal(err)
	}
	write("{}")
	if code, _, stderr := gputax("why", "-story", dir); code != exitError || !strings.Contains(stderr, "makes it") {
		t.Errorf("%d: %s", code, stderr)
	}
	if code, _, stderr := gputax("why", "-story", dir, "-device", "host"); code != exitError || !strings.Contains(stderr, "the story is told on") {
		t.Errorf("%d: %s", code, stderr)
	}
}

func TestVerdictsOfClaims(t *testing.T) {
	for _, c := range []struct {
		kind claimKind
		part float64
		want string
	}{
		{isCause, 0.5, "right"}, {isCause, 0.49, "right in part"}, {isCause, 0.1, "right in part"}, {isCause, 0.05, "right but small"},
		{isCause, 0.009, "not a cause"}, {isCause, -0.009, "not a cause"}, {isCause, -0.2, "wrong: the other way round"},
		{notCause, 0.3, "wrong: it was"}, {notCause, 0.05, "right"}, {inverse, 2.5, "wrong: the other way round"}, {inverse, -0.5, "right"},
	} {
		k := claim{kind: c.kind}
		if got := k.verdict(c.part); got != c.want {
			t.Errorf("%v of %v: %q, want %q", c.part, c.kind, got, c.want)
		}
	}
}
