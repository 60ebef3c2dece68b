package main

import (
	"os"
	"strings"
	"testing"
)

// The tables in README.md are what the commands shown above them print.
func TestReadmeTables(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(readme), "    $ go run ./cmd/gputax run ")[1:]
	if len(blocks) != 2 {
		t.Fatalf("README.md shows %d runs", len(blocks))
	}
	for _, block := range blocks {
		command, shown, _ := strings.Cut(block, "\n")
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
			if line != "" && !strings.Contains(line, " results in ") && !strings.Contains(shown, "    "+line+"\n") {
				t.Errorf("README.md does not show the line\n%s", line)
			}
		}
	}
}
