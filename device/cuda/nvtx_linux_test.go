//go:build amd64 || arm64

package cuda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ebitengine/purego"

	"gputax/device"
)

// listener is a tool that listens to NVTX, as the headers of NVTX 3 have it: it
// asks for the tables that it knows and puts its functions in them. It writes
// down what it is told.
const listener = `
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef void (*function)(void);
struct callbacks { size_t size; int (*table)(int module, function ***out, unsigned *n); };
struct version { size_t size; uint32_t version, reserved; void (*set)(uint32_t); };
static char said[4096];
static uint64_t next = (uint64_t)1 << 40;
static uint64_t start(const char *name) { sprintf(said + strlen(said), "start %s %d;", name, (int)(++next - ((uint64_t)1 << 40))); return next; }
static void end(uint64_t id) { sprintf(said + strlen(said), "end %d;", (int)(id - ((uint64_t)1 << 40))); }
const char *heard(void) { return said; }
int InitializeInjectionNvtx2(const void *(*export)(uint32_t)) {
	const struct version *v = export(3);
	const struct callbacks *c = export(1);
	function **t;
	unsigned n;
	int sizes[] = {0, 16, 9, 15, 7, 16, 7}, m;
	if (export(2) || !v || v->size != sizeof *v || v->version != 3 || v->reserved) return 0;
	v->set(3);
	if (!c || c->size != sizeof *c || c->table(0, &t, &n) || c->table(7, &t, &n)) return 0;
	for (m = 1; m < 7; m++) {
		unsigned i;
		if (!c->table(m, &t, &n) || (int)n != sizes[m] || t[0] || t[n]) return 0;
		for (i = 1; i < n; i++)
			if (!t[i] || *t[i]) return 0;
	}
	if (!c->table(1, &t, 0)) return 0;
	*t[5] = (function)start;
	*t[7] = (function)end;
	return 1;
}
`

// compiled is a shared library of a C source.
func compiled(t *testing.T, source string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skipf("waits for a C compiler: %v", err)
	}
	dir := t.TempDir()
	file, lib := filepath.Join(dir, "tool.c"), filepath.Join(dir, "tool.so")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-Wall", "-o", lib, file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return lib
}

// TestRanges has a tool hear of a device's phases.
func TestRanges(t *testing.T) {
	lib := compiled(t, listener)
	tool, err := attach(lib)
	if err != nil {
		t.Fatal(err)
	}
	d := opened(t, newFake())
	d.ranges = newRanges(tool)
	r := device.NewRecorder(d)
	r.Phase("forward")
	before := r.Phase("cost")
	r.Phase(before)
	r.Phase("")
	r.Phase("last")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	handle, err := purego.Dlopen(lib, purego.RTLD_LAZY)
	if err != nil {
		t.Fatal(err)
	}
	var heard func() string
	purego.RegisterLibFunc(&heard, handle, "heard")
	want := "start forward 1;end 1;start cost 2;end 2;start forward 3;end 3;start last 4;end 4;"
	if got := heard(); got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
}

// TestNoTool looks for one line, and no more, where a tool cannot be had.
func TestNoTool(t *testing.T) {
	for name, c := range map[string]struct{ path, want string }{
		"not there": {filepath.Join(t.TempDir(), "none.so"), "none.so"},
		"no tool":   {"libc.so.6", "no InitializeInjectionNvtx2"},
		"refuses":   {"", "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.path == "" {
				c.path = compiled(t, "int InitializeInjectionNvtx2(void *p) { return 0; }")
			}
			tool, err := attach(c.path)
			if tool != nil || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, error %v, want one line with %q", tool, err, c.want)
			}
		})
	}
}

// TestSilentTool has phases go to a tool that wants none of them.
func TestSilentTool(t *testing.T) {
	tool, err := attach(compiled(t, "int InitializeInjectionNvtx2(void *p) { return 1; }"))
	if err != nil {
		t.Fatal(err)
	}
	r := newRanges(tool)
	r.enter("forward")
	r.enter("")
}

// TestWarning runs this test again with a tool that is not there.
func TestWarning(t *testing.T) {
	if os.Getenv(nvtxVariable) != "" {
		d := opened(t, newFake())
		d.EnterPhase("forward")
		return
	}
	run := exec.Command(os.Args[0], "-test.run=^TestWarning$")
	run.Env = append(os.Environ(), nvtxVariable+"=/no/such/tool.so")
	out, err := run.CombinedOutput()
	want := "gputax: phases are not shown as NVTX ranges: " + nvtxVariable + "=/no/such/tool.so: "
	if err != nil || strings.Count(string(out), want) != 1 {
		t.Errorf("error %v, output %q, want one line with %q", err, out, want)
	}
}

// TestNoRanges has no tool listen: a phase then costs a comparison.
func TestNoRanges(t *testing.T) {
	d := opened(t, newFake())
	if os.Getenv(nvtxVariable) == "" && d.ranges != nil {
		t.Error("ranges for no tool")
	}
	d.ranges = nil
	if n := testing.AllocsPerRun(100, func() { d.EnterPhase("forward"); d.EnterPhase("") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
