package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gputax/bench"
	"gputax/device/sim"
	"gputax/profiles"

	"github.com/google/pprof/profile"
)

// resultsFlags is what results are explained with.
type resultsFlags struct {
	run            string  // regular expression on names
	least          float64 // the least change, in percent
	top            int
	profile        string // prices, where the device's name does not say
	oldCPU, newCPU string
	beside         bool // the CPU profiles were found, not named
	real           bool // the differences are known to be ones
	imports        importFlags
}

// whyFiles explains the differences between two files of results by what was
// counted.
func whyFiles(stdout, stderr io.Writer, o resultsFlags, out reportFlags, from, to string) error {
	o.imports.warn, o.imports.times = stderr, true
	old, err := readSide([]string{from}, nil, &o.imports)
	if err != nil {
		return err
	}
	new, err := readSide([]string{to}, nil, &o.imports)
	if err != nil {
		return err
	}
	if o.oldCPU == "" && o.newCPU == "" {
		o.oldCPU, o.newCPU = besides(from, to)
		o.beside = true
	}
	return whyResults(stdout, stderr, o, out, old, new)
}

// besides is the CPU profiles that lie beside two files of results; none where
// one is missing or the two would be the same.
func besides(from, to string) (oldCPU, newCPU string) {
	oldCPU, newCPU = filepath.Join(filepath.Dir(from), "cpu.pb.gz"), filepath.Join(filepath.Dir(to), "cpu.pb.gz")
	if !isFile(oldCPU) || !isFile(newCPU) || oldCPU == newCPU {
		return "", ""
	}
	return oldCPU, newCPU
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// whyResults explains every benchmark that changed, the one that changed most
// first.
func whyResults(stdout, stderr io.Writer, o resultsFlags, out reportFlags, old, new *bench.Results) error {
	names, err := common(stderr, o.run, old, new)
	if err != nil {
		return err
	}
	found, err := explainNames(old, new, names, o)
	if err != nil {
		return err
	}
	slices.SortStableFunc(found, func(a, b *bench.Explanation) int { return cmp.Compare(relativeChange(b), relativeChange(a)) })
	found = slices.DeleteFunc(found, func(x *bench.Explanation) bool { return 100*relativeChange(x) < o.least || x.Delta == 0 })
	if out.format == "json" {
		return out.print(stdout, map[string]any{"events": found})
	}
	if len(found) == 0 {
		fmt.Fprintf(stdout, "No time of the %d benchmarks that both sides have changed by %g%% or more.\n", len(names), o.least)
		return nil
	}
	var shown []explained
	for _, x := range found[:min(o.top, len(found))] {
		shown = append(shown, x)
	}
	if err := out.print(stdout, nil, shown...); err != nil {
		return err
	}
	if more := len(found) - len(shown); more > 0 {
		fmt.Fprintf(stdout, "\n%d more changed; -top shows more of them, -run chooses.\n", more)
	}
	return nil
}

// relativeChange is how much a benchmark changed, whichever way.
func relativeChange(x *bench.Explanation) float64 {
	if x.Before == 0 {
		return math.Inf(1)
	}
	return math.Abs(x.Delta / x.Before)
}

// common is the benchmarks that match a pattern and are on both sides; it tells
// of those that are not.
func common(stderr io.Writer, pattern string, old, new *bench.Results) ([]string, error) {
	match, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("-run %q: %w", pattern, err)
	}
	var names, gone []string
	there := new.Benchmarks()
	for _, name := range old.Benchmarks() {
		switch {
		case !match.MatchString("Benchmark" + name):
		case slices.Contains(there, name):
			names = append(names, name)
		default:
			gone = append(gone, name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no benchmark that matches -run %q is in both %s and %s", pattern, old.Name(), new.Name())
	}
	for _, name := range gone {
		fmt.Fprintf(stderr, "%s is only in %s\n", name, old.Name())
	}
	return names, nil
}

// explainNames explains each of the benchmarks at the prices of its device.
// Those that report no time are left out.
func explainNames(old, new *bench.Results, names []string, o resultsFlags) ([]*bench.Explanation, error) {
	opt, err := readProfiles(o, len(names))
	if err != nil {
		return nil, err
	}
	var found []*bench.Explanation
	for _, name := range names {
		prices, note, err := pricesFor(deviceOf(name), o.profile)
		if err != nil {
			return nil, err
		}
		if own := o.imports.prices(); own != nil && o.profile == "" {
			prices = own
		}
		opt.Prices, opt.Real = prices, o.real
		x, err := bench.Explain(old, new, name, opt)
		if errors.Is(err, bench.ErrNoTime) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if note != "" {
			x.Warnings = append(x.Warnings, note)
		}
		found = append(found, x)
	}
	return found, nil
}

// readProfiles reads the CPU profiles, which are of one benchmark.
func readProfiles(o resultsFlags, benchmarks int) (opt bench.ExplainOptions, err error) {
	switch {
	case o.oldCPU == "" && o.newCPU == "", o.beside && benchmarks > 1:
		return opt, nil
	case o.oldCPU == "" || o.newCPU == "":
		return opt, errors.New("-cpu-old and -cpu-new go together")
	case benchmarks > 1:
		return opt, fmt.Errorf("CPU profiles are of one benchmark, and %d were compared; choose it with -run", benchmarks)
	}
	for _, p := range []struct {
		path string
		to   **profile.Profile
	}{{o.oldCPU, &opt.OldCPU}, {o.newCPU, &opt.NewCPU}} {
		f, err := os.Open(p.path)
		if err != nil {
			return opt, err
		}
		*p.to, err = profile.Parse(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return opt, fmt.Errorf("%s: %w", p.path, err)
		}
	}
	return opt, nil
}

// pricesFor is the prices of a device's events: those of the profile named,
// where one is, else of the device's own. For the host there are none; a card
// is taken for an H200, and the note says so.
func pricesFor(dev, named string) (p *bench.Prices, note string, err error) {
	if i := strings.LastIndexByte(dev, '-'); i > 0 && strings.Trim(dev[i+1:], "0123456789") == "" {
		dev = dev[:i] // the number of CPUs, where the device ends the name
	}
	switch name, isSim := strings.CutPrefix(dev, "sim:"); {
	case named != "":
	case isSim:
		named = name
	case strings.HasPrefix(dev, "cuda:"):
		named, note = "h200", "priced as an h200; -profile names another, or a FILE.json by gputax calibrate"
	default:
		return nil, "", nil
	}
	profile, err := profiles.Device(named)
	if err != nil {
		return nil, "", fmt.Errorf("prices: %w; -profile names another", err)
	}
	return pricesOf(profile), note, nil
}

// pricesOf is what a device profile says that events cost.
func pricesOf(p *sim.Profile) *bench.Prices {
	return &bench.Prices{
		Of:               p.Name,
		Launch:           max(p.LaunchHost, p.KernelFloor+p.LaunchGap),
		GraphLaunch:      p.GraphHost,
		GraphKernel:      p.GraphNode,
		UploadPageable:   p.CopyHost + p.UploadPageable,
		UploadPinned:     p.CopyHost + p.UploadPinned,
		DownloadPageable: p.CopyHost + p.DownloadPageable,
		DownloadPinned:   p.CopyHost + p.DownloadPinned,
		UploadByte:       1e9 / p.UploadPageablePerS,
		DownloadByte:     1e9 / p.DownloadPageablePerS,
		MappedByte:       1e9 / p.UploadPinnedPerS,
		Sync:             p.SyncHost,
		Alloc:            p.AllocHost,
		Free:             p.FreeHost,
	}
}
