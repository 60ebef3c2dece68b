//go:build cu

package transfer

import (
	"errors"
	"testing"

	"gorgonia.org/cu"

	"gputax/device"
	"gputax/device/catalog"
	"gputax/profiles"
)

// TestObserveCu counts what gorgonia.org/cu does, which knows nothing of this
// project: exactly what it was told to.
func TestObserveCu(t *testing.T) {
	card, err := catalog.Open("cuda:0")
	if err != nil {
		t.Skipf("waits for a card: %v", err)
	}
	if err := card.Close(); err != nil {
		t.Fatal(err)
	}
	observer, err := profiles.NewObserver()
	if err != nil {
		t.Skipf("waits for CUPTI: %v", err)
	}
	d, err := newDirect()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}()
	for range 2 {
		seen, err := observer.Observe(func() error { return cuProgram(d) })
		if err != nil {
			t.Fatal(err)
		}
		var want device.Counters
		want[device.Launches] = 5 + 3
		want[device.Syncs] = 3 + 4 + 1 // launches, uploads, the last
		want[device.UploadCopies], want[device.UploadBytes] = 4, 4*matrixBytes
		want[device.DownloadCopies], want[device.DownloadBytes] = 2, 4+batchBytes
		want[device.PageableCopies] = 6
		want[device.Allocs], want[device.Frees] = 1, 1
		if seen.Counters != want || seen.Memsets != 2 || len(seen.Warnings) > 0 {
			t.Errorf("observed %v, %d memsets, warnings %q; want %v and 2", seen.Counters, seen.Memsets, seen.Warnings, want)
		}
	}
}

// cuProgram does a known number of everything.
func cuProgram(d *direct) (err error) {
	note := func(e error) { err = errors.Join(err, e) }
	for range 5 {
		note(d.launch())
	}
	for range 3 {
		note(d.launchSync())
	}
	src := make([]byte, matrixBytes)
	for range 4 {
		note(d.upload(src))
	}
	_, countErr := d.count()
	note(countErr)
	note(d.download(make([]byte, batchBytes)))
	p, allocErr := cu.MemAlloc(1000)
	note(allocErr)
	note(cu.MemsetD8(p, 1, 1000))
	note(cu.MemsetD8(p, 2, 500))
	note(d.flush())
	note(cu.MemFree(p))
	return err
}
