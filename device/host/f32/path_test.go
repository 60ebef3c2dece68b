package f32

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestSelect(t *testing.T) {
	was := Path()
	defer Select(was)
	for _, name := range Paths() {
		if err := Select(name); err != nil || Path() != name {
			t.Errorf("Select(%q): %v; Path is %q", name, err, Path())
		}
	}
	err := Select("neon")
	want := `f32: path "neon": no such path; this CPU has ` + strings.Join(Paths(), ", ")
	if err == nil || err.Error() != want {
		t.Errorf("Select(neon): %v, want %s", err, want)
	}
	if Path() != "portable" {
		t.Errorf("a refused Select changed the path to %q", Path())
	}
}

func TestSelectRefusesWhatTheCPULacks(t *testing.T) {
	for _, p := range archPaths() {
		was := p.usable
		p.usable = false
		if err := Select(p.name); err == nil || !strings.Contains(err.Error(), "this CPU lacks it") {
			t.Errorf("Select(%q) on a CPU without it: %v", p.name, err)
		}
		p.usable = was
	}
}

// TestEnvironment starts this test program again with each value of the variable.
func TestEnvironment(t *testing.T) {
	const helper = "F32_TEST_PRINT_PATH"
	if os.Getenv(helper) != "" {
		fmt.Printf("path=%s error=%v\n", Path(), PathError())
		return
	}
	names := Paths()
	for _, c := range []struct{ value, want string }{
		{"", "path=" + names[0] + " error=<nil>"},
		{"portable", "path=portable error=<nil>"},
		{"sse9", "path=" + names[0] + ` error=GPUTAX_HOST: f32: path "sse9": no such path`},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestEnvironment$", "-test.v")
		env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, EnvVar+"=") })
		cmd.Env = append(env, helper+"=1", EnvVar+"="+c.value)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s=%q: %v\n%s\nwant %s", EnvVar, c.value, err, out, c.want)
		}
	}
}
