//go:build amd64 || arm64

package cupti

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ebitengine/purego"

	"gputax/device"
)

// stand is a CUPTI in C, as far as it is used here. It asks for buffers on the
// thread that launches, as CUPTI does, and hands them back on one of its own.
const stand = `
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
typedef void (*request)(uint8_t **, size_t *, size_t *);
typedef void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
static request ask; static complete give;
static uint8_t *buffer; static size_t size, used, limit;
static uint32_t correlation; static uint64_t now = 1000; static int enabled;
static uint64_t ids[8]; static int depth, kinds[8];
int cuptiGetVersion(uint32_t *v) { *v = 130001; return 0; }
int cuptiGetResultString(int r, const char **s) { *s = r == 15 ? "CUPTI_ERROR_NOT_INITIALIZED" : "OTHER"; return 0; }
int cuptiActivityRegisterCallbacks(request r, complete c) { ask = r; give = c; return 0; }
int cuptiActivityEnable(int k) { enabled++; return 0; }
int cuptiActivityDisable(int k) { enabled--; return 0; }
int cuptiGetTimestamp(uint64_t *t) { *t = ++now; return 0; }
int cuptiActivityGetNumDroppedRecords(void *c, uint32_t s, size_t *n) { *n = 0; return 0; }
int cuptiActivityPushExternalCorrelationId(int k, uint64_t id) { kinds[depth] = k; ids[depth++] = id; return 0; }
int cuptiActivityPopExternalCorrelationId(int k, uint64_t *last) { depth--; return last ? 1 : 0; }
int cuptiGetCallbackName(int d, uint32_t id, const char **s) { if (d != 1 || id != 307) return 1; *s = "cuLaunchKernel"; return 0; }
static void *back(void *unused) { give(0, 0, buffer, size, used); return 0; }
int cuptiActivityFlushAll(uint32_t f) {
	pthread_t t;
	if (!buffer) return 0;
	if (pthread_create(&t, 0, back, 0)) return 1;
	pthread_join(t, 0);
	buffer = 0;
	return 0;
}
static size_t length(const uint8_t *r) { return *(uint32_t *)r == 4 ? 40 : *(uint32_t *)r == 39 ? 24 : 216; }
int cuptiActivityGetNextRecord(uint8_t *b, size_t valid, uint8_t **r) {
	*r = *r ? *r + length(*r) : b;
	return *r < b + valid ? 0 : 12;
}
static uint8_t *room(size_t n) {
	uint8_t *at;
	if (buffer && used + n > size) cuptiActivityFlushAll(0);
	if (!buffer) { ask(&buffer, &size, &limit); used = 0; }
	at = buffer + used;
	memset(at, 0, n);
	used += n;
	return at;
}
void launch(void) {
	uint8_t *r;
	int i;
	if (!enabled) return;
	correlation++;
	for (i = 0; i < depth; i++) {
		r = room(24);
		*(uint32_t *)r = 39; *(uint32_t *)(r + 4) = kinds[i]; *(uint64_t *)(r + 8) = ids[i]; *(uint32_t *)(r + 16) = correlation;
	}
	r = room(40);
	*(uint32_t *)r = 4; *(uint32_t *)(r + 4) = 307; *(uint64_t *)(r + 8) = ++now; *(uint64_t *)(r + 16) = ++now;
	*(uint32_t *)(r + 24) = getpid(); *(uint32_t *)(r + 28) = 1; *(uint32_t *)(r + 32) = correlation;
	r = room(216);
	*(uint32_t *)r = 10; *(uint64_t *)(r + 16) = ++now; *(uint64_t *)(r + 24) = ++now;
	for (i = 52; i < 76; i += 4) *(uint32_t *)(r + i) = 1;
	*(uint32_t *)(r + 92) = correlation; *(const char **)(r + 104) = "axpb";
}
`

// TestThreads has C call back into Go on threads that Go did not make, and in
// the middle of calls of its own.
func TestThreads(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skipf("waits for a C compiler: %v", err)
	}
	dir := t.TempDir()
	source, name := filepath.Join(dir, "stand.c"), filepath.Join(dir, "libstand.so")
	must(t, os.WriteFile(source, []byte(stand), 0o644))
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", name, source, "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	fn, path, err := load([]string{name})
	must(t, err)
	l, err := newLibrary(fn, path)
	must(t, err)
	handle, err := purego.Dlopen(name, purego.RTLD_NOW)
	must(t, err)
	var launch func()
	purego.RegisterLibFunc(&launch, handle, "launch")
	const launches = 12000 // some buffers of records
	for range 3 {
		s, err := l.Start()
		must(t, err)
		must(t, s.Push(42))
		launch()
		must(t, s.Pop())
		for range launches - 1 {
			launch()
		}
		trace, err := s.Stop()
		must(t, err)
		if n := trace.Count().Counters[device.Launches]; n != launches {
			t.Errorf("%d launches of %d", n, launches)
		}
		if o := trace.Ops[0]; o.Name != "axpb" || o.External != 42 || trace.Ops[1].External != None {
			t.Errorf("the first op is %+v, the second has id %d", o, trace.Ops[1].External)
		}
	}
	if got := l.fail(15, "call").Name; got != "CUPTI_ERROR_NOT_INITIALIZED" {
		t.Errorf("result 15 is called %q", got)
	}
}
