package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// smallConfig trains in moments.
const smallConfig = `
problem: {customers: 10, capacity: 20}
model: {width: 16, heads: 2, layers: 1, hidden: 32}
training: {batch_size: 32, epoch_size: 320, epochs: EPOCHS, learning_rate: RATE, learning_rate_decay: 0.9, clip_norm: 1, seed: 3}
baseline: {instances: 64}
`

func writeConfig(t *testing.T, epochs, rate string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	text := strings.NewReplacer("EPOCHS", epochs, "RATE", rate).Replace(smallConfig)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTrainAndEval(t *testing.T) {
	dir := t.TempDir()
	config := writeConfig(t, "3", "0.01")
	code, stdout, stderr := gputax("train", "-config", config, "-o", dir, "-variant", "gpu_fused", "-set", "workers=2")
	if code != exitOK {
		t.Fatal(stderr)
	}
	for _, want := range []string{"epoch 1/3  cost ", "baseline", "instances/s", "epoch 3/3", "new baseline"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	code, stdout, stderr = gputax("train", "-config", config, "-o", dir)
	if code != exitOK || !strings.Contains(stdout, "resumed after epoch 3") || strings.Contains(stdout, "epoch 4/") {
		t.Errorf("a finished run: exit %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = gputax("eval", "-params", filepath.Join(dir, checkpointName), "-instances", "300", "-samples", "3")
	if code != exitOK || !strings.Contains(stdout, "300 instances") || !strings.Contains(stdout, "greedy") || !strings.Contains(stdout, "best of 3 samples") {
		t.Errorf("eval: exit %d, %s%s", code, stdout, stderr)
	}
}

// A run killed at some moment and started again ends with the same checkpoint,
// to the byte, as one that was left alone.
func TestKilledRunResumes(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := writeConfig(t, "12", "0.003")
	alone, killed := t.TempDir(), t.TempDir()
	if code, _, stderr := gputax("train", "-config", config, "-o", alone); code != exitOK {
		t.Fatal(stderr)
	}
	finished := false
	for try := 0; !finished && try < 50; try++ {
		cmd := exec.Command(exe, "train", "-config", config, "-o", killed)
		cmd.Env = append(os.Environ(), "GPUTAX_TEST_COMMAND=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(time.Duration(60+17*try)*time.Millisecond, func() { cmd.Process.Signal(syscall.SIGKILL) })
		finished = cmd.Wait() == nil
		kill.Stop()
	}
	if !finished {
		t.Fatal("the run never got to its end")
	}
	want, err := os.ReadFile(filepath.Join(alone, checkpointName))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(killed, checkpointName))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the killed run ended elsewhere (%v)", err)
	}
}

func TestTrainRefuses(t *testing.T) {
	good := writeConfig(t, "1", "0.01")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, checkpointName), []byte("not a checkpoint"), 0o666); err != nil {
		t.Fatal(err)
	}
	unknown := filepath.Join(t.TempDir(), "u.yaml")
	if err := os.WriteFile(unknown, []byte(smallConfig+"extra: 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"train"}, []string{"-config is required"}},
		{[]string{"train", "-config", "none.yaml"}, []string{"none.yaml"}},
		{[]string{"train", "-config", unknown}, []string{unknown}},
		{[]string{"train", "-config", good, "-variant", "gpu_pado"}, []string{"gpu_pado", "did you mean gpu_padded"}},
		{[]string{"train", "-config", good, "-device", "hots"}, []string{"did you mean host?"}},
		{[]string{"train", "-config", good, "-set", "cots=loop"}, []string{"cots=loop", "the keys are"}},
		{[]string{"train", "-config", good, "-set", "batch=1000000"}, []string{"1000000"}},
		{[]string{"train", "-config", good, "-o", dir}, []string{checkpointName, "not a gputax file", "another -o"}},
		{[]string{"train", "-config", writeConfig(t, "2", "1e30"), "-o", t.TempDir()}, []string{"epoch 1", "step ", "not finite", "no checkpoint was written yet"}},
		{[]string{"eval", "-params", "none"}, []string{"none", "no such file"}},
		{[]string{"eval", "-instances", "0"}, []string{"-instances 0"}},
	} {
		code, _, stderr := gputax(c.args...)
		if code != exitError || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q", c.args, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%v: %q does not say %q", c.args, stderr, want)
			}
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, checkpointName)); err != nil || string(data) != "not a checkpoint" {
		t.Errorf("a file that is no checkpoint was overwritten: %v", err)
	}
}

// Package profiles tests the calibration itself.
func TestCalibrateRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"calibrate", "-device", "host", "-name", "mine", "-o", path}, "it exists"},
		{[]string{"calibrate", "-device", "host", "-o", path}, "-name and -o are required"},
		{[]string{"calibrate", "-device", "host", "-name", "a/b", "-o", path + "2"}, "a/b"},
		{[]string{"calibrate", "-device", "sim:h200", "-name", "x", "-o", path + "2"}, "simulated"},
	} {
		if code, _, stderr := gputax(c.args...); code != exitError || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, code, stderr)
		}
	}
}

func TestBadHostPath(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "devices")
	cmd.Env = append(os.Environ(), "GPUTAX_TEST_COMMAND=1", "GPUTAX_HOST=neon")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != exitError || !strings.Contains(string(out), "neon") || !strings.Contains(string(out), "GPUTAX_HOST") {
		t.Errorf("exit %d: %s", cmd.ProcessState.ExitCode(), out)
	}
}
