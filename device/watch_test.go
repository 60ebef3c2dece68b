package device_test

import (
	"fmt"
	"reflect"
	"testing"

	"gputax/device"
	"gputax/device/host"
)

// watcher notes what it is told, and its syncs.
type watcher struct {
	device.Device
	told []string
}

func (w *watcher) say(format string, args ...any) {
	w.told = append(w.told, fmt.Sprintf(format, args...))
}

func (w *watcher) EnterPhase(name string)     { w.say("phase %s", name) }
func (w *watcher) EnterStep(n int)            { w.say("step %d", n) }
func (w *watcher) Padded(useful, total int64) { w.say("padded %d of %d", useful, total) }
func (w *watcher) Draining(on bool)           { w.say("draining %v", on) }
func (w *watcher) Sync(s device.Stream) error { w.say("sync %d", s); return w.Device.Sync(s) }

func TestWatcher(t *testing.T) {
	w := &watcher{Device: host.New()}
	r := device.NewRecorder(w)
	r.Phase("a")
	r.Step()
	r.Phase(r.Phase("b"))
	r.Padded(3, 5)
	r.Step()
	b, err := r.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Launch(0, &device.Kernel{Symbol: "k", Params: []device.Param{{Name: "x"}}, Body: func(device.Args) {}}, device.Buf(b)); err != nil {
		t.Fatal(err)
	}
	if err := r.Drain(); err != nil {
		t.Fatal(err)
	}
	if err := r.Sync(0); err != nil {
		t.Fatal(err)
	}
	r.EndStep()
	r.Reset()
	r.Step()
	want := []string{"phase a", "step 0", "phase b", "phase a", "padded 3 of 5", "step 1",
		"draining true", "sync 0", "draining false", "sync 0", "step -1", "step 0"}
	if !reflect.DeepEqual(w.told, want) {
		t.Errorf("told %q, want %q", w.told, want)
	}
}

func TestPlace(t *testing.T) {
	r := device.NewRecorder(host.New())
	b, err := r.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	whole, at0 := b.Place()
	part, at8 := b.Slice(8, 8).Place()
	if whole == nil || part != whole || at0 != 0 || at8 != 8 {
		t.Errorf("places %p %d and %p %d", whole, at0, part, at8)
	}
	if block, _ := (device.Buffer{}).Place(); block != nil {
		t.Error("an empty buffer is somewhere")
	}
}
