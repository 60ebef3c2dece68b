package kineto

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"gputax/device"
)

const (
	kernelEvent  = `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":12,"dur":1,"args":{"correlation":9}}`
	runtimeEvent = `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":10,"dur":3,"args":{"correlation":9}}`
)

// What cannot be trusted is one clear error.
func TestRefused(t *testing.T) {
	long := `{"traceEvents":[{"name":"` + strings.Repeat("x", maxEvent) + `"}]}`
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "the file is empty"},
		{"white space", " \n", "ends too early"},
		{"text", "hello", "no JSON of a trace"},
		{"a number", "12", "no JSON of a trace"},
		{"no events", `{"a": [1, {"b": 2}]}`, "no traceEvents"},
		{"empty object", `{}`, "no traceEvents"},
		{"empty trace", `{"traceEvents": []}`, "none of the events is of torch.profiler"},
		{"foreign trace", `{"traceEvents": [{"ph":"X","cat":"go","name":"a","ts":1,"dur":2}]}`, "none of the events is of torch.profiler"},
		{"CPU only", `{"traceEvents": [{"ph":"X","cat":"cpu_op","name":"aten::add","ts":1,"dur":2}]}`, "ProfilerActivity.CUDA"},
		{"no CUPTI", `{"traceEvents": [` + runtimeEvent + `]}`, "CUPTI"},
		{"cut in an event", `{"traceEvents": [` + kernelEvent + `,{"ph":"X","cat`, "ends too early (byte 111, after 1 events)"},
		{"cut between events", `{"traceEvents": [` + kernelEvent + `,`, "ends too early"},
		{"cut after events", `{"traceEvents": [` + kernelEvent + `]`, "ends too early"},
		{"cut gzip", zipped(trace())[:300], "ends too early"},
		{"no gzip", "\x1f\x8bnothing of the kind", "gzip"},
		{"two values", `{"traceEvents": [` + kernelEvent + `]} {}`, "after the end"},
		{"brackets", `{"traceEvents": [{"a": [}]}]}`, "closes another bracket"},
		{"a word", `{"traceEvents": [` + kernelEvent + `, oops]}`, "where a value should be"},
		{"no comma", `{"traceEvents": [` + kernelEvent + kernelEvent + `]}`, "should be"},
		{"deep", `{"traceEvents": [` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `]}`, "nested deeper"},
		{"an endless event", long, "more than 16 MB"},
		{"a bad key", `{traceEvents: []}`, "where a key should be"},
		{"events are no array", `{"traceEvents": {}}`, "should be"},
	} {
		rec, err := Read(strings.NewReader(c.text), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v %v; want an error with %q", c.name, rec, err, c.want)
		}
	}
	if _, err := Read(strings.NewReader(trace()), Options{Step: "["}); err == nil || !strings.Contains(err.Error(), "step name") {
		t.Errorf("a bad pattern: %v", err)
	}
	if _, err := Read(iotest.ErrReader(io.ErrClosedPipe), Options{}); err == nil {
		t.Error("a failing reader gives no error")
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.json"), Options{}); !os.IsNotExist(err) && err == nil {
		t.Errorf("a missing file: %v", err)
	}
}

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

