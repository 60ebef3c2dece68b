// Command ptxgen compiles a .cu file to the PTX that its package embeds:
//
//	go run gputax/device/cuda/ptxgen [-arch compute_80] [-nvcc nvcc] kernels.cu [nvcc options]
//
// It writes kernels.ptx beside the source. The first line holds the source's
// SHA-256, so that a test can tell on any machine, with no CUDA on it, whether
// the two belong together. The same source and compiler give the same bytes.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if err := run(os.Stderr, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ptxgen:", err)
		os.Exit(1)
	}
}

func run(stderr io.Writer, args []string) error {
	flags := flag.NewFlagSet("ptxgen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	// The oldest architecture the kernels are written for: drivers compile PTX
	// for any newer card.
	arch := flags.String("arch", "compute_80", "virtual `architecture` to compile for")
	nvcc := flags.String("nvcc", "nvcc", "the compiler to `run`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no source: give the name of a .cu file")
	}
	source := flags.Arg(0)
	if filepath.Ext(source) != ".cu" {
		return fmt.Errorf("%s: not a .cu file", source)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	if err := selfContained(text); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	release, err := releaseOf(*nvcc)
	if err != nil {
		return err
	}
	ptx, err := compile(*nvcc, *arch, source, flags.Args()[1:])
	if err != nil {
		return err
	}
	head := fmt.Sprintf("// gputax: %s sha256 %x, %s\n", filepath.Base(source), sha256.Sum256(text), release)
	return os.WriteFile(strings.TrimSuffix(source, ".cu")+".ptx", []byte(head+clean(ptx)), 0o644)
}

var ownInclude = regexp.MustCompile(`(?m)^\s*#\s*include\s*"([^"]*)"`)

// selfContained refuses sources that the hash would cover only in part.
func selfContained(text []byte) error {
	if m := ownInclude.FindSubmatch(text); m != nil {
		return fmt.Errorf("includes %q: the hash in the PTX covers this one file only, so put it all here", m[1])
	}
	return nil
}

// releaseOf is the line of nvcc --version that names the release.
func releaseOf(nvcc string) (string, error) {
	out, err := exec.Command(nvcc, "--version").Output()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s not found: install the CUDA toolkit (Debian: nvidia-cuda-toolkit); only changed .cu files need it", nvcc)
	}
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", nvcc, err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "release") {
			return strings.TrimSpace(line), nil
		}
	}
	return "", fmt.Errorf("%s --version names no release:\n%s", nvcc, out)
}

// compile is the PTX of source as nvcc writes it. It runs in the source's own
// folder, so that no path is there to end up in the output.
func compile(nvcc, arch, source string, options []string) (string, error) {
	dir, err := os.MkdirTemp("", "ptxgen")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out.ptx")
	args := append([]string{"-ptx", "-arch=" + arch, "-O3", "-o", out}, options...)
	cmd := exec.Command(nvcc, append(args, filepath.Base(source))...)
	cmd.Dir = filepath.Dir(source)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	ptx, err := os.ReadFile(out)
	return string(ptx), err
}

var debugLine = regexp.MustCompile(`^//|^\s*\.(file|loc)\s`)

// clean drops what names the machine or the moment and no driver needs: the
// compiler's banner, and the files and lines of debug information.
func clean(ptx string) string {
	var b strings.Builder
	for line := range strings.Lines(ptx) {
		if b.Len() == 0 && strings.TrimSpace(line) == "" || debugLine.MatchString(line) {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}
