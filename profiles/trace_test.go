package profiles_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/host"
	"gputax/profiles"
	"gputax/trainer"
)

// event is one of a trace, with what its kind must have.
type event struct {
	Ph   string   `json:"ph"`
	Name *string  `json:"name"`
	PID  *int     `json:"pid"`
	TID  *int     `json:"tid"`
	TS   *float64 `json:"ts"`
	Dur  *float64 `json:"dur"`
	ID   *int     `json:"id"`
	Cat  string   `json:"cat"`
	BP   string   `json:"bp"`
	Args map[string]any
}

type row struct{ pid, tid int }

// readTrace reads a trace and holds it to the trace-event format: what each
// kind of event must have, named tracks, slices that do not cross, flows in
// pairs that begin in a slice and end at one. It returns the events and the
// tracks' names.
func readTrace(t *testing.T, data []byte) ([]event, map[row]string) {
	t.Helper()
	var file struct {
		DisplayTimeUnit string            `json:"displayTimeUnit"`
		OtherData       map[string]string `json:"otherData"`
		TraceEvents     []event           `json:"traceEvents"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	if file.DisplayTimeUnit != "ns" || file.OtherData["source"] == "" {
		t.Errorf("header %q %v", file.DisplayTimeUnit, file.OtherData)
	}
	names, slicesOf := map[row]string{}, map[row][]event{}
	flows := map[int][]event{}
	for i, e := range file.TraceEvents {
		if err := checkEvent(e); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		at := row{*e.PID, *e.TID}
		switch e.Ph {
		case "M":
			if *e.Name == "thread_name" || *e.Name == "process_name" {
				if _, twice := names[at]; twice {
					t.Errorf("event %d names %v again", i, at)
				}
				names[at], _ = e.Args["name"].(string)
			}
		case "X":
			slicesOf[at] = append(slicesOf[at], e)
		case "s", "f":
			flows[*e.ID] = append(flows[*e.ID], e)
		}
		if names[at] == "" && e.Ph != "C" {
			t.Fatalf("event %d is on track %v, which has no name", i, at)
		}
	}
	for at, s := range slicesOf {
		checkNesting(t, names[at], s)
	}
	for id, f := range flows {
		if len(f) != 2 || f[0].Ph != "s" || f[1].Ph != "f" || *f[0].TS > *f[1].TS || f[1].BP != "e" {
			t.Fatalf("flow %d: %+v", id, f)
		}
		if !covered(slicesOf[row{*f[0].PID, *f[0].TID}], *f[0].TS) || !covered(slicesOf[row{*f[1].PID, *f[1].TID}], *f[1].TS) {
			t.Fatalf("flow %d does not go from a slice to a slice", id)
		}
	}
	return file.TraceEvents, names
}

func checkEvent(e event) error {
	if e.Name == nil || *e.Name == "" || e.PID == nil || e.TID == nil {
		return fmt.Errorf("%q has no name, process or thread", e.Ph)
	}
	want := map[string]bool{"ts": e.Ph != "M", "dur": e.Ph == "X", "id": e.Ph == "s" || e.Ph == "f", "cat": e.Ph == "s" || e.Ph == "f", "args": e.Ph == "M" || e.Ph == "C"}
	got := map[string]bool{"ts": e.TS != nil && *e.TS >= 0, "dur": e.Dur != nil && *e.Dur >= 0, "id": e.ID != nil, "cat": e.Cat != "", "args": len(e.Args) > 0}
	for field, must := range want {
		if must && !got[field] {
			return fmt.Errorf("%q %q has no %s", e.Ph, *e.Name, field)
		}
	}
	if !strings.Contains("MXsfC", e.Ph) {
		return fmt.Errorf("kind %q", e.Ph)
	}
	return nil
}

// checkNesting refuses slices of one track that overlap without one holding the
// other; viewers cannot draw them.
func checkNesting(t *testing.T, track string, all []event) {
	t.Helper()
	slices.SortStableFunc(all, func(a, b event) int {
		if *a.TS != *b.TS {
			return cmpFloat(*a.TS, *b.TS)
		}
		return cmpFloat(*b.Dur, *a.Dur)
	})
	const round = 1e-6 // of microseconds
	var open []float64 // ends
	for _, e := range all {
		for len(open) > 0 && open[len(open)-1] <= *e.TS+round {
			open = open[:len(open)-1]
		}
		end := *e.TS + *e.Dur
		if len(open) > 0 && end > open[len(open)-1]+round {
			t.Fatalf("%s: %s at %v crosses the end of what it is in", track, *e.Name, *e.TS)
		}
		open = append(open, end)
	}
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func covered(all []event, ts float64) bool {
	return slices.ContainsFunc(all, func(e event) bool { return *e.TS-1e-6 <= ts && ts <= *e.TS+*e.Dur+1e-6 })
}

// Every variant's trace holds to the format, on the virtual clock and on a real
// one.
func TestTraceFormat(t *testing.T) {
	for _, v := range trainer.Variants {
		if v.Name == "gorgonia" || strings.HasPrefix(v.Name, "batch") {
			continue
		}
		for _, dev := range []device.Device{host.New(), simulated(t)} {
			t.Run(v.Name+"/"+dev.Name(), func(t *testing.T) {
				r, _ := capture(t, dev, v.Name, profiles.CaptureOptions{})
				var out bytes.Buffer
				if _, err := r.WriteTrace(&out, 500); err != nil {
					t.Fatal(err)
				}
				readTrace(t, out.Bytes())
			})
		}
	}
}

func TestTraceTracks(t *testing.T) {
	for _, c := range []struct {
		variant string
		want    []string
	}{
		{"cpu_loop", []string{"host", "steps", "phases", "calls, thread 0", "device, sim:h200", "stream 0", "copies h2d, stream 0", "copies d2h, stream 0"}},
		{"pinned_async", []string{"host", "steps", "phases", "calls, thread 0", "device, sim:h200", "stream 0", "copies h2d, stream 0", "copies d2h, stream 0", "copies h2d, stream 1"}},
	} {
		r, _ := capture(t, simulated(t), c.variant, profiles.CaptureOptions{})
		var out bytes.Buffer
		left, err := r.WriteTrace(&out, 0)
		if err != nil || left != 0 {
			t.Fatalf("%d ops left out, error %v", left, err)
		}
		events, names := readTrace(t, out.Bytes())
		got := map[string]bool{}
		for _, name := range names {
			got[name] = true
		}
		for _, name := range c.want {
			if !got[name] {
				t.Errorf("%s: no track %q among %v", c.variant, name, names)
			}
			delete(got, name)
		}
		if len(got) > 0 {
			t.Errorf("%s: tracks %v besides", c.variant, got)
		}
		count := map[string]int{}
		for _, e := range events {
			switch e.Ph {
			case "C":
				count[*e.Name]++
			case "X":
				count[names[row{*e.PID, *e.TID}]]++
			case "s":
				count["flows"]++
			}
		}
		ops := r.Ops.Len()
		if count["flows"] != ops || count["steps"] != 3 || count["phases"] < 20 || count["calls, thread 0"] != r.Calls.Len() {
			t.Errorf("%s: %d ops, and in the trace %v", c.variant, ops, count)
		}
		for _, counter := range []string{"kernels a ms", "bytes copied a ms", "ops issued and not done"} {
			if count[counter] == 0 {
				t.Errorf("%s: no counter track %q", c.variant, counter)
			}
		}
	}
}

// A graph has one arrow, to its first node.
func TestTraceGraph(t *testing.T) {
	r, rec := capture(t, simulated(t), "fastest", profiles.CaptureOptions{})
	var out bytes.Buffer
	if _, err := r.WriteTrace(&out, 0); err != nil {
		t.Fatal(err)
	}
	flows := 0
	events, _ := readTrace(t, out.Bytes())
	for _, e := range events {
		if e.Ph == "s" {
			flows++
		}
	}
	c := rec.Counters()
	if want := c[device.GraphLaunches] + c[device.UploadCopies] + c[device.DownloadCopies]; int64(flows) != want {
		t.Errorf("%d arrows, want %d", flows, want)
	}
}

// What does not fit is left out from some time on, and counted.
func TestTraceLimit(t *testing.T) {
	r, _ := capture(t, simulated(t), "cpu_loop", profiles.CaptureOptions{})
	var out bytes.Buffer
	left, err := r.WriteTrace(&out, 100)
	if err != nil || left != r.Ops.Len()-100 {
		t.Fatalf("%d of %d left out, error %v", left, r.Ops.Len(), err)
	}
	ops := 0
	events, names := readTrace(t, out.Bytes())
	for _, e := range events {
		if name := names[row{*e.PID, *e.TID}]; e.Ph == "X" && (strings.HasPrefix(name, "stream") || strings.HasPrefix(name, "copies")) {
			ops++
		}
	}
	if ops != 100 || !strings.Contains(out.String(), fmt.Sprintf("%d ops at the end", left)) {
		t.Errorf("%d ops are in it", ops)
	}
}

// As many are left out as it says, also where several begin together.
func TestTraceLimitTogether(t *testing.T) {
	r := &profiles.Recording{End: 100}
	for range 3 {
		r.Ops.Add(profiles.Op{Name: r.Names.ID("k"), Call: -1, Detail: -1, Start: 50, Dur: 10})
	}
	var out bytes.Buffer
	left, err := r.WriteTrace(&out, 2)
	if got := strings.Count(out.String(), `"name":"k"`); err != nil || left != 1 || got != 2 {
		t.Errorf("%d ops are in it, %d left out, error %v", got, left, err)
	}
}

// Counter tracks have the rates and the depth of the queue.
func TestTraceCounters(t *testing.T) {
	var out bytes.Buffer
	if _, err := handmade().WriteTrace(&out, 0); err != nil {
		t.Fatal(err)
	}
	most := map[string]float64{}
	events, _ := readTrace(t, out.Bytes())
	for _, e := range events {
		if e.Ph == "C" {
			most[*e.Name] = max(most[*e.Name], e.Args["value"].(float64))
		}
	}
	// Points are 8 ns apart: one kernel in one is 125,000 a millisecond, and the
	// graph's three nodes are issued together.
	want := map[string]float64{"kernels a ms": 125_000, "bytes copied a ms": 64 * 125_000, "ops issued and not done": 3}
	if fmt.Sprint(most) != fmt.Sprint(want) {
		t.Errorf("at most %v, want %v", most, want)
	}
}