// What is missing is said, and the rest counts.
func TestWarned(t *testing.T) {
	for _, c := range []struct {
		name, events, want string
		launches           int64
	}{
		{"no calls", kernelEvent, "no calls of the CUDA runtime", 1},
		{"an orphan", runtimeEvent + "," + kernelEvent + "," + strings.Replace(kernelEvent, ":9", ":10", 1), "1 of 2 kernels", 2},
		{"no time", runtimeEvent + "," + kernelEvent + `,{"ph":"X","cat":"kernel","name":"k"}`, "1 events lack", 1},
		{"NaN time", runtimeEvent + "," + kernelEvent + `,{"ph":"X","cat":"kernel","name":"k","ts":NaN,"dur":1}`, "1 events lack", 1},
		{"negative", runtimeEvent + "," + kernelEvent + `,{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":-1}`, "1 events lack", 1},
		{"no object", runtimeEvent + "," + kernelEvent + `,3`, "1 events lack", 1},
		{"a copy of no size", runtimeEvent + "," + kernelEvent + "," + strings.NewReplacer("kernel", "gpu_memcpy", `"k"`, `"Memcpy DtoH (Device -> Pinned)"`).Replace(kernelEvent), "1 events lack", 1},
		{"a copy of no direction", runtimeEvent + "," + kernelEvent + "," + strings.NewReplacer("kernel", "gpu_memcpy", `"correlation"`, `"bytes":1,"correlation"`).Replace(kernelEvent), "1 copies do not say", 1},
		{"bad arguments", runtimeEvent + "," + kernelEvent + `,{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"args":{"a" 3}}`, "1 events lack", 1},
		{"two processes", runtimeEvent + "," + strings.Replace(runtimeEvent, `"pid":1`, `"pid":2`, 1) + "," + kernelEvent, "used twice", 1},
	} {
		rec := read(t, `{"traceEvents": [`+c.events+`]}`)
		if len(rec.Warnings) != 1 || !strings.Contains(rec.Warnings[0], c.want) {
			t.Errorf("%s: warnings %q, want %q", c.name, rec.Warnings, c.want)
		}
		if got := rec.Counters()[device.Launches]; got != c.launches {
			t.Errorf("%s: %d launches, want %d", c.name, got, c.launches)
		}
	}
}

// Events are found however the reader cuts the file, also where one is longer
// than the buffer.
func TestAnyBuffer(t *testing.T) {
	long := strings.Replace(trace(), "backward_kernel", strings.Repeat("long ", 300_000), 1)
	want := read(t, long).Counters()
	for _, r := range []io.Reader{iotest.DataErrReader(strings.NewReader(long)), iotest.HalfReader(strings.NewReader(long))} {
		rec, err := Read(r, Options{})
		if err != nil || rec.Counters() != want {
			t.Errorf("%v, want %v: %v", rec, want, err)
		}
	}
	rec, err := Read(iotest.OneByteReader(strings.NewReader(trace())), Options{})
	if err != nil || rec.Counters() != want {
		t.Errorf("%v, want %v: %v", rec, want, err)
	}
}

func TestNanoseconds(t *testing.T) {
	for text, want := range map[string]int64{
		"3845798335324.620": 3845798335324620, "1.249": 1249, "1": 1000, "0.5": 500, "0.0004": 0, "0.0005": 1, "1.9996": 2000,
		"-1.5": -1500, "-0.25": -250, `"12.5"`: 12500, "1e3": 1_000_000, "2.5e-1": 250, "1790857026000000.123": 1790857026000000123,
	} {
		if got, ok := nanoseconds([]byte(text)); !ok || got != want {
			t.Errorf("%s: %d %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "NaN", "Infinity", "-", ".", "1.x", "1.2345x", "x", "99999999999999999999", "1e300", "null", "true"} {
		if got, ok := nanoseconds([]byte(text)); ok {
			t.Errorf("%s is taken for %d", text, got)
		}
	}
}

func TestUnquote(t *testing.T) {
	for text, want := range map[string]string{
		`"a"`: "a", `""`: "", `"a\"b\\"`: `a"b\`, `"\u0041\n\/"`: "A\n/", `"\q\u12"`: `\q\u12`, `"\ud800"`: "\uFFFD", `3`: "",
	} {
		if got := string(unquote([]byte(text), new([]byte))); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Reading never panics, and what it gives is whole.
func FuzzRead(f *testing.F) {
	f.Add([]byte(trace()), "")
	f.Add([]byte(zipped(trace())), "forward")
	f.Add([]byte(`[`+runtimeEvent+","+kernelEvent+`]`), "cuda")
	f.Add([]byte(`{"traceEvents":[{"ph":"X","cat":"python_function","name":"a(1): b at 0x1","ts":1e3,"dur":"2","tid":-1,"args":{"grid":[1,2],"bytes":-3}},`+kernelEvent+`],"deviceProperties":[{}],"distributedInfo":{"rank":1,"world_size":2}}`), "(")
	f.Fuzz(func(t *testing.T, text []byte, step string) {
		rec, err := Read(bytes.NewReader(text), Options{Step: step})
		if err != nil {
			return
		}
		if err := rec.CheckValid(); err != nil {
			t.Error(err)
		}
		rec.StepTotals()
	})
}
