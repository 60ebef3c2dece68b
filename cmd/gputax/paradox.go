package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gputax/bench"
	"gputax/trainer"
)

// The story's states: before, with the duplicates, and without them.
const (
	state22 = "cpu_loop"
	state48 = "gpu_per_route_dup+dist=one_by_one"
	state64 = "gpu_padded+dist=one_by_one"
)

// chapter is one ablation of the story that docs/paradox.md tells.
type chapter struct {
	name, from, to string
	instances      int // of an op
	// On a card, where the slow ones take seconds.
	onCard, rounds int
}

var chapters = []chapter{
	{"22 to 48", state22, state48, 3200, 384, 5},
	{"48 to 64", state48, state64, 3200, 384, 5},
	{"22 to 64", state22, state64, 3200, 3200, 7},
	{"write-up 003", "gpu_padded", "gpu_fused+upload=async+graph=on+tf32=on", 3200, 3200, 7},
	{"write-up 004", "cpu_loop+embed=per_token+collate=append+workers=12", // it is about a step
		"cpu_loop+embed=hoisted+workers=16+prefetch=2+upload=pinned+batch=256", 256, 256, 3},
}

// checked are the chapters that a test runs again: a single step of them.
var checked = []string{"22 to 48", "22 to 64"}

// told is a chapter as it was run.
type told struct {
	Name      string             `json:"name"`
	Instances int                `json:"instances"` // of an op
	Ablation  *bench.Attribution `json:"ablation"`
}

// story is every chapter on one device.
type story struct {
	Command  string `json:"command"` // that made it
	Device   string `json:"device"`
	Chapters []told `json:"chapters"`
	Checked  []told `json:"checked,omitempty"` // a step of those that a test checks
}

// Where the story's runs are kept, in the directory of documents, and on which
// device each was made.
const (
	storyOnSim  = "results/paradox_sim.json"
	storyOnCard = "results/h200/why.json"
	storyDevice = "sim:a6000-pytorch"
	document    = "paradox.md"
)

// whyStory writes the document in dir from the runs that are kept there; with a
// device it first runs the story on it.
func whyStory(ctx context.Context, stdout, stderr io.Writer, dir, device string) error {
	if device != "" {
		if err := runStory(ctx, stderr, dir, device); err != nil {
			return err
		}
	}
	text, err := renderStory(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, document)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "wrote %s\n", path)
	return nil
}

// runStory runs every chapter on a device and keeps the result.
func runStory(ctx context.Context, stderr io.Writer, dir, device string) error {
	path := storyOnSim
	if strings.HasPrefix(device, "cuda:") {
		path = storyOnCard
	} else if device != storyDevice {
		return fmt.Errorf("-device %s: the story is told on %s and on a card (cuda:N)", device, storyDevice)
	}
	s := story{Command: "gputax why -story docs -device " + device, Device: device}
	for _, c := range chapters {
		n := c.instances
		if path == storyOnCard {
			n = c.onCard
		}
		t, err := c.run(ctx, stderr, device, n)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		s.Chapters = append(s.Chapters, t)
	}
	if path == storyOnSim {
		var err error
		if s.Checked, err = runChecked(ctx, stderr); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, path), append(data, '\n'), 0o666)
}

// runChecked runs a step of the chapters that a test checks.
func runChecked(ctx context.Context, stderr io.Writer) ([]told, error) {
	var out []told
	for _, c := range chapters {
		for _, name := range checked {
			if c.name != name {
				continue
			}
			t, err := c.run(ctx, stderr, storyDevice, trainer.DefaultFactors().Batch)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// run runs a chapter on a device, with so many instances an op.
func (c *chapter) run(ctx context.Context, stderr io.Writer, device string, instances int) (told, error) {
	o := whyFlags{device: device, instances: instances, rounds: c.rounds, per: 20 * time.Millisecond, seed: 1}
	a, err := ablate(ctx, stderr, o, c.from, c.to)
	return told{Name: c.name, Instances: instances, Ablation: a}, err
}

// readStory reads a story that was kept; nil where there is none.
func readStory(path string) (*story, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := new(story)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, c := range chapters {
		if t := s.chapter(c.name); t == nil || t.Ablation == nil || t.Ablation.From != c.from || t.Ablation.To != c.to || t.Instances <= 0 {
			return nil, fmt.Errorf("%s: no chapter %q from %s to %s; run gputax why -story again with -device %s", path, c.name, c.from, c.to, s.Device)
		}
	}
	return s, nil
}

func (s *story) chapter(name string) *told {
	for i := range s.Chapters {
		if s.Chapters[i].Name == name {
			return &s.Chapters[i]
		}
	}
	return nil
}
