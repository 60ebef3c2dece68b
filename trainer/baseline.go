package trainer

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Challenge is how the policy did against the baseline on fresh instances.
type Challenge struct {
	Policy, Baseline float64 // mean greedy costs
	P                float64 // of a difference like this if the policy were no better
	Replaced         bool
}

// significance is the P under which the policy takes the baseline's place.
const significance = 0.05

// evaluationSeed and challengeSeed draw instances that no training seed does:
// training seeds are XORed into the latter.
const (
	evaluationSeed = 0x67707574_65737430
	challengeSeed  = 0x67707574_62617365
)

// Challenge compares greedy routes of policy and baseline on count fresh
// instances by a paired one-sided t-test, and makes the policy the new baseline
// where it is better at the 5% level. The instances depend on the seed and the
// number of steps done, so a resumed run draws the same.
func (t *Trainer) Challenge(e *Evaluator, count int) (Challenge, error) {
	var c Challenge
	seed, first := t.opt.Seed^challengeSeed, t.steps*uint64(count)
	policy, err := e.Greedy(t.params, seed, first, count)
	if err != nil {
		return c, err
	}
	baseline, err := e.Greedy(t.baseline, seed, first, count)
	if err != nil {
		return c, err
	}
	c.Policy, c.Baseline, c.P = pairedTest(policy, baseline)
	if c.Replaced = c.P < significance; c.Replaced {
		err = copyWords(t.rec, t.baseline, t.params)
	}
	return c, err
}

// pairedTest is the means of a and b, and the one-sided p-value of a being
// less by a paired t-test.
func pairedTest(a, b []float32) (meanA, meanB, p float64) {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = float64(a[i]) - float64(b[i])
		meanA += float64(a[i]) / float64(len(a))
		meanB += float64(b[i]) / float64(len(b))
	}
	n := float64(len(d))
	mean, sd := stat.MeanStdDev(d, nil)
	if !(sd > 0) { // all differences equal, or too few: no evidence
		return meanA, meanB, 1
	}
	return meanA, meanB, distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.CDF(mean / sd * math.Sqrt(n))
}

// MeanError is the mean of costs and its standard error.
func MeanError(costs []float32) (mean, err float64) {
	x := make([]float64, len(costs))
	for i, c := range costs {
		x[i] = float64(c)
	}
	mean, sd := stat.MeanStdDev(x, nil)
	return mean, sd / math.Sqrt(float64(len(x)))
}

// TestSet is the fixed set that eval uses, as a seed for Greedy and Best.
const TestSet uint64 = evaluationSeed
