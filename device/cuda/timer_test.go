package cuda

import (
	"testing"
	"time"
)

func TestTimer(t *testing.T) {
	f := newFake()
	d, err := f.driver().open(0)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.StartTimer(); err != nil {
			t.Fatal(err)
		}
		if took, err := d.StopTimer(); err != nil || took != 1500*time.Microsecond {
			t.Errorf("the device took %v, %v; the events are 1.5 ms apart", took, err)
		}
	}
	f.fails["eventElapsedTime"] = 719
	if _, err := d.StopTimer(); err == nil {
		t.Error("a failing clock was not noticed")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	f.isEmpty(t)
}
