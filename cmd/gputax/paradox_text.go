package main

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"gputax/bench"
	"gputax/trainer"
)

//go:embed paradox.md.tmpl
var storyTemplate string

// claim is what a write-up says the cause is, and the factor that it is in the
// replay.
type claim struct {
	WriteUp string
	Says    string // in our words
	Own     string // the figure it gives
	Chapter string // the ablation that switches it
	factor  string
	kind    claimKind
}

// claimKind is what a claim says of its factor.
type claimKind int

const (
	isCause  claimKind = iota // it is what makes the difference
	notCause                  // it is not
	inverse                   // the change it made had the opposite sign
)

var claims = []claim{
	{"000", "padding, masks and gathers on the GPU made the epoch 64 s", "64 s, not 22 s", "22 to 64", "cost", isCause},
	{"000", "nine duplicated blocks hid that: without them 48 s became 64 s", "16 s slower without", "48 to 64", "dup", inverse},
	{"001", "the route cost on the GPU, one route at a time", "71.42 ms a batch against 0.37 ms", "22 to 48", "cost", isCause},
	{"001", "it was not the duplicates", "none", "22 to 48", "dup", notCause},
	{"002", "distance matrices sent to the GPU one by one and fetched back", "240 ms a batch, 6 s an epoch", "22 to 64", "dist", isCause},
	{"003", "a JIT-compiled cost that nobody called; routes made on the CPU", "15-20% of the cost, 5-10% of transfers", "write-up 003", "cost", isCause},
	{"003", "`torch.compile` left off", "10-15% of the epoch", "write-up 003", "graph", isCause},
	{"003", "TF32 left off", "5-10% of matrix products", "write-up 003", "tf32", isCause},
	{"003", "copies that block", "2-5%", "write-up 003", "upload", isCause},
	{"004", "12 loader workers are too few for 4 GPUs", "with the next two, 2-3x in loading", "write-up 004", "workers", isCause},
	{"004", "no batches prefetched", "", "write-up 004", "prefetch", isCause},
	{"004", "copies from memory that is not pinned", "", "write-up 004", "upload", isCause},
	{"004", "a collate function that appends and stacks", "1.5-2x", "write-up 004", "collate", isCause},
	{"004", "a small tensor made for every token", "5-10x, \"the primary bottleneck\"", "write-up 004", "embed", isCause},
	{"004", "batches of 128 a GPU", "1.5x with 256", "write-up 004", "batch", isCause},
}

// verdict is what a share, as a part of the difference, makes of a claim.
func (c *claim) verdict(part float64) string {
	switch {
	case c.kind == inverse && part > 0:
		return "wrong: the other way round"
	case c.kind == notCause && part >= 0.1:
		return "wrong: it was"
	case c.kind != isCause:
		return "right"
	case part >= 0.5:
		return "right"
	case part >= 0.1:
		return "right in part"
	case part >= 0.01:
		return "right but small"
	case part > -0.01:
		return "not a cause"
	}
	return "wrong: the other way round"
}

// teller is the story on one device, as the template asks for it.
type teller struct {
	story *story
	Name  string // of the device, in prose
}

// epochInstances is what all times are told for.
var epochInstances = trainer.Tiny().Epoch

func (t *teller) chapter(name string) (*told, error) {
	c := t.story.chapter(name)
	if c == nil {
		return nil, fmt.Errorf("no chapter %q", name)
	}
	return c, nil
}

// perEpoch is a time of a chapter, for a whole epoch; of the one about a step,
// for a step of 128.
func (c *told) perEpoch(ns int64) float64 {
	per := epochInstances
	if c.Name == "write-up 004" {
		per = 128
	}
	return float64(ns) * float64(per) / float64(c.Instances)
}

// signedTime is a time with its sign.
func signedTime(ns float64) string {
	switch {
	case ns == 0:
		return "0"
	case ns < 0:
		return "-" + timeText(-ns)
	}
	return "+" + timeText(ns)
}

// Took is the time of a chapter with some factors switched: "none", "all", or
// their names.
func (t *teller) Took(name string, switched ...string) (string, error) {
	c, err := t.chapter(name)
	if err != nil {
		return "", err
	}
	a := c.Ablation
	for _, k := range a.Combinations {
		match := true
		for i, f := range a.Factors {
			want := slices.Contains(switched, f.Name) || slices.Equal(switched, []string{"all"})
			match = match && k.On[i] == want
		}
		if match {
			return timeText(c.perEpoch(k.NS)), nil
		}
	}
	return "", fmt.Errorf("chapter %q was not run with %v switched", name, switched)
}

// Delta is the difference that a chapter explains.
func (t *teller) Delta(name string) (string, error) {
	c, err := t.chapter(name)
	if err != nil {
		return "", err
	}
	return signedTime(c.perEpoch(c.Ablation.Delta)), nil
}

// Share is a factor's share in a chapter: its seconds and its part.
func (t *teller) Share(name, factor string) (string, error) {
	c, s, err := t.share(name, factor)
	if err != nil {
		return "", err
	}
	if noise(s) {
		return signedTime(c.perEpoch(s.NS)) + ", noise", nil
	}
	return fmt.Sprintf("%s (%s)", signedTime(c.perEpoch(s.NS)), partText(s.Fraction)), nil
}

