package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"gputax/device"
	"gputax/device/sim"
	"gputax/profiles"
	"gputax/profiles/findings"
)

const profileAbout = `Records one run of a variant, or reads a recording that another profiler made,
and leaves in DIR what people can open: findings.md, gpu.pb.gz and cpu.pb.gz for
pprof, trace.json for Perfetto, bench.txt for gputax compare, and index.md, which
says what they are. The folder can be attached to an issue as it is. An earlier
profile is kept beside it.

VARIANT may be VARIANT+KEY=VALUE...; docs/variants.md has the variants and the
factors, docs/profiles.md says more about the files.

  gputax profile gpu_padded                       on the card, or else simulated
  gputax profile fastest -device cuda:0 -full -o fastest-h200
  gputax profile -nsys report.sqlite              nsys export --type sqlite
  gputax profile -kineto trace.json.gz            a trace of torch.profiler`

// profileFlags is what gputax profile was asked for.
type profileFlags struct {
	device   string
	dir      string
	full     bool
	steps    int
	zip      bool
	contents bool
	overhead int
	set      settings
	prices   string
	nsys     string
	kineto   string
	imports  importFlags
	command  string // what the user typed
}

// profileCommand is gputax profile.
func profileCommand(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	o := profileFlags{command: "gputax profile " + strings.Join(args, " ")}
	f := newFlags("profile")
	f.StringVar(&o.device, "device", "", "run on this `device` (default cuda:0 where there is one, else sim:h200)")
	f.StringVar(&o.dir, "o", "gputax-profile", "write to this `directory`")
	f.BoolVar(&o.full, "full", false, "a whole epoch of the reference workload")
	f.IntVar(&o.steps, "steps", 4, "record `N` steps")
	f.BoolVar(&o.zip, "zip", false, "write one file, DIR.zip, instead of a directory")
	f.BoolVar(&o.contents, "contents", false, "hash what is copied on real devices too, which takes time; on simulated ones it always is")
	f.IntVar(&o.overhead, "overhead", 3, "run `N` times more with and without recording, to say what it costs; 0 for never")
	f.Var(&o.set, "set", "set a factor, `KEY=VALUE`, on top of the variant; may be repeated")
	f.StringVar(&o.prices, "device-profile", "", "price findings by this device profile, a `name` or FILE.json (default the device's own)")
	f.StringVar(&o.nsys, "nsys", "", "read this export of Nsight Systems, a `file`, instead of running a variant")
	f.StringVar(&o.kineto, "kineto", "", "read this trace of torch.profiler, a `file`, instead of running a variant")
	o.imports.register(f)
	o.imports.timesFlag(f)
	rest, err := parseArgs(f, "VARIANT", profileAbout, stdout, args)
	if err != nil {
		return err
	}
	if err := o.check(rest, isSet(f, "steps")); err != nil {
		return err
	}
	if err := o.checkOutput(); err != nil {
		return fmt.Errorf("-o %s: %w", o.dir, err)
	}
	folder, prices, err := o.record(ctx, rest, stderr)
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; nothing was written")
	}
	if err != nil {
		return err
	}
	return o.write(stdout, folder, prices)
}

// check refuses what does not go together.
func (o *profileFlags) check(rest []string, stepsSet bool) error {
	given := len(rest)
	for _, file := range []string{o.nsys, o.kineto} {
		if file != "" {
			given++
		}
	}
	switch {
	case given == 0:
		return errors.New("no VARIANT; gputax profile gpu_padded is an example, gputax profile -h has more")
	case given > 1:
		return fmt.Errorf("%d things to profile; want one VARIANT, or -nsys FILE, or -kineto FILE", given)
	case o.steps < 1 || o.steps > 1<<20:
		return fmt.Errorf("-steps %d: want at least 1, and no more than %d", o.steps, 1<<20)
	case o.full && stepsSet:
		return errors.New("-full and -steps: want one of them")
	case o.overhead < 0:
		return fmt.Errorf("-overhead %d: want 0 or more", o.overhead)
	case len(rest) == 0 && (o.device != "" || len(o.set) > 0 || o.full || stepsSet):
		return errors.New("-device, -set, -steps and -full are for a VARIANT; a file is read as it is")
	case len(rest) == 1 && (o.imports.step != "" || o.imports.skip != 0 || o.imports.times):
		return errors.New("-step, -skip and -times are for -nsys and -kineto; a VARIANT knows its steps, and is warm")
	}
	return nil
}

