package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// compiler is an nvcc that writes what the real one would, and what options it
// got.
const compiler = `#!/bin/sh
if [ "$1" = --version ]; then
	echo 'nvcc: NVIDIA (R) Cuda compiler driver'
	echo 'Cuda compilation tools, release 11.8, V11.8.89'
	exit
fi
case "$*" in *-broken*) echo 'kernels.cu(1): error: no' >&2; exit 2;; esac
for last; do :; done
out=; while [ $# -gt 1 ]; do [ "$1" = -o ] && out=$2; shift; done
printf '//\n// Generated at 12:00 in /home/someone\n//\n\n.version 7.8\n.local .b8 x;\n\t.file\t1 "/home/someone/%s"\n\t.loc\t1 3 1\n\n\tret;\n' "$last" >"$out"
`

func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOutput(t *testing.T) {
	nvcc := write(t, "nvcc", compiler, 0o755)
	source := write(t, "kernels.cu", "// kernels\n", 0o644)
	if err := run(io.Discard, []string{"-nvcc", nvcc, source}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(strings.TrimSuffix(source, ".cu") + ".ptx")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("// gputax: kernels.cu sha256 %x, Cuda compilation tools, release 11.8, V11.8.89\n",
		sha256.Sum256([]byte("// kernels\n"))) + ".version 7.8\n.local .b8 x;\n\n\tret;\n"
	if string(got) != want {
		t.Errorf("wrote\n%s\nwant\n%s", got, want)
	}
}

func TestRefusals(t *testing.T) {
	nvcc := write(t, "nvcc", compiler, 0o755)
	source := write(t, "kernels.cu", "\n", 0o644)
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no source"},
		{[]string{"kernels.c"}, "not a .cu file"},
		{[]string{"none.cu"}, "none.cu"},
		{[]string{"-nvcc", "no-such-nvcc", source}, "no-such-nvcc not found: install the CUDA toolkit"},
		{[]string{"-nvcc", "/no/such/nvcc", source}, "not found: install the CUDA toolkit"},
		{[]string{"-nvcc", nvcc, source, "-broken"}, "kernels.cu(1): error: no"},
		{[]string{"-nvcc", nvcc, write(t, "kernels.cu", "#include \"shared.h\"\n", 0o644)}, `includes "shared.h"`},
	} {
		if err := run(io.Discard, c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ptxgen %q: error %v, want one with %q", c.args, err, c.want)
		}
	}
}
