package annotate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gputax/profiles"
)

// scene is ranges and calls, and what is to become of them.
type scene struct {
	name   string
	step   string
	ranges []string // PROC THREAD START END NAME
	calls  []string // THREAD START
	// want
	steps  []string // NAME START END
	phases []string // NAME STEP START END
	placed []string // STEP PHASE, a call
	unseen string   // of StepBounds
}

func TestApply(t *testing.T) {
	for _, c := range []scene{
		{
			name:   "phases within steps, the innermost counts",
			ranges: []string{"0 0 0 100 step 0", "0 0 10 90 forward", "0 0 20 30 attention", "0 0 100 200 step 1", "0 0 110 120 forward"},
			calls:  []string{"0 5", "0 15", "0 25", "0 35", "0 95", "0 115", "0 250"},
			steps:  []string{"step 0 0 100", "step 1 100 200"},
			phases: []string{"forward 0 10 20", "attention 0 20 30", "forward 0 30 90", "forward 1 110 120"},
			placed: []string{"0 ", "0 forward", "0 attention", "0 forward", "0 ", "1 forward", "-1 "},
		},
		{
			name:   "threads without ranges are in the phase of the thread that marks steps",
			ranges: []string{"0 0 0 100 ProfilerStep#4", "0 0 10 90 backward", "0 2 40 50 hook"},
			calls:  []string{"1 20", "2 45", "2 60", "1 95"},
			steps:  []string{"ProfilerStep#4 0 100"},
			phases: []string{"backward 0 10 90"},
			placed: []string{"0 backward", "0 hook", "0 backward", "0 "},
		},
		{
			name:   "a range around steps is no phase, and a step within a step no step",
			ranges: []string{"0 0 0 1000 epoch", "0 0 10 100 ProfilerStep#1", "0 0 20 90 step 1", "0 0 30 40 load", "0 0 100 200 ProfilerStep#2"},
			calls:  []string{"0 5", "0 35", "0 50", "0 150"},
			steps:  []string{"ProfilerStep#1 10 100", "ProfilerStep#2 100 200"},
			phases: []string{"load 0 30 40"},
			placed: []string{"-1 ", "0 load", "0 ", "1 "},
		},
		{
			name:   "PyTorch's own ranges are phases only where there is no other",
			ranges: []string{"0 0 0 100 step 0", "0 0 10 50 update", "0 0 20 40 Optimizer.step#Adam.step", "0 0 60 70 Optimizer.zero_grad#Adam.zero_grad"},
			calls:  []string{"0 30", "0 65"},
			steps:  []string{"step 0 0 100"},
			phases: []string{"update 0 10 50", "Optimizer.zero_grad#Adam.zero_grad 0 60 70"},
			placed: []string{"0 update", "0 Optimizer.zero_grad#Adam.zero_grad"},
		},
		{
			name:   "a step's name given, the same for each",
			step:   "train_.*",
			ranges: []string{"0 0 0 10 train_batch", "0 0 2 4 step 7", "0 0 10 20 train_batch", "0 0 12 14 pre_train_x"},
			calls:  []string{"0 3", "0 13"},
			steps:  []string{"train_batch 0 10", "train_batch 10 20"},
			phases: []string{"pre_train_x 1 12 14"},
			placed: []string{"0 ", "1 pre_train_x"},
		},
		{
			name:   "processes share steps by name",
			ranges: []string{"0 0 0 10 step 1", "0 0 10 20 step 2", "1 1 5 15 step 1", "1 1 15 25 step 2", "1 1 16 18 forward", "1 1 30 40 step 3"},
			calls:  []string{"0 7", "1 7", "0 12", "1 12", "1 17", "1 35"},
			steps:  []string{"step 1 5 15", "step 2 15 25", "step 3 30 40"},
			phases: []string{"forward 1 16 18"},
			placed: []string{"0 ", "0 ", "1 ", "0 ", "1 forward", "2 "},
		},
		{
			name:   "ranges that overlap without nesting",
			ranges: []string{"0 0 0 100 step 0", "0 0 10 50 a", "0 0 30 70 b"},
			calls:  []string{"0 20", "0 40", "0 60", "0 80"},
			steps:  []string{"step 0 0 100"},
			phases: []string{"a 0 10 30", "b 0 30 70"},
			placed: []string{"0 a", "0 b", "0 b", "0 "},
		},
		{
			name:   "no steps",
			ranges: []string{"0 0 0 10 forward", "0 0 20 30 forward", "0 0 40 50 loss"},
			calls:  []string{"0 5", "0 15"},
			phases: []string{"forward -1 0 10", "forward -1 20 30", "loss -1 40 50"},
			placed: []string{"-1 forward", "-1 "},
			unseen: "no range is named ProfilerStep#n or `step n`; there are forward (2), loss (1)",
		},
		{name: "nothing", calls: []string{"0 5"}, placed: []string{"-1 "}, unseen: "no range is named ProfilerStep#n or `step n`"},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t) })
	}
}

