package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"gputax/bench"
	"gputax/device"

	"golang.org/x/perf/benchfmt"
)

// output is bench.txt: every result goes to the file as it is written, one
// system call a line, so nothing that finished is lost.
type output struct {
	path   string
	kept   string // where an earlier bench.txt went
	file   *os.File
	writer *benchfmt.Writer
	units  bench.Units
	config []benchfmt.Config
	gpu    string // the card whose state is in config
	lines  int
}

// createOutput makes dir/bench.txt. A bench.txt that is there is renamed to
// the first free of bench.1.txt, bench.2.txt, ...
func createOutput(dir string) (*output, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("-o %s: %w", dir, err)
	}
	o := &output{path: filepath.Join(dir, "bench.txt"), config: fileConfig()}
	if _, err := os.Lstat(o.path); err == nil {
		if o.kept, err = setAside(o.path); err != nil {
			return nil, fmt.Errorf("-o %s: keep the earlier results: %w", dir, err)
		}
	}
	file, err := os.OpenFile(o.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, fmt.Errorf("-o %s: %w", dir, err)
	}
	o.file, o.writer = file, benchfmt.NewWriter(file)
	return o, nil
}

// setAside renames path and says to what.
func setAside(path string) (string, error) {
	base := strings.TrimSuffix(path, ".txt")
	for i := 1; ; i++ {
		to := fmt.Sprintf("%s.%d.txt", base, i)
		// A link fails where the name is taken; a rename would overwrite.
		err := os.Link(path, to)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		return to, os.Remove(path)
	}
}

// write adds one result. The state of a card is taken at its first result, when
// it is warm.
func (o *output) write(ctx context.Context, name string, s bench.Sample) error {
	if _, ordinal, ok := strings.Cut(deviceOf(name), "cuda:"); ok && o.gpu != ordinal {
		o.gpu, o.config = ordinal, append(fileConfig(), gpuConfig(ctx, ordinal)...)
	}
	metrics := s.Metrics()
	if err := o.units.Announce(o.file, metrics); err != nil {
		return err
	}
	r := &benchfmt.Result{Config: o.config, Name: benchfmt.Name(name + suffix(s.Clock)), Iters: s.Ops}
	for _, m := range metrics {
		r.Values = append(r.Values, benchfmt.Value{Value: m.Value, Unit: m.Unit})
	}
	if err := o.writer.Write(r); err != nil {
		return err
	}
	o.lines++
	return nil
}

func (o *output) close() error { return errors.Join(o.file.Sync(), o.file.Close()) }

// suffix is what go test adds to names that depend on the number of CPUs.
// Simulated time does not.
func suffix(c device.Clock) string {
	if n := runtime.GOMAXPROCS(0); n != 1 && c == device.Real {
		return fmt.Sprintf("-%d", n)
	}
	return ""
}

// fileConfig is the lines go test puts before results.
func fileConfig() []benchfmt.Config {
	pairs := [][2]string{{"goos", runtime.GOOS}, {"goarch", runtime.GOARCH}, {"pkg", "gputax/bench"}}
	if cpu := cpuName(); cpu != "" {
		pairs = append(pairs, [2]string{"cpu", cpu})
	}
	var config []benchfmt.Config
	for _, p := range pairs {
		config = append(config, benchfmt.Config{Key: p[0], Value: []byte(p[1]), File: true})
	}
	return config
}

// cpuName is the CPU's name where the system tells it, else empty.
func cpuName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
