package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Checkouts says which two versions of a Git repository to build.
type Checkouts struct {
	Dir      string   // a directory of the checkout; package patterns are relative to it
	Base     string   // a commit, by any name Git knows
	Head     string   // another; empty is the checkout itself, with what is not committed
	Packages []string // package patterns, as the go command takes them
	Tags     string   // build tags, comma-separated
	Log      func(format string, args ...any)
}

// Sides is the two versions, built, with the temporary directory they live in.
// Close it, also after an interrupt.
type Sides struct {
	Base, Head         *Built
	BaseName, HeadName string // such as main (1a2b3c4)

	temp    string
	remove  []func() error
	removed bool
}

// Open checks the versions out in worktrees in a temporary directory and builds
// their benchmarks. The checkout itself and its index are not touched.
func Open(ctx context.Context, c Checkouts) (_ *Sides, err error) {
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	top, err := git(ctx, c.Dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("gate: %s is not in a Git checkout: %w", c.Dir, err)
	}
	below, err := below(top, c.Dir)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "gputax-gate-")
	if err != nil {
		return nil, err
	}
	s := &Sides{temp: temp}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.Base, s.BaseName, err = s.build(ctx, c, 0, c.Base, below); err != nil {
		return nil, err
	}
	if s.Head, s.HeadName, err = s.build(ctx, c, 1, c.Head, below); err != nil {
		return nil, err
	}
	if len(s.Head.Packages()) == 0 {
		return nil, fmt.Errorf("gate: no package with tests matches %s", strings.Join(c.Packages, " "))
	}
	return s, nil
}

// build checks one version out, if need be, and builds it.
func (s *Sides) build(ctx context.Context, c Checkouts, side int, ref, below string) (*Built, string, error) {
	dir, name := c.Dir, "the working tree"
	if ref != "" {
		commit, err := resolve(ctx, c.Dir, ref)
		if err != nil {
			return nil, "", err
		}
		tree := filepath.Join(s.temp, sideNames[side])
		if err := s.worktree(ctx, c.Dir, commit, tree); err != nil {
			return nil, "", err
		}
		dir, name = filepath.Join(tree, below), fmt.Sprintf("%s (%.10s)", ref, commit)
	}
	c.Log("build the benchmarks of %s, %s", sideNames[side], name)
	b, err := Build(ctx, Source{Name: sideNames[side], Dir: dir, Patterns: c.Packages, Tags: c.Tags, Out: s.temp})
	return b, name, err
}

// worktree checks a commit out.
func (s *Sides) worktree(ctx context.Context, repo, commit, dir string) error {
	// Before it is made: an interrupt may come in the middle.
	s.remove = append(s.remove, func() error {
		// Not by the context, which may be why it is removed.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := git(ctx, repo, "worktree", "remove", "--force", dir); err != nil {
			// It is none yet, as making it was interrupted, and Git tidied up.
			return os.RemoveAll(dir)
		}
		return nil
	})
	if _, err := git(ctx, repo, "worktree", "add", "--detach", "--quiet", dir, commit); err != nil {
		return fmt.Errorf("gate: check out %s: %w", commit, err)
	}
	return nil
}

// Close removes the worktrees and the binaries.
func (s *Sides) Close() error {
	if s.removed {
		return nil
	}
	s.removed = true
	var errs []error
	for _, remove := range s.remove {
		errs = append(errs, remove())
	}
	return errors.Join(append(errs, os.RemoveAll(s.temp))...)
}

// UnknownRefError is a name that no commit has.
type UnknownRefError struct {
	Ref     string
	Known   []string // branches and tags there are
	Shallow bool     // the clone has not all of history
}

func (e *UnknownRefError) Error() string {
	s := fmt.Sprintf("no commit is called %q", e.Ref)
	if e.Shallow {
		s += "; this clone is shallow, fetch all of it: git fetch --unshallow, or fetch-depth: 0 in a workflow"
	}
	return s
}

// resolve finds the commit of a name.
func resolve(ctx context.Context, dir, ref string) (string, error) {
	commit, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err == nil || ctx.Err() != nil {
		return commit, err
	}
	e := &UnknownRefError{Ref: ref}
	if names, err := git(ctx, dir, "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes", "refs/tags"); err == nil {
		e.Known = strings.Fields(names)
	}
	shallow, _ := git(ctx, dir, "rev-parse", "--is-shallow-repository")
	e.Shallow = shallow == "true"
	return "", e
}

// below is where dir is in the checkout whose top is given, which Git tells
// with links resolved.
func below(top, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	return filepath.Rel(filepath.FromSlash(top), dir)
}

// git runs Git without the repository's hooks, and returns its output's line.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	cmd.Env = environment()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", because(err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}

// environment is this process's, without what ties Git to one checkout: a hook
// has it, and the gate may be called from one.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_DIR=") || strings.HasPrefix(kv, "GIT_WORK_TREE=") || strings.HasPrefix(kv, "GIT_INDEX_FILE=")
	})
}