func (c *scene) run(t *testing.T) {
	step, err := StepPattern(c.step)
	if err != nil {
		t.Fatal(err)
	}
	r := &profiles.Recording{End: 10}
	n := New(r, step)
	for _, s := range c.ranges {
		f := strings.SplitN(s, " ", 5)
		var v [4]int64
		for i := range v {
			fmt.Sscan(f[i], &v[i])
		}
		n.Add(uint16(v[0]), uint16(v[1]), r.Names.ID(f[4]), v[2], v[3])
	}
	for _, s := range c.calls {
		var thread uint16
		var start int64
		fmt.Sscan(s, &thread, &start)
		proc := uint16(0)
		if int(thread) < len(n.threads) {
			proc = n.threads[thread].proc
		}
		n.Thread(proc, thread)
		r.Calls.Add(profiles.Call{Start: start, Thread: thread, Step: 99})
	}
	n.Apply()
	var steps, phases, placed []string
	for _, s := range r.Steps {
		steps = append(steps, fmt.Sprintf("%s %d %d", r.Names.Name(s.Name), s.Start, s.End))
	}
	for _, s := range r.Phases {
		phases = append(phases, fmt.Sprintf("%s %d %d %d", r.Names.Name(s.Name), s.Step, s.Start, s.End))
	}
	for _, k := range r.Calls.All() {
		placed = append(placed, fmt.Sprintf("%d %s", k.Step, r.Names.Name(k.Phase)))
	}
	for _, x := range []struct {
		what      string
		got, want []string
	}{{"steps", steps, c.steps}, {"phases", phases, c.phases}, {"calls", placed, c.placed}} {
		if !slices.Equal(x.got, x.want) {
			t.Errorf("%s\n got %q\nwant %q", x.what, x.got, x.want)
		}
	}
	if got := r.Source.Unseen[profiles.StepBounds]; got != c.unseen {
		t.Errorf("unseen %q, want %q", got, c.unseen)
	}
	if _, unseen := r.Source.Unseen[profiles.PhaseNames]; unseen != (len(c.phases) == 0) {
		t.Errorf("phase names unseen: %v", unseen)
	}
}

func TestLoaderWaitsAreCalls(t *testing.T) {
	r := &profiles.Recording{End: 100}
	n := New(r, defaultStep)
	n.Add(0, 0, r.Names.ID("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), 10, 40)
	if r.Calls.Len() != 1 {
		t.Fatalf("%d calls", r.Calls.Len())
	}
	if c := r.Calls.At(0); c.Kind != profiles.CallLoad || c.Start != 10 || c.Dur != 30 {
		t.Errorf("%+v", c)
	}
}

func TestStepPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "ProfilerStep#12", true}, {"", "step 3", true}, {"", "Step_3", true}, {"", "step:3", true}, {"", "step3", true},
		{"", "step", false}, {"", "my step 3", false}, {"", "step 3 loss", false}, {"", "stepping", false},
		{"iter", "iter 5", true}, {"iter", "iteration", true}, {"iter", "an iter", false}, {`iter \d+$`, "iter 5x", false},
	} {
		re, err := StepPattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if re.MatchString(c.name) != c.want {
			t.Errorf("%q %q: want %v", c.pattern, c.name, c.want)
		}
	}
	if _, err := StepPattern("("); err == nil || !strings.Contains(err.Error(), `"("`) {
		t.Errorf("a bad pattern: %v", err)
	}
}
