package findings

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gputax/device"
	"gputax/profiles"
)

var update = flag.Bool("update", false, "rewrite testdata and docs/findings.md")

var hostWork = device.HostWork{Calls: 1}

// skips says whether a report left a rule out for a reason with why in it.
func skips(r *Report, rule Rule, why string) bool {
	return slices.ContainsFunc(r.Skipped, func(s Skipped) bool { return s.Rule == rule.Name && strings.Contains(s.Why, why) })
}

// story is a little of everything: a recording for people to read about.
func story() *builder {
	b := newBuilder()
	b.rec.Source = profiles.Source{Name: "sim:test", Unseen: map[profiles.Knowledge]string{profiles.Layout: "the source does not tell layouts"}}
	b.rec.Sites = append(b.rec.Sites, profiles.Site{Frames: []profiles.Frame{
		{Func: "example/train.(*Mover).Move", File: "example/train/move.go", Line: 31}, {Func: "example/train.Step", File: "example/train/step.go", Line: 12}, {Func: "main.main"}}})
	b.rec.Warnings = []string{"2 records were lost"}
	b.upload(1<<20, 0)
	b.steps(2, func(step int) {
		b.phase("load")
		b.work(40_000, hostWork)
		b.phase("upload")
		for i := range 100 {
			b.upload(484, uint64(1+100*step+i))
			b.rec.Calls.At(b.rec.Calls.Len() - 1).Site = 1
		}
		b.phase("download")
		for i := range 100 {
			b.download(484, uint64(1+100*step+i))
		}
		b.phase("forward")
		for range 5 {
			b.launch("void at::native::(anonymous namespace)::kernel<128, 4>(int, float)", 30_000)
		}
		b.phase("sync")
		b.sync()
	})
	b.download(28, 0)
	return b
}

// golden holds got to the file, which -update writes.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || !bytes.Equal(want, got) {
		t.Errorf("%s is not what comes out now (%v); go test ./profiles/findings -update writes it:\n%s", file, err, got)
	}
}

func TestReport(t *testing.T) {
	b := story()
	b.rec.EpochSteps = 25
	r := Run(b.recording(t), b.p)
	var md, js bytes.Buffer
	if err := r.WriteMarkdown(&md); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(&js); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "story.md"), md.Bytes())
	golden(t, filepath.Join("testdata", "story.json"), js.Bytes())
	var back Report
	if err := json.Unmarshal(js.Bytes(), &back); err != nil || !reflect.DeepEqual(&back, r) {
		t.Errorf("the JSON says something else (%v)", err)
	}
	for i, f := range r.Findings {
		if i > 0 && f.Price > r.Findings[i-1].Price {
			t.Errorf("%s is dearer than %s before it", f.Rule, r.Findings[i-1].Rule)
		}
		if f.Price > r.Epoch || f.Share != float64(f.Price)/float64(r.Epoch) || f.PerStep != f.Price/2 || f.PerEpoch != f.Price*25/2 || f.Title == "" || f.Advice == "" {
			t.Errorf("%+v", f)
		}
	}
}

// A recording of nothing has no findings and no division by zero.
func TestNothing(t *testing.T) {
	for _, rec := range []*profiles.Recording{{}, {End: 1000}, {End: 1000, Steps: []profiles.Span{{End: 0}}}} {
		r := Run(rec, testProfile())
		if len(r.Findings) != 0 {
			t.Errorf("found %+v", r.Findings)
		}
		var b bytes.Buffer
		if err := r.WriteMarkdown(&b); err != nil || !strings.Contains(b.String(), "No finding") {
			t.Errorf("%v: %s", err, &b)
		}
		b.Reset()
		if err := r.WriteJSON(&b); err != nil || !strings.Contains(b.String(), `"findings": []`) {
			t.Errorf("%v: %s", err, &b)
		}
	}
}

// Where kernels run on the CPU most rules have nothing to say.
func TestOnHost(t *testing.T) {
	b := story()
	b.rec.Source.Name = onHost
	r := Run(b.recording(t), nil)
	for _, rule := range Rules {
		if finding(r, rule) != nil && !rule.OnHost {
			t.Errorf("%s fired", rule.Name)
		}
		if skips(r, rule, "own CPU") == rule.OnHost {
			t.Errorf("%s: skipped %v, and on the host %v", rule.Name, !rule.OnHost, rule.OnHost)
		}
	}
}

// docs/findings.md is the table of rules.
func TestDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(documentHead)
	for _, r := range Rules {
		needs := make([]string, 0, len(r.Needs)+1)
		for _, k := range r.Needs {
			needs = append(needs, knowledge[k])
		}
		if r.NeedsProfile {
			needs = append(needs, "a device profile")
		}
		if !r.OnHost {
			needs = append(needs, "a GPU")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", r.Name, r.About, r.Threshold, r.Pricing, r.Advice, strings.Join(needs, ", "))
	}
	golden(t, filepath.Join("..", "..", "docs", "findings.md"), []byte(b.String()))
}

// Every rule says what it does, and has a test of its own.
func TestRulesAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules {
		for what, text := range map[string]string{"name": r.Name, "about": r.About, "threshold": r.Threshold, "pricing": r.Pricing, "advice": r.Advice} {
			if text == "" || strings.Contains(text, "|") || strings.Contains(text, "\n") {
				t.Errorf("%s: %s is %q", r.Name, what, text)
			}
		}
		if seen[r.Name] || r.check == nil {
			t.Errorf("%s is there twice, or has no check", r.Name)
		}
		seen[r.Name] = true
	}
}

var knowledge = map[profiles.Knowledge]string{
	profiles.Contents: "contents", profiles.DeviceTimes: "device times", profiles.DeclaredWork: "declared work", profiles.Layout: "layouts",
	profiles.PhaseNames: "phases", profiles.StepBounds: "steps",
}

const documentHead = `# Findings

Made from the rules in package profiles/findings by ` + "`go test ./profiles/findings -update`" + `.

A finding is a rule that fired on a recording: what it saw, where, what it costs, and what to do. Every nanosecond of the
recording is charged to one thing: a kernel ran; or else a copy did; or else the device was idle, and the host was in some call or
between two. A price is what the recorded time would be shorter by if the advice were followed, by the device profile's constants
and never more than was charged to the calls in question. Without a profile prices come from the recorded times, where that can be.
Rules may price the same calls, so prices do not add up; only work that another rule says is a duplicate is left out.

What happens outside of steps, where the recording knows steps, counts towards the time and is otherwise left alone: it is set-up
and statistics. A rule that needs what a recording's source cannot see is listed as skipped, with the reason. "Likely" marks what
is inferred and not proven. Findings worth less than a twentieth of a percent are dropped.

How prices compare with what the variants of the trainer really save is held by ` + "`TestVariants`" + `, and the whole table of rules by the
tests beside them: each has recordings on which the rule fires and recordings on which it must not.

| rule | what it sees | from where on | price | advice | needs |
|---|---|---|---|---|---|
`
