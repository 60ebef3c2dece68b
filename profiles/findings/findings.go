// Package findings says what a recording shows to be wrong, what it costs, and
// what to do about it.
//
//  1. Run charges every nanosecond of the recording to one cause: a kernel ran;
//     or else a copy did; or else the device was idle, and the host was in some
//     call or between two.
//  2. Each of Rules looks for one pattern in the calls and ops, and prices it:
//     by the device profile, and by no more than was charged to it.
//  3. The Report ranks what they found by price. Rules that need what the
//     recording's source cannot see are listed as skipped, with the reason.
//
// A price is the time that the recorded window would be shorter by if the
// advice were followed. Several rules may price the same calls (128 small
// copies are too many, and they may also be a round trip), so prices do not add
// up. What happens outside of steps, where steps are known, is set-up and
// statistics: it counts towards the epoch and no rule looks at it.
package findings

import (
	"cmp"
	"slices"

	"gputax/device/sim"
	"gputax/profiles"
)

// Report is what the rules found.
type Report struct {
	Source string `json:"source"`   // who saw the run
	Prices string `json:"prices"`   // where they come from: a device profile, or the recording
	Epoch  int64  `json:"epoch_ns"` // the recorded window
	Steps  int    `json:"steps"`    // in it; 0 where the source knows none
	Time   Split  `json:"time"`     // where the window went

	Findings []Finding `json:"findings"` // the dearest first, those without a price last
	Skipped  []Skipped `json:"skipped"`  // rules that could not look
	Warnings []string  `json:"warnings"` // what the recording warns of
}

// Finding is one rule that fired.
type Finding struct {
	Rule     string   `json:"rule"`
	Title    string   `json:"title"`
	Evidence Evidence `json:"evidence"`
	Price    int64    `json:"price_ns"`                     // of the recorded window; 0 where Unpriced says why
	PerStep  int64    `json:"price_ns_per_step"`            // the same, by step; 0 where no steps are known
	PerEpoch int64    `json:"price_ns_per_epoch,omitempty"` // and by epoch; 0 where nobody said how many steps one has
	Share    float64  `json:"share"`                        // Price over Report.Epoch
	Unpriced string   `json:"unpriced,omitempty"`
	Advice   string   `json:"advice"`
	Likely   bool     `json:"likely"` // inferred, not proven
}

// Evidence is what a rule saw. The first place is the dearest.
type Evidence struct {
	Count  int64    `json:"count"`           // calls or ops
	Bytes  int64    `json:"bytes,omitempty"` // that they moved
	Time   int64    `json:"time_ns"`         // of the window that was charged to them
	Names  []string `json:"names,omitempty"` // of kernels, copies or calls, the most frequent first
	Places []Place  `json:"places"`
	Note   string   `json:"note,omitempty"` // what else was seen
}

// Place is a part of the evidence: that of one phase.
type Place struct {
	Phase string `json:"phase"`
	Site  string `json:"site,omitempty"` // where the program made the first of the calls
	Step  int32  `json:"step"`           // of that call; -1 outside of steps
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes,omitempty"`
	Time  int64  `json:"time_ns"`
}

// Skipped is a rule that could not look.
type Skipped struct {
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// Rule is one pattern.
type Rule struct {
	Name      string
	About     string // what it sees
	Threshold string // from where on
	Pricing   string // what its price is
	Advice    string
	Needs     []profiles.Knowledge
	// NeedsProfile says that the rule cannot look without a device profile.
	NeedsProfile bool
	// OnHost says that it also makes sense where kernels run on the host's own
	// CPU, and launches, copies and waits are plain calls.
	OnHost bool
	// blind says why it cannot look, where only the recording's events tell; nil
	// for most.
	blind func(*analysis) string
	check func(*analysis) []Finding
}

// least is the smallest share of the window that is worth a line: under a
// twentieth of a percent nothing could measure the difference.
const least = 0.0005

// Run looks at rec with every rule. Without a device profile p prices come from
// the times recorded, where that can be; for a run of other software than the
// profile was measured with, recorded times are the better prices. Rec must be
// valid (CheckValid). A million calls take under a second and 50 MB.
func Run(rec *profiles.Recording, p *sim.Profile) *Report {
	a := analyse(rec, p)
	r := &Report{Source: rec.Source.Name, Prices: "the recorded times", Epoch: a.epoch, Steps: len(rec.Steps),
		Time: a.split, Warnings: rec.Warnings}
	if p != nil {
		r.Prices = "device profile " + p.Name
	}
	for _, rule := range Rules {
		if why := a.cannot(rule); why != "" {
			r.Skipped = append(r.Skipped, Skipped{rule.Name, why})
			continue
		}
		for _, f := range rule.check(a) {
			if f.Unpriced == "" && float64(f.Price) < least*float64(a.epoch) || f.Price < 0 {
				continue
			}
			f.Rule = rule.Name
			f.Advice = cmp.Or(f.Advice, rule.Advice)
			f.Share = share(f.Price, a.epoch)
			if len(rec.Steps) > 0 {
				f.PerStep = f.Price / int64(len(rec.Steps))
				f.PerEpoch = int64(float64(f.Price) * float64(rec.EpochSteps) / float64(len(rec.Steps)))
			}
			r.Findings = append(r.Findings, f)
		}
	}
	slices.SortStableFunc(r.Findings, func(x, y Finding) int { return cmp.Compare(y.Price, x.Price) })
	return r
}

// onHost is the source of recordings whose kernels ran on the CPU.
const onHost = "host"

// cannot says why a rule cannot look; "" where it can.
func (a *analysis) cannot(rule Rule) string {
	if a.rec.Source.Name == onHost && !rule.OnHost {
		return "kernels ran on the host's own CPU: nothing is launched, copied or waited for there"
	}
	for _, k := range rule.Needs {
		if why, unseen := a.rec.Source.Unseen[k]; unseen {
			return cmp.Or(why, "the source does not see it")
		}
	}
	if rule.NeedsProfile && a.p == nil {
		return "it needs a device profile to price by, and none was given"
	}
	if rule.blind != nil {
		return rule.blind(a)
	}
	return ""
}

// share is a over b, 0 where there is no b.
func share(a, b int64) float64 {
	if b <= 0 {
		return 0
	}
	return float64(a) / float64(b)
}
