//go:build amd64 || arm64

package cupti

import (
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestNoCUPTI(t *testing.T) {
	_, _, err := load([]string{"libno-such-cupti.so.1", "libno-such-cupti.so.2"})
	for _, want := range []string{"no CUPTI", "libno-such-cupti.so.1", "PyTorch", "GPUTAX_CUPTI"} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v has no %q, or is of several lines", err, want)
		}
	}
	_, _, err = load([]string{"libc.so.6"})
	if want := "libc.so.6 has no cuptiGetVersion"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// TestRealNames asks a real CUPTI, which needs no card for that, for the names
// of its functions: those that are told apart are among them.
func TestRealNames(t *testing.T) {
	fn, path, err := load(candidates())
	if err != nil {
		t.Skipf("waits for CUPTI: %v", err)
	}
	var version uint32
	if r := fn.version(&version); r != 0 || version < oldest {
		t.Fatalf("%s: version %d (%d)", path, version, r)
	}
	seen := map[string]bool{}
	for _, d := range []domain{domainDriver, domainRuntime} {
		for id := range uint32(1000) {
			name, _, _ := strings.Cut(fn.callName(d, id), "_")
			seen[name] = true
		}
	}
	for name := range callKinds {
		if !seen[name] && version >= 16 {
			t.Errorf("%s has no function %s", path, name)
		}
	}
	if got := fn.resultString(resultMaxLimit); got != "CUPTI_ERROR_MAX_LIMIT_REACHED" {
		t.Errorf("result %d is called %q", resultMaxLimit, got)
	}
}

func TestTextAt(t *testing.T) {
	memory, err := mapped(2 * 4096)
	must(t, err)
	long := strings.Repeat("x", 300)
	copy(memory[100:], long)
	if got := textAt(address(memory) + 100); got != long {
		t.Errorf("read %d bytes of %d: %q", len(got), len(long), got)
	}
	for i := range memory {
		memory[i] = 'y'
	}
	if got := textAt(address(memory)); len(got) != 4096 {
		t.Errorf("read %d bytes of a text without an end", len(got))
	}
	if got := textAt(0); got != "" {
		t.Errorf("at 0: %q", got)
	}
	if got := textAt(16); got != "" { // a page that nobody has
		t.Errorf("at 16: %q", got)
	}
	kept := []byte("name\x00more")
	if got := textAt(uintptr(unsafe.Pointer(&kept[0]))); got != "name" {
		t.Errorf("on the heap: %q", got)
	}
}

func TestCandidates(t *testing.T) {
	t.Setenv(pathVariable, "/some/libcupti.so")
	if got := candidates(); !slices.Equal(got, []string{"/some/libcupti.so"}) {
		t.Errorf("with a name given: %q", got)
	}
	t.Setenv(pathVariable, "")
	if got := candidates(); got[0] != "libcupti.so.13" {
		t.Errorf("the newest is not tried first: %q", got)
	}
}
