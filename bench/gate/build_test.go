package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gputax/bench"
)

// repo is a Git repository with a module of one package and one benchmark.
type repo struct {
	*testing.T
	dir string
}

// source is the benchmark: it reports an exact count and, where ops is above 0,
// the time of so much work.
func source(calls, work int) string {
	return fmt.Sprintf(`package p

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	fmt.Println("Unit calls/op better=lower assume=exact")
	os.Exit(m.Run())
}

func BenchmarkWork(b *testing.B) {
	if _, err := os.Stat("testdata/input"); err != nil {
		b.Fatal(err)
	}
	b.Run("name=a-1|b", func(b *testing.B) {
		x := uint32(1)
		for b.Loop() {
			for range %d {
				x = x*1664525 + 1013904223
			}
		}
		if x == 0 || %[1]d == 0 {
			b.ReportMetric(0, "ns/op")
		}
		b.ReportMetric(%[2]d, "calls/op")
	})
}
`, work, calls)
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	r := &repo{t, t.TempDir()}
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	r.git("init", "-q", "-b", "main")
	r.git("config", "user.email", "gate@example.com")
	r.git("config", "user.name", "gate")
	r.write("go.mod", "module example.com/p\n\ngo 1.22\n")
	r.write("sub/testdata/input", "x")
	r.commit(source(1, 0))
	return r
}

func (r *repo) git(args ...string) string {
	r.Helper()
	out, err := exec.Command("git", append([]string{"-C", r.dir}, args...)...).CombinedOutput()
	if err != nil {
		r.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (r *repo) write(name, text string) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		r.Fatal(err)
	}
}

func (r *repo) commit(source string) {
	r.Helper()
	r.write("sub/p_test.go", source)
	r.git("add", ".")
	r.git("commit", "-q", "--allow-empty", "-m", "change")
}

// open builds main and the working tree.
func (r *repo) open(ctx context.Context, base string) (*Sides, error) {
	return Open(ctx, Checkouts{Dir: filepath.Join(r.dir, "sub"), Base: base, Packages: []string{"."}})
}

// checkClean fails if a gate has left anything behind.
func (r *repo) checkClean() {
	r.Helper()
	if trees := strings.Count(r.git("worktree", "list"), "\n"); trees != 1 {
		r.Errorf("%d worktrees are left", trees-1)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		r.Errorf("left in the temporary directory: %v %v", left, err)
	}
}

func TestGateOfTwoCommits(t *testing.T) {
	r := newRepo(t)
	r.write("sub/p_test.go", source(2, 0)) // not committed
	before := r.git("status", "--porcelain")
	sides, err := r.open(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), sides.Base, sides.Head, Options{CPUs: 2})
	if err != nil {
		t.Error(err)
	}
	// Another layout does the same.
	again, err := sides.Head.Run(t.Context(), Request{Package: "example.com/p/sub", Bench: Exactly("Work/name=a-1|b"), Time: "1x", Count: 2, CPUs: 1, Layout: 3})
	if n := strings.Count(string(again), "2.000 calls/op"); err != nil || n != 2 {
		t.Errorf("layout 3: %v\n%s", err, again)
	}
	if err := errors.Join(sides.Head.Unlink("example.com/p/sub", 3), sides.Head.Unlink("example.com/p/sub", 3)); err != nil {
		t.Errorf("unlink, and again: %v", err)
	}
	if err := sides.Close(); err != nil || t.Failed() {
		t.Fatal(err)
	}
	rows := report.Comparison.Rows
	if len(rows) != 1 || rows[0].Benchmark != "Work/name=a-1|b-2" || rows[0].Verdict != bench.RowWorse || rows[0].Old.Center != 1 || rows[0].New.Center != 2 {
		t.Errorf("rows %+v", rows)
	}
	if after := r.git("status", "--porcelain"); after != before || !strings.Contains(before, " M sub/p_test.go") {
		t.Errorf("the checkout was %q and is %q", before, after)
	}
	r.checkClean()
}

func TestGateOfTimes(t *testing.T) {
	r := newRepo(t)
	r.commit(source(1, 1000))
	r.write("sub/p_test.go", source(1, 20_000))
	sides, err := r.open(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	plan := DefaultPlan()
	plan.Window, plan.Windows, plan.Layouts = time.Millisecond, 3, 1
	plan.Calm, plan.Disturbed = 100, 0.99 // the slowdown is larger than any noise
	report, err := Run(t.Context(), sides.Base, sides.Head, Options{Plan: &plan, CPUs: 2, Profiles: t.TempDir(),
		Control: func() time.Duration { return time.Millisecond }})
	if err := errors.Join(err, sides.Close()); err != nil {
		t.Fatal(err)
	}
	if report.Verdict() != bench.Regression || len(report.Profiles) != 1 {
		t.Fatalf("%s; profiles %+v", report.Comparison.Summary(), report.Profiles)
	}
	if info, err := os.Stat(report.Profiles[0].New); err != nil || info.Size() == 0 {
		t.Errorf("no profile: %v", err)
	}
	r.checkClean()
}

func TestOpenErrors(t *testing.T) {
	r := newRepo(t)
	r.commit("package p\n\nfunc broken {\n")
	r.commit(source(1, 0))
	r.git("branch", "develop")
	for _, c := range []struct{ base, want string }{
		{"main~1", "base: build the benchmarks of example.com/p/sub"},
		{"develo", `no commit is called "develo"`},
		{"--output=x", `no commit is called "--output=x"`},
	} {
		sides, err := r.open(t.Context(), c.base)
		if err == nil {
			err = sides.Close()
			t.Errorf("%s: no error, %v", c.base, err)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.base, err, c.want)
		}
		if e := (*UnknownRefError)(nil); errors.As(err, &e) && len(e.Known) != 2 {
			t.Errorf("known names %v, want develop and main", e.Known)
		}
	}
	if _, err := Open(t.Context(), Checkouts{Dir: t.TempDir(), Base: "main", Packages: []string{"."}}); err == nil || !strings.Contains(err.Error(), "not in a Git checkout") {
		t.Errorf("no checkout: %v", err)
	}
	r.checkClean()
}

func TestInterruptLeavesNothing(t *testing.T) {
	r := newRepo(t)
	for _, at := range []string{"build the benchmarks of base", "build the benchmarks of head"} {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Open(ctx, Checkouts{Dir: r.dir, Base: "main", Packages: []string{"./..."}, Log: func(format string, args ...any) {
			if strings.HasPrefix(fmt.Sprintf(format, args...), at) {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted at %q: %v", at, err)
		}
		cancel()
		r.checkClean()
	}
}

func TestNewPackage(t *testing.T) {
	r := newRepo(t)
	r.write("new/p_test.go", strings.Replace(source(1, 0), "testdata/input", "../sub/testdata/input", 1))
	sides, err := Open(t.Context(), Checkouts{Dir: r.dir, Base: "main", Packages: []string{"./sub", "./new"}})
	if err != nil {
		t.Fatal(err)
	}
	report, err := Run(t.Context(), sides.Base, sides.Head, Options{CPUs: 2})
	if err := errors.Join(err, sides.Close()); err != nil {
		t.Fatal(err)
	}
	if report.Verdict() != bench.Pass || report.Comparison.Count(bench.RowNew) != 1 || report.Comparison.Count(bench.RowSame) != 1 {
		t.Errorf("%s", report.Comparison.Summary())
	}
}
