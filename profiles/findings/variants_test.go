package findings_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"gputax/device"
	"gputax/device/sim"
	"gputax/profiles"
	"gputax/profiles/findings"
	"gputax/trainer"
)

// slow is a variant, the one it would be without what makes it slow, and the
// findings of which one must say so: by growing most from the one to the other.
type slow struct {
	variant, without string
	want             []string
	top              bool // one of them must be the dearest of all, too
	on               string
}

// slowVariants is the story, variant by variant. Those that are slow on one
// device alone say on which: on the H200 loading, collating and blocking uploads
// are hidden behind the kernels, and on the A6000 of the write-ups products are nothing beside
// their launches.
var slowVariants = []slow{
	{"gpu_per_route", "cpu_loop", []string{"launch_bound", "below_crossover"}, true, ""},
	{"gpu_per_route_item", "gpu_per_route", []string{"sync_per_item"}, false, ""},
	{"gpu_padded", "cpu_loop", []string{"padding"}, true, ""},
	{"gpu_per_route_dup", "gpu_per_route", []string{"duplicate_computation"}, true, ""},
	{"transfer_all", "cpu_loop", []string{"round_trip", "tiny_copies"}, true, ""},
	{"embed_per_token", "embed_vectorized", []string{"tensor_per_item", "repeated_upload"}, true, ""},
	{"collate_append", "collate_prealloc", []string{"collate_reallocates"}, false, "a6000-pytorch"},
	{"loader_w0", "loader_w4", []string{"loader_starvation"}, false, "a6000-pytorch"},
	{"cpu_loop", "pinned_async", []string{"pageable_copies", "implicit_sync"}, false, "a6000-pytorch"},
	{"gpu_fused", "graph", []string{"graph_candidate", "launch_bound"}, true, ""},
	{"cpu_loop", "tf32", []string{"tensor_cores_unused"}, false, "h200"},
}

// slowBy is how much longer an epoch must be to be slow.
const slowBy = 0.01

// Each slow variant gets the finding of its write-up, at a price that is what
// it costs; and fastest gets none above a twentieth of its epoch.
func TestVariants(t *testing.T) {
	for _, name := range []string{"h200", "a6000-pytorch"} {
		p, err := profiles.Device(name)
		if err != nil {
			t.Fatal(err)
		}
		reports := reportsOf(t, p)
		for _, s := range slowVariants {
			t.Run(fmt.Sprintf("%s/%s-%s", name, s.variant, s.without), func(t *testing.T) { s.check(t, name, reports) })
		}
		for _, f := range reports["fastest"].Findings {
			if f.Share > 0.05 {
				t.Errorf("%s: fastest: %s: %.1f%%", name, f.Title, 100*f.Share)
			}
		}
	}
}

func (s slow) check(t *testing.T, dev string, reports map[string]*findings.Report) {
	with, without := reports[s.variant], reports[s.without]
	costs := with.Epoch - without.Epoch
	isSlow := float64(costs) >= slowBy*float64(without.Epoch)
	if want := s.on == "" || s.on == dev; isSlow != want {
		t.Fatalf("it takes %d ns, and %d without: slow %v, want %v", with.Epoch, without.Epoch, isSlow, want)
	}
	if !isSlow {
		return
	}
	grown := slices.Clone(with.Findings)
	for i := range grown {
		grown[i].Price -= priceOf(without, grown[i].Rule)
	}
	slices.SortStableFunc(grown, func(x, y findings.Finding) int { return cmp.Compare(y.Price, x.Price) })
	if len(grown) == 0 || !slices.Contains(s.want, grown[0].Rule) {
		t.Fatalf("want %s first, got %s", strings.Join(s.want, " or "), list(grown))
	}
	if ratio := float64(grown[0].Price) / float64(costs); ratio < 0.6 || ratio > 1.05 {
		t.Errorf("%s is priced at %d ns; it costs %d", grown[0].Rule, grown[0].Price, costs)
	}
	if s.top && !slices.Contains(s.want, with.Findings[0].Rule) {
		t.Errorf("want %s as the dearest, got %s", strings.Join(s.want, " or "), list(with.Findings))
	}
	for _, f := range with.Findings {
		if f.Price < 0 || f.Price > with.Epoch {
			t.Errorf("%s costs %d of %d ns", f.Rule, f.Price, with.Epoch)
		}
	}
}

func priceOf(r *findings.Report, rule string) int64 {
	for _, f := range r.Findings {
		if f.Rule == rule {
			return f.Price
		}
	}
	return 0
}

func list(all []findings.Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "\n  %12d ns  %s", f.Price, f.Rule)
	}
	return b.String()
}

// reportsOf is the report of every variant of the table on a simulated device.
// Several names stand for the same factors; these are run once.
func reportsOf(t *testing.T, p *sim.Profile) map[string]*findings.Report {
	names := []string{"fastest"}
	for _, s := range slowVariants {
		names = append(names, s.variant, s.without)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var wait sync.WaitGroup
	var mu sync.Mutex
	begun, reports, all := map[trainer.Factors]bool{}, map[trainer.Factors]*findings.Report{}, map[string]*findings.Report{}
	workers := make(chan struct{}, 2)
	for _, name := range names {
		f := factorsOf(t, name)
		if begun[f] {
			continue
		}
		begun[f] = true
		wait.Go(func() {
			workers <- struct{}{}
			defer func() { <-workers }()
			rec, err := captured(p, f, slices.Contains(byContent, name))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			r := findings.Run(rec, p)
			mu.Lock()
			defer mu.Unlock()
			reports[f] = r
		})
	}
	wait.Wait()
	for _, name := range names {
		if all[name] = reports[factorsOf(t, name)]; all[name] == nil {
			t.FailNow()
		}
	}
	return all
}

func factorsOf(t *testing.T, name string) trainer.Factors {
	t.Helper()
	v, err := trainer.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := v.Factors()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// byContent is the variants whose finding needs contents, and the one that must
// have none of them. Hashing takes as long as all the rest.
var byContent = []string{"gpu_per_route_dup", "transfer_all", "embed_per_token", "fastest"}

// captured is two steps of a variant with the reference workload, and the
// statistics after them.
func captured(p *sim.Profile, f trainer.Factors, contents bool) (*profiles.Recording, error) {
	opt := trainer.Tiny()
	opt.Epoch = 2 * f.Batch
	var tr *trainer.Trainer
	setup := func(rec *device.Recorder) (err error) {
		if tr, err = trainer.New(rec, opt, f); err != nil || f.Workers == 0 {
			return err
		}
		return tr.Step() // workers begin when first asked
	}
	recorded := profiles.CaptureOptions{Setup: setup, Contents: contents}
	rec, err := profiles.Capture(context.Background(), sim.New(p), recorded, func(*device.Recorder) error {
		_, err := tr.Epoch()
		return err
	})
	if err != nil {
		return nil, err
	}
	return rec, tr.Close()
}
