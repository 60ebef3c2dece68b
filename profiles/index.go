package profiles

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gputax/device"
)

// Folder is a recording with what is written from it: files that can be opened
// as they are, and index.md, which says what they are, so that the whole can be
// attached to an issue.
type Folder struct {
	Recording *Recording
	Title     string       // gpu_padded on sim:h200
	Bench     BenchOptions // of bench.txt
	Findings  []File       // further files, which are listed first
	Overheads []Overhead   // what recording costs
}

// File is one file of a folder.
type File struct {
	Name  string
	About string // what is in it
	Open  string // the command that opens it; empty for plain text
	Write func(w io.Writer) error
}

// Overhead is what recording costs: the same op with it and without, in runs
// apart from the one that is recorded.
type Overhead struct {
	What          string
	Without, With time.Duration
	Runs          int // of each; times are the fastest, which others on the machine disturb least
}

// indexMark is how index.md begins: a folder without it is not ours.
const indexMark = "# gputax profile"

// files is every file of the folder but index.md, in the order index.md lists
// them. A file whose content there is not is left out.
func (f *Folder) files() []File {
	r := f.Recording
	files := slices.Clone(f.Findings)
	files = append(files, File{"gpu.pb.gz", r.gpuAbout(), "go tool pprof -http=: gpu.pb.gz", r.WriteGPU})
	trace := File{"trace.json", "the timeline: steps, phases, calls, streams, copies, rates", "https://ui.perfetto.dev, or chrome://tracing", func(w io.Writer) error {
		_, err := r.WriteTrace(w, 0)
		return err
	}}
	if left := r.Ops.Len() - TraceOps; left > 0 {
		trace.About += fmt.Sprintf(" (of the first %d ops; %d are left out)", TraceOps, left)
	}
	files = append(files, trace)
	raw := func(data []byte) func(io.Writer) error {
		return func(w io.Writer) error { _, err := w.Write(data); return err }
	}
	if r.CPU != nil {
		files = append(files, File{"cpu.pb.gz", "the host's CPU time, with the label phase; what recording itself took is left out",
			"go tool pprof -http=: -tagroot=phase cpu.pb.gz", raw(r.CPU)})
	}
	if r.Heap != nil {
		files = append(files, File{"heap.pb.gz", "the host's memory after the run", "go tool pprof -http=: heap.pb.gz", raw(r.Heap)})
	}
	return append(files, File{"bench.txt", f.benchAbout(), "gputax compare OLD/bench.txt bench.txt", func(w io.Writer) error { return r.WriteBench(w, f.Bench) }})
}

// gpuAbout says what the first sample type counts, for it is more than the
// counter of that name.
func (r *Recording) gpuAbout() string {
	var n [OpMemset + 1]int
	for _, o := range r.Ops.All() {
		n[o.Kind]++
	}
	about := fmt.Sprintf("the device's side by phase, call site, kernel and copy, for pprof; `launches` is %d kernels and %d copies", n[OpKernel], n[OpCopy])
	if n[OpMemset] > 0 {
		about += fmt.Sprintf(" and %d memsets", n[OpMemset])
	}
	return about + ", `kernels` and `copies` count them apart"
}

func (f *Folder) benchAbout() string {
	if f.Bench.Times {
		return "counters and times of each step, in Go benchmark format"
	}
	return "counters of each step, in Go benchmark format; no times, since recording takes some"
}

// WriteIndex writes index.md.
func (f *Folder) WriteIndex(w io.Writer) error {
	if err := f.Recording.CheckValid(); err != nil {
		return err
	}
	var b bytes.Buffer
	r := f.Recording
	fmt.Fprintf(&b, "%s: %s\n\n", indexMark, f.Title)
	if r.Clock == device.Virtual {
		b.WriteString("Times are simulated: they are the same with and without recording, and on any machine.\n\n")
	} else {
		b.WriteString("Times are of a run that was recorded, which takes time: look at shares, and take times from runs that are not.\n\n")
	}
	table(&b, []string{"", ""}, func(row func(...string)) {
		for _, s := range r.Config {
			row(s.Key, s.Value)
		}
		steps := fmt.Sprintf("%d steps", len(r.Steps))
		if len(r.Steps) == 0 {
			steps = "no steps marked"
		}
		row("recorded", fmt.Sprintf("%s, %s, %d calls, %d ops", durationText(r.Duration()), steps, r.Calls.Len(), r.Ops.Len()))
	})
	b.WriteString("\n## Files\n\n")
	table(&b, []string{"file", "what it is", "open it with"}, func(row func(...string)) {
		for _, file := range f.files() {
			row(fmt.Sprintf("[%s](%s)", file.Name, file.Name), file.About, code(file.Open))
		}
	})
	f.writePhases(&b)
	f.writeCounters(&b)
	f.writeOverheads(&b)
	f.writeRest(&b)
	_, err := w.Write(b.Bytes())
	return err
}