// record is a recording, from wherever it comes, as a folder to be written, and
// the device profile to price its findings by, if there is one.
func (o *profileFlags) record(ctx context.Context, rest []string, stderr io.Writer) (*profiles.Folder, *sim.Profile, error) {
	prices, err := o.pricing()
	if err != nil {
		return nil, nil, err
	}
	if len(rest) == 1 {
		return o.capture(ctx, rest[0], prices, newProgress(stderr, 3))
	}
	kind := kinetoTrace
	if o.nsys != "" {
		kind = nsysExport
	}
	rec, err := o.imports.read(o.nsys+o.kineto, kind)
	if err != nil {
		return nil, nil, err
	}
	rec.Config = append([]profiles.Setting{{Key: "made by", Value: o.command}}, rec.Config...)
	return &profiles.Folder{Recording: rec, Title: filepath.Base(o.nsys + o.kineto),
		Bench: profiles.BenchOptions{Skip: o.imports.skip, Times: o.imports.times}}, prices, nil
}

// pricing is the device profile that the user named; nil where none was.
func (o *profileFlags) pricing() (*sim.Profile, error) {
	if o.prices == "" {
		return nil, nil
	}
	p, err := profiles.Device(o.prices)
	if err != nil {
		return nil, fmt.Errorf("-device-profile: %w", err)
	}
	return p, nil
}

// output is where the profile goes.
func (o *profileFlags) output() string {
	if o.zip {
		return filepath.Clean(o.dir) + ".zip"
	}
	return filepath.Clean(o.dir)
}

// checkOutput refuses to begin what could not be written.
func (o *profileFlags) checkOutput() error {
	if name := filepath.Base(o.dir); name == "." || name == ".." || name == string(filepath.Separator) {
		return errors.New("want the name of a directory to make")
	}
	if o.zip {
		return profiles.CheckZip(o.output())
	}
	return profiles.CheckDir(o.output())
}

// write writes the folder with its findings, and says where it is.
func (o *profileFlags) write(stdout io.Writer, folder *profiles.Folder, prices *sim.Profile) error {
	report := findings.Run(folder.Recording, prices)
	folder.Findings = []profiles.File{
		{Name: "findings.md", About: "what is wrong, what it costs, what to do", Write: report.WriteMarkdown},
		{Name: "findings.json", About: "the same, for programs", Write: report.WriteJSON},
	}
	at, write := o.output(), folder.WriteDir
	if o.zip {
		write = folder.WriteZip
	}
	kept, err := write(at)
	if err != nil {
		return fmt.Errorf("-o %s: %w", o.dir, err)
	}
	printSummary(stdout, folder, report)
	if kept != "" {
		fmt.Fprintf(stdout, "The earlier profile is now %s.\n", kept)
	}
	if o.zip {
		fmt.Fprintf(stdout, "All of it is in %s; index.md says what is what.\n", at)
		return nil
	}
	fmt.Fprintf(stdout, "%s says what is what.\n\n  go tool pprof -http=: %s\n", filepath.Join(at, "index.md"), filepath.Join(at, "gpu.pb.gz"))
	return nil
}

// printSummary prints the dearest findings.
func printSummary(w io.Writer, folder *profiles.Folder, report *findings.Report) {
	r := folder.Recording
	clock, steps := "recorded", ""
	if r.Clock == device.Virtual {
		clock = "simulated"
	}
	if n := len(r.Steps); n > 0 {
		steps = fmt.Sprintf("%d %s, ", n, plural(n, "step"))
	}
	fmt.Fprintf(w, "%s: %s%s %s, the device busy for %.0f%%\n\n", folder.Title, steps, timeText(float64(r.Duration())), clock,
		100*float64(r.Busy())/float64(max(r.Duration(), 1)))
	const most = 5
	shown := 0
	for _, f := range report.Findings {
		if shown == most || f.Share < 0.01 {
			break
		}
		likely := ""
		if f.Likely {
			likely = "likely: "
		}
		fmt.Fprintf(w, "  %5.1f%%  %s%s\n", 100*f.Share, likely, f.Title)
		shown++
	}
	if shown == 0 {
		fmt.Fprintln(w, "  no finding is worth 1% of that")
	}
	fmt.Fprintln(w)
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// commit is the commit of the working directory, where git tells; for programs
// that go run built, which do not know their own. One that was installed by its
// version has nothing to do with the working directory.
func commit(ctx context.Context) []profiles.Setting {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return []profiles.Setting{{Key: "version", Value: info.Main.Version}}
	}
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return nil
	}
	s := []profiles.Setting{{Key: "commit", Value: strings.TrimSpace(string(out))}}
	if out, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no").Output(); err == nil && len(out) > 0 {
		s = append(s, profiles.Setting{Key: "tree", Value: "modified since that commit"})
	}
	return s
}

// hasSetting says whether a key is there.
func hasSetting(all []profiles.Setting, key string) bool {
	return slices.ContainsFunc(all, func(s profiles.Setting) bool { return s.Key == key })
}
