package transfer

import (
	"slices"
	"testing"

	"gputax/device"
	"gputax/device/catalog"
	"gputax/device/devicetest"
	"gputax/vrp"
)

func TestCompiled(t *testing.T) { devicetest.Compiled(t, "kernels.cu", tick) }

// Every variant, on the card.
func TestVariantsOnTheCard(t *testing.T) {
	card, err := catalog.Open("cuda:0")
	if err != nil {
		t.Skipf("waits for a card: %v", err)
	}
	defer card.Close()
	b, err := vrp.Generate(128, vrp.Sizes[0], 3)
	if err != nil {
		t.Fatal(err)
	}
	rec := device.NewRecorder(card)
	for _, v := range Moves {
		m, err := v.Open(rec, 128, vrp.Sizes[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Move(b); err != nil {
			t.Fatal(err)
		}
		got, err := m.Moved()
		if err != nil || got != nil && !slices.Equal(got, b.Dist) {
			t.Errorf("%s: the card holds something else (%v)", v.Name, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, v := range Launches {
		l, err := v.Open(rec, 100)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Launch(); err != nil {
			t.Fatal(err)
		}
		if n, err := l.Count(); n != 100 || err != nil {
			t.Errorf("%s: %d kernels ran (%v)", v.Name, n, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