// noise says that a share is not clear of 0.
func noise(s bench.Share) bool { return s.Low < 0 && s.High > 0 }

// partText is a part in percent.
func partText(part float64) string {
	if p := 100 * math.Abs(part); p > 0 && p < 0.05 {
		return "under 0.1%"
	}
	return fmt.Sprintf("%.1f%%", 100*part+0) // -0 is 0
}

// Alone is what switching a factor by itself changes in a chapter.
func (t *teller) Alone(name, factor string) (string, error) {
	c, s, err := t.share(name, factor)
	if err != nil {
		return "", err
	}
	return signedTime(c.perEpoch(s.Alone)), nil
}

// OneRollout is the difference of 22 s to 48 s if only one of the two rollouts'
// costs was computed nine times: half of what the duplicates add to the rest.
func (t *teller) OneRollout() (string, error) {
	c, dup, err := t.share("22 to 48", "dup")
	if err != nil {
		return "", err
	}
	return signedTime(c.perEpoch(c.Ablation.Delta - dup.Last/2)), nil
}

func (t *teller) share(name, factor string) (*told, bench.Share, error) {
	c, err := t.chapter(name)
	if err != nil {
		return nil, bench.Share{}, err
	}
	for _, s := range c.Ablation.Shares {
		if s.Name == factor {
			return c, s, nil
		}
	}
	return nil, bench.Share{}, fmt.Errorf("chapter %q has no factor %q", name, factor)
}

// Chart is what gputax why printed for a chapter.
func (t *teller) Chart(name string) (string, error) {
	c, err := t.chapter(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := c.Ablation.WriteText(&b, bench.Style{Width: 96}); err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight("    "+l, " ")
	}
	return strings.Join(lines, "\n"), nil
}

// claimRow is a line of the table of claims.
type claimRow struct {
	claim
	Shares  []string // a device
	Verdict string
}

// renderStory is the document, from what is kept in the directory of
// documents.
func renderStory(dir string) (string, error) {
	sim, err := readStory(filepath.Join(dir, storyOnSim))
	if err != nil {
		return "", err
	}
	if sim == nil {
		return "", fmt.Errorf("there is no %s; gputax why -story %s -device %s makes it", filepath.Join(dir, storyOnSim), dir, storyDevice)
	}
	card, err := readStory(filepath.Join(dir, storyOnCard))
	if err != nil {
		return "", err
	}
	tellers := []*teller{{sim, "`" + storyDevice + "`"}}
	if card != nil {
		tellers = append(tellers, &teller{card, "one H200"})
	}
	epochs, err := cardEpochs(dir)
	if err != nil {
		return "", err
	}
	rows, err := claimRows(tellers)
	if err != nil {
		return "", err
	}
	tmpl, err := template.New(document).Parse(storyTemplate)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	view := map[string]any{"Sim": tellers[0], "Tellers": tellers, "Claims": rows, "Epochs": epochs,
		"State22": state22, "State48": state48, "State64": state64, "Card": card}
	err = tmpl.Execute(&b, view)
	return b.String(), err
}

func claimRows(tellers []*teller) ([]claimRow, error) {
	var rows []claimRow
	for _, c := range claims {
		r := claimRow{claim: c}
		var verdicts []string
		for _, t := range tellers {
			text, err := t.Share(c.Chapter, c.factor)
			if err != nil {
				return nil, err
			}
			_, s, err := t.share(c.Chapter, c.factor)
			if err != nil {
				return nil, err
			}
			r.Shares = append(r.Shares, text)
			if noise(s) {
				s.Fraction = 0
			}
			verdicts = append(verdicts, c.verdict(s.Fraction))
		}
		r.Verdict = verdicts[0]
		if len(verdicts) > 1 && verdicts[1] != verdicts[0] {
			r.Verdict = fmt.Sprintf("%s; on the card %s", verdicts[0], verdicts[1])
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// cardEpoch is a variant's measured epoch on the card.
type cardEpoch struct{ Variant, About, Took, More string }

// cardEpochs is measured epochs of every variant, medians of all samples.
func cardEpochs(dir string) ([]cardEpoch, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "results/h200/epochs_*.txt"))
	if err != nil {
		return nil, err
	}
	r, err := bench.ReadFiles(paths...)
	if err != nil {
		return nil, err
	}
	took := map[string]float64{}
	for _, name := range r.Benchmarks() {
		_, rest, _ := strings.Cut(name, "variant=")
		variant, _, _ := strings.Cut(rest, "/")
		samples := r.Samples(name, "ns/op")
		slices.Sort(samples)
		n := len(samples)
		took[variant] = 1e9 * (samples[(n-1)/2] + samples[n/2]) / 2
	}
	base, ok := took[state22]
	if !ok {
		return nil, errors.New("the card's epochs have no " + state22)
	}
	var out []cardEpoch
	for _, v := range trainer.Variants {
		if ns, ok := took[v.Name]; ok {
			out = append(out, cardEpoch{v.Name, v.About, timeText(ns), signedTime(ns - base)})
		}
	}
	return out, nil
}
