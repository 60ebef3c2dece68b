package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Source is a directory of Go source whose benchmarks are built into a [Side].
type Source struct {
	Name     string   // what to call it in messages: base, head
	Dir      string   // where the go command runs; package patterns are relative to it
	Patterns []string // packages, as the go command takes them
	Tags     string   // build tags, comma-separated
	Out      string   // the directory for the binaries
}

// Built is a side whose benchmarks are test binaries.
type Built struct {
	src      Source
	packages []listed

	mu       sync.Mutex
	binaries map[string]string
}

// listed is a package with tests.
type listed struct {
	path string
	dir  string
}

var (
	_ Side   = (*Built)(nil)
	_ Linker = (*Built)(nil)
)

// Build finds the packages of a source that have tests and builds the first
// layout of each. A source in which the patterns match nothing gives a side
// without packages: at base a whole package may be yet to come.
func Build(ctx context.Context, src Source) (*Built, error) {
	packages, err := list(ctx, src)
	if err != nil {
		return nil, err
	}
	b := &Built{src: src, packages: packages, binaries: map[string]string{}}
	for _, p := range packages {
		if _, err := b.binary(ctx, p, 0); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Packages is the import paths of the packages with tests.
func (b *Built) Packages() []string {
	out := make([]string, len(b.packages))
	for i, p := range b.packages {
		out[i] = p.path
	}
	return out
}

// Run runs benchmarks in the package's own directory, where its tests find
// their files.
func (b *Built) Run(ctx context.Context, r Request) ([]byte, error) {
	p, err := b.find(r.Package)
	if err != nil {
		return nil, err
	}
	binary, err := b.binary(ctx, p, r.Layout)
	if err != nil {
		return nil, err
	}
	return runBinary(ctx, binary, p.dir, r)
}

// Link links a layout of a package's benchmarks, unless it has been.
func (b *Built) Link(ctx context.Context, pkg string, layout int) error {
	p, err := b.find(pkg)
	if err == nil {
		_, err = b.binary(ctx, p, layout)
	}
	return err
}

// Unlink removes a layout's binary, if there is one.
func (b *Built) Unlink(pkg string, layout int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := binaryKey(pkg, layout)
	path := b.binaries[key]
	if path == "" {
		return nil
	}
	delete(b.binaries, key)
	return os.Remove(path)
}

func binaryKey(pkg string, layout int) string { return pkg + "\x00" + strconv.Itoa(layout) }

func (b *Built) find(pkg string) (listed, error) {
	i := slices.IndexFunc(b.packages, func(p listed) bool { return p.path == pkg })
	if i < 0 {
		return listed{}, fmt.Errorf("%s: no package %s", b.src.Name, pkg)
	}
	return b.packages[i], nil
}

// binary links a layout of a package's test binary, once. Layout 0 is the
// linker's own order, with what debuggers need; the others do without, which
// halves the time it takes.
func (b *Built) binary(ctx context.Context, p listed, layout int) (string, error) {
	key := binaryKey(p.path, layout)
	b.mu.Lock()
	path := b.binaries[key]
	b.mu.Unlock()
	if path != "" {
		return path, nil
	}
	path = filepath.Join(b.src.Out, fmt.Sprintf("%s.%d.%d.test", b.src.Name, slices.Index(b.packages, p), layout))
	// -trimpath: the same source in two directories gives the same binary.
	args := []string{"test", "-c", "-trimpath", "-o", path}
	if layout != 0 {
		args = append(args, "-ldflags=-s -w -randlayout="+strconv.Itoa(layout))
	}
	if b.src.Tags != "" {
		args = append(args, "-tags="+b.src.Tags)
	}
	if out, err := goCommand(ctx, b.src.Dir, append(args, p.path)...); err != nil {
		return "", fmt.Errorf("%s: build the benchmarks of %s: %w", b.src.Name, p.path, because(err, out))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.binaries[key] = path
	return path, nil
}

// list is the packages that match the source's patterns and have tests.
func list(ctx context.Context, src Source) ([]listed, error) {
	args := []string{"list", "-e", "-f", `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{"\t"}}{{.Dir}}{{end}}`}
	if src.Tags != "" {
		args = append(args, "-tags="+src.Tags)
	}
	if _, err := os.Stat(src.Dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	out, err := goCommand(ctx, src.Dir, append(args, src.Patterns...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: list the packages %s: %w", src.Name, strings.Join(src.Patterns, " "), because(err, out))
	}
	var packages []listed
	for line := range strings.Lines(out) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			packages = append(packages, listed{path, dir})
		}
	}
	return packages, nil
}

// goCommand runs the go command in dir and returns what it printed.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return string(out), err
}
