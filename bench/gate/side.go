package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Side is one of the two versions that are compared: something that can run
// its benchmarks.
type Side interface {
	// Packages is the import paths of the packages with benchmarks.
	Packages() []string
	// Run runs benchmarks of one package in a process of their own and returns
	// what it printed, in Go benchmark format. A benchmark that fails is an
	// error.
	Run(ctx context.Context, r Request) ([]byte, error)
}

// Linker is a side that must make a layout's binary before it can run it. The
// gate asks for that ahead of timed runs, so that they are not held up, and
// tells when the binary is no longer needed.
type Linker interface {
	Link(ctx context.Context, pkg string, layout int) error
	Unlink(pkg string, layout int) error
}

// Request is one run of a side's benchmarks.
type Request struct {
	Package string
	Bench   string // a regular expression, as go test -bench takes it
	Time    string // as go test -benchtime takes it: 1x, 4ms
	Count   int    // how often each is run in the process
	CPUs    int    // GOMAXPROCS
	// Layout picks one of the binaries that differ only in the order of their
	// functions in memory.
	Layout int
	// CPUProfile is a file for a CPU profile of the run; empty for none. A run
	// that is profiled is not a sample.
	CPUProfile string
}

// Exactly is the regular expression for go test -bench that runs the
// benchmarks of these names, given without "Benchmark" and without the -N that
// tells the number of CPUs, and no others.
func Exactly(names ...string) string {
	alternatives := make([]string, len(names))
	for i, name := range names {
		parts := strings.Split("Benchmark"+name, "/")
		for j, p := range parts {
			parts[j] = "^" + regexp.QuoteMeta(p) + "$"
		}
		alternatives[i] = strings.Join(parts, "/")
	}
	return strings.Join(alternatives, "|")
}

// runTimeout ends a run that hangs, as go test does.
const runTimeout = 10 * time.Minute

// runBinary runs a test binary's benchmarks in dir.
func runBinary(ctx context.Context, binary, dir string, r Request) ([]byte, error) {
	args := []string{
		"-test.run=^$", "-test.bench=" + r.Bench, "-test.benchtime=" + r.Time, "-test.count=" + strconv.Itoa(r.Count),
		"-test.cpu=" + strconv.Itoa(r.CPUs), "-test.timeout=" + runTimeout.String(),
	}
	if r.CPUProfile != "" {
		args = append(args, "-test.cpuprofile="+r.CPUProfile)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("run -bench %s of %s: %w", r.Bench, r.Package, because(err, stdout.String()+stderr.String()))
	}
	return stdout.Bytes(), nil
}

// said is what an output says that went wrong, in a line: its last lines, less
// what benchmarks print when all is well.
func said(output string) error {
	var lines []string
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		switch fields[0] {
		case "#", "FAIL", "PASS", "Unit", "goos:", "goarch:", "pkg:", "cpu:":
			continue
		}
		lines = append(lines, strings.Join(fields, " "))
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines[max(0, len(lines)-saidLines):], "; "))
}

const saidLines = 3

// because adds what a command said to the error it ended with.
func because(err error, output string) error {
	if more := said(output); more != nil {
		return fmt.Errorf("%w: %w", err, more)
	}
	return err
}
