package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the tables in README.md")

// The tables in README.md are what the commands shown above them print.
func TestReadmeTables(t *testing.T) {
	const path, prompt = "../../README.md", "    $ go run ./cmd/gputax "
	readme, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(readme), prompt)
	if len(parts) != 5 {
		t.Fatalf("README.md shows %d commands", len(parts)-1)
	}
	for i, part := range parts[1:] {
		command, rest, _ := strings.Cut(part, "\n")
		shown := indented(rest)
		if got := printed(t, command); got != shown {
			t.Errorf("README.md shows for %q (go test ./cmd/gputax -update rewrites it)\n%sit prints\n%s", command, shown, got)
			parts[i+1] = command + "\n" + got + strings.TrimPrefix(rest, shown)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(parts, prompt)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// indented is the lines at the start of text that are indented or empty.
func indented(text string) string {
	end := 0
	for line := range strings.Lines(text) {
		if line != "\n" && !strings.HasPrefix(line, "    ") {
			break
		}
		end += len(line)
	}
	return text[:end]
}

// printed is what a command prints, indented, without where its files went.
func printed(t *testing.T, command string) string {
	t.Helper()
	var args []string
	for _, a := range strings.Fields(command) {
		args = append(args, strings.Trim(a, "'"))
	}
	if args[0] != "why" {
		args = append(args, "-o", filepath.Join(t.TempDir(), "out"))
	}
	code, stdout, stderr := gputax(args...)
	if code != exitOK {
		t.Fatal(stderr)
	}
	var out string
	for line := range strings.Lines(stdout) {
		if strings.Contains(line, " results in ") || strings.Contains(line, "index.md says") {
			break
		}
		if line != "\n" {
			line = "    " + line
		}
		out += line
	}
	return "\n" + strings.Trim(out, "\n") + "\n\n"
}
