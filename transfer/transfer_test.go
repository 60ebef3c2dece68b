package transfer

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gputax/device"
	"gputax/device/host"
	"gputax/vrp"
)

// Every variant that moves leaves exactly the batch on the device, batch after
// batch, and frees what it took.
func TestMovesMove(t *testing.T) {
	for _, v := range Moves {
		for _, batch := range []int{1, 3, 10, 128} {
			rec := device.NewRecorder(host.New())
			m, err := v.Open(rec, batch, vrp.Sizes[0])
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				b, err := vrp.Generate(batch, vrp.Sizes[0], rand.Uint64())
				if err != nil {
					t.Fatal(err)
				}
				if err := m.Move(b); err != nil {
					t.Fatal(err)
				}
				got, err := m.Moved()
				if err != nil {
					t.Fatal(err)
				}
				if v.Name != "keep_on_host" && !slices.Equal(got, b.Dist) {
					t.Errorf("%s: batch of %d: the device holds something else", v.Name, batch)
				}
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
			if c := rec.Counters(); c[device.Allocs] != c[device.Frees] {
				t.Errorf("%s: %d allocations, %d frees", v.Name, c[device.Allocs], c[device.Frees])
			}
		}
	}
}

func TestMoveCounters(t *testing.T) {
	const batch, bytes = 128, 128 * 11 * 11 * 4
	b, err := vrp.Generate(batch, vrp.Sizes[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]device.Counters{
		"keep_on_host": {},
		"one_by_one":   {device.UploadCopies: batch, device.UploadBytes: bytes, device.PageableCopies: batch},
		"round_trip": {device.UploadCopies: batch, device.UploadBytes: bytes, device.PageableCopies: 2 * batch,
			device.DownloadCopies: batch, device.DownloadBytes: bytes},
		"batched":        {device.UploadCopies: 1, device.UploadBytes: bytes, device.PageableCopies: 1},
		"batched_pinned": {device.UploadCopies: 1, device.UploadBytes: bytes},
		"pinned_async":   {device.UploadCopies: 4, device.UploadBytes: bytes, device.Syncs: 2},
	} {
		v, err := NamedMove(name)
		if err != nil {
			t.Fatal(err)
		}
		rec := device.NewRecorder(host.New())
		m, err := v.Open(rec, batch, vrp.Sizes[0])
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			rec.Reset()
			if err := m.Move(b); err != nil {
				t.Fatal(err)
			}
			if got := rec.Counters(); got != want {
				t.Errorf("%s: counted %v, want %v", name, got, want)
			}
			if err := rec.Drain(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestMoveRefusesOtherShapes(t *testing.T) {
	other, err := vrp.Generate(4, vrp.Sizes[1], 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Moves[1:] {
		m, err := v.Open(device.NewRecorder(host.New()), 4, vrp.Sizes[0])
		if err != nil {
			t.Fatal(err)
		}
		if m.Move(other) == nil {
			t.Errorf("%s: took N=20 where N=10 was announced", v.Name)
		}
	}
}

func TestLaunches(t *testing.T) {
	const n = 50
	for name, want := range map[string]device.Counters{
		"launch":      {device.Launches: n},
		"launch_sync": {device.Launches: n, device.Syncs: n},
		"graph":       {device.GraphLaunches: 1, device.GraphKernels: n},
		"streams":     {device.Launches: n},
	} {
		v, err := NamedLaunch(name)
		if err != nil {
			t.Fatal(err)
		}
		rec := device.NewRecorder(host.New())
		l, err := v.Open(rec, n)
		if err != nil {
			t.Fatal(err)
		}
		for round := range 3 {
			rec.Reset()
			if err := l.Launch(); err != nil {
				t.Fatal(err)
			}
			if got := rec.Counters(); got != want {
				t.Errorf("%s: counted %v, want %v", name, got, want)
			}
			ran, err := l.Count()
			if err != nil || ran != n*(round+1) {
				t.Errorf("%s: %d kernels ran after %d rounds of %d (%v)", name, ran, round+1, n, err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := openPlain(device.NewRecorder(host.New()), -1); err == nil {
		t.Error("took -1 launches")
	}
}
