package main

import (
	"os"
	"strings"
	"testing"
)

// The table in README.md is what the command shown above it prints.
func TestReadmeTable(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(readme), "    $ go run ./cmd/gputax run ")
	if !ok {
		t.Fatal("README.md shows no gputax run")
	}
	command, _, _ := strings.Cut(after, "\n")
	args := []string{"run", "-o", t.TempDir()}
	for _, a := range strings.Fields(command) {
		args = append(args, strings.Trim(a, "'"))
	}
	code, stdout, stderr := gputax(args...)
	if code != exitOK {
		t.Fatal(stderr)
	}
	for line := range strings.Lines(stdout) {
		line = strings.TrimRight(line, "\n")
		if strings.Contains(line, " results in ") {
			continue
		}
		if line != "" && !strings.Contains(after, "    "+line+"\n") {
			t.Errorf("README.md does not show the line\n%s", line)
		}
	}
}