func (f *Folder) writePhases(b *bytes.Buffer) {
	r := f.Recording
	whole := r.Duration()
	b.WriteString("\n## Phases\n\n")
	fmt.Fprintf(b, "The device ran something for %s of %s (%s).\n\n", durationText(r.Busy()), durationText(whole), percent(r.Busy(), whole))
	table(b, []string{"phase", "host time", "share", "kernels", "copies", "bytes", "syncs", "allocations"}, func(row func(...string)) {
		line := func(name string, time time.Duration, c device.Counters) {
			row(name, durationText(time), percent(time, whole), fmt.Sprint(c[device.Launches]+c[device.GraphKernels]),
				fmt.Sprint(c[device.UploadCopies]+c[device.DownloadCopies]), bytesText(c[device.UploadBytes]+c[device.DownloadBytes]+c[device.MappedBytes]),
				fmt.Sprint(c[device.Syncs]), fmt.Sprint(c[device.Allocs]))
		}
		for _, p := range r.PhaseCounters() {
			if p.Time > 0 || p.Counters != (device.Counters{}) {
				line(cmp.Or(p.Name, "(none)"), p.Time, p.Counters)
			}
		}
		line("all", whole, r.Counters())
	})
}

func (f *Folder) writeCounters(b *bytes.Buffer) {
	r := f.Recording
	b.WriteString("\n## Counters\n\n")
	steps := r.StepTotals()
	head := []string{"counter", "in all", "a step"}
	if len(steps) == 0 {
		head = head[:2]
	}
	table(b, head, func(row func(...string)) {
		for c, v := range r.Counters() {
			if v != 0 {
				cells := []string{strings.TrimSuffix(device.Counter(c).Unit(), "/op"), fmt.Sprint(v), stepSpread(steps[min(f.Bench.Skip, len(steps)):], device.Counter(c))}
				row(cells[:len(head)]...)
			}
		}
	})
}

// stepSpread is a counter of every step, where it is the same in all, or else from
// the least to the most.
func stepSpread(steps []StepTotals, c device.Counter) string {
	if len(steps) == 0 {
		return ""
	}
	least, most := steps[0].Counters[c], steps[0].Counters[c]
	for _, s := range steps {
		least, most = min(least, s.Counters[c]), max(most, s.Counters[c])
	}
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

func (f *Folder) writeOverheads(b *bytes.Buffer) {
	if len(f.Overheads) == 0 {
		return
	}
	b.WriteString("\n## What recording costs\n\nWall time of the same op in other runs, the fastest of each; nothing is timed in the run that is recorded.\n\n")
	table(b, []string{"", "without", "with", "", "runs of each"}, func(row func(...string)) {
		for _, o := range f.Overheads {
			row(o.What, durationText(o.Without), durationText(o.With), o.share(), fmt.Sprint(o.Runs))
		}
	})
}

// share is how much longer the op takes with it. Recording saves no time: where
// that is what was measured, the machine was busy with something else.
func (o Overhead) share() string {
	if o.With < o.Without {
		return "less than the noise"
	}
	return fmt.Sprintf("%+.1f%%", 100*(float64(o.With)/float64(max(o.Without, 1))-1))
}

// knowledgeNames says what each Knowledge is.
var knowledgeNames = map[Knowledge]string{
	Contents: "contents of buffers", CallSites: "call sites", DeviceTimes: "when the device ran an op", DeclaredWork: "the work of kernels",
	Layout: "blocks and threads", PhaseNames: "phases", StepBounds: "steps", HostWorkDone: "the host's own work", HeapAllocs: "the program's own allocations",
}

// String is what k is, in words.
func (k Knowledge) String() string { return cmp.Or(knowledgeNames[k], fmt.Sprintf("knowledge %d", k)) }

func (f *Folder) writeRest(b *bytes.Buffer) {
	r := f.Recording
	if len(r.Warnings) > 0 {
		b.WriteString("\n## Warnings\n\n")
		for _, w := range r.Warnings {
			fmt.Fprintf(b, "- %s\n", oneLine(w))
		}
	}
	if len(r.Source.Unseen) > 0 {
		fmt.Fprintf(b, "\n## What %s does not tell\n\n", r.Source.Name)
		for k := range Knowledge(len(knowledgeNames)) {
			if why, ok := r.Source.Unseen[k]; ok {
				fmt.Fprintf(b, "- %s: %s\n", k, oneLine(why))
			}
		}
	}
}

// errNotOurs is why a folder is left alone.
var errNotOurs = errors.New("it is there and is no profile; choose another, or remove it")
