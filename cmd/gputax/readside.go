package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gputax/bench"

	"golang.org/x/perf/benchproc"
)

// sideReader reads one kind of file into a side of a comparison.
type sideReader struct {
	kind string
	is   func(head []byte) bool // by a file's first bytes, up to 4 KiB
	read func(side *bench.Results, path string, o *importFlags) error
}

// sideReaders are tried in order; the last takes every file.
var sideReaders = []sideReader{
	{nsysExport.name, nsysExport.is, nsysExport.side},
	{kinetoTrace.name, kinetoTrace.is, kinetoTrace.side},
	{"Go benchmark format", func([]byte) bool { return true }, func(side *bench.Results, path string, _ *importFlags) error {
		return side.ReadFile(path)
	}},
}

// readSide reads one side of a comparison. Each path is a file, a directory
// that has a bench.txt, a pattern, or several of those between commas.
func readSide(paths []string, filter *benchproc.Filter, o *importFlags) (*bench.Results, error) {
	files, err := expandPaths(paths)
	if err != nil {
		return nil, err
	}
	side := &bench.Results{Filter: filter}
	for _, path := range files {
		head, err := readHead(path)
		if err != nil {
			return nil, err
		}
		for _, r := range sideReaders {
			if !r.is(head) {
				continue
			}
			if err := r.read(side, path, o); err != nil {
				return nil, err
			}
			break
		}
	}
	return side, nil
}

// expandPaths lists the files that paths stand for, none of them twice.
func expandPaths(paths []string) ([]string, error) {
	var files []string
	seen := map[string]bool{}
	for _, list := range paths {
		for _, p := range strings.Split(list, ",") {
			matches, err := expandPath(p)
			if err != nil {
				return nil, err
			}
			for _, m := range matches {
				if seen[filepath.Clean(m)] {
					return nil, fmt.Errorf("%s is given twice on one side: its samples would count double", m)
				}
				seen[filepath.Clean(m)] = true
				files = append(files, m)
			}
		}
	}
	return files, nil
}

// expandPath is the files one path stands for.
func expandPath(path string) ([]string, error) {
	files := []string{path}
	if _, err := os.Stat(path); err != nil && strings.ContainsAny(path, "*?[") {
		if files, err = filepath.Glob(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s: no file matches", path)
		}
	}
	for i, f := range files {
		if info, err := os.Stat(f); err == nil && info.IsDir() {
			files[i] = filepath.Join(f, "bench.txt")
		}
	}
	return files, nil
}

func readHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 4<<10))
}
