package findings

import (
	"testing"

	"gputax/profiles"
)

func TestRoundTrip(t *testing.T) {
	// Each step sends and fetches pieces of 1,000 bytes, 11 us a copy, with
	// contents of its own.
	trips := func(n int, bytes int64, launched bool, change uint64) func(*builder) {
		return func(b *builder) {
			b.steps(2, func(step int) {
				content := func(i int) uint64 { return uint64(1 + step*1000 + i) }
				for i := range n {
					b.upload(bytes, content(i))
				}
				if launched {
					b.launch("k", 1000)
				}
				for i := range n {
					b.download(bytes, content(i)+change)
				}
			})
		}
	}
	testRule(t, roundTrip, []ruleCase{
		{"up and down at once", trips(3, 1000, false, 0), 6, 12 * 11_000},
		{"a kernel may have read it", trips(3, 1000, true, 0), 6, 6 * 11_000},
		{"changed on the device", trips(3, 1000, true, 500), 0, 0},
		{"a scalar that happens to be equal", trips(3, 8, false, 0), 0, 0},
		{"fetched in another step", func(b *builder) {
			b.steps(4, func(step int) {
				if step == 0 {
					b.upload(1000, 7)
				} else {
					b.launch("k", 1000)
					b.download(1000, 7)
				}
			})
		}, 0, 0},
		{"another buffer with the same contents", func(b *builder) {
			b.steps(2, func(int) {
				b.detail(b.upload(1000, 7)).Buffer = 1
				b.detail(b.download(1000, 7)).Buffer = 2
			})
		}, 0, 0},
	})
}

// The count is of what came back, and the bytes and times are of more: evidence
// says so.
func TestRoundTripEvidence(t *testing.T) {
	b := newBuilder()
	b.steps(2, func(step int) {
		b.upload(1000, uint64(step+1))
		b.download(1000, uint64(step+1))
	})
	e := b.find(t, roundTrip).Evidence
	if e.Count != 2 || e.Bytes != 4000 || e.Time != 4*11_000 || e.Note == "" {
		t.Errorf("evidence %+v", e)
	}
}

// Where contents are not seen, many copies of one size both ways are likely
// round trips.
func TestRoundTripBySize(t *testing.T) {
	for _, c := range []struct {
		name            string
		ups, downs      int
		upSize, dnSize  int64
		launched, fires bool
		price           int64
	}{
		{"as many back", 8, 8, 1000, 1000, false, true, 2 * 16 * 11_000},
		{"as many back, after a kernel", 8, 8, 1000, 1000, true, true, 2 * 8 * 11_000},
		{"a few", 7, 7, 1000, 1000, false, false, 0},
		{"of another size", 20, 20, 1000, 1004, false, false, 0},
		{"scalars", 20, 20, 8, 8, false, false, 0},
		{"more back than went", 8, 20, 1000, 1000, false, false, 0},
	} {
		b := newBuilder()
		b.rec.Source.Unseen[profiles.Contents] = "not seen"
		b.steps(2, func(int) {
			for range c.ups {
				b.upload(c.upSize, 0)
			}
			if c.launched {
				b.launch("k", 1000)
			}
			for range c.downs {
				b.download(c.dnSize, 0)
			}
		})
		f := b.find(t, roundTrip)
		if (f != nil) != c.fires || f != nil && (f.Price != c.price || !f.Likely) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
