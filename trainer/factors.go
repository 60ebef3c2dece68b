package trainer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gputax/cost"
	"gputax/model"
)

// Factors are the switches that variants differ in. Each can be set by itself;
// whatever is set, the result of training is the same.
type Factors struct {
	Batch    int    // instances a step
	Cost     string // how route costs are computed: a variant of package cost, or device
	Dup      int    // how many times over
	Dist     string // where the distance matrices go
	Upload   string // how the model's inputs go to the device
	Embed    string // how token embeddings are created
	Layers   string // how the encoder's layers run
	Rollout  string // how routes are decoded
	Collate  string // how instances become a batch
	Load     string // where instances are drawn
	Workers  int    // loader goroutines; 0 makes instances in the step itself
	Prefetch int    // batches made ahead
	Graph    bool   // the step is captured once and replayed
	TF32     bool   // matrix products may use the matrix units
	Engine   string // what computes the loss and its gradient
}

// DefaultFactors are those of cpu_loop.
func DefaultFactors() Factors {
	return Factors{Batch: 128, Cost: "loop", Dup: 1, Dist: "keep", Upload: "pageable", Embed: "vectorized",
		Layers: "parts", Rollout: "steps", Collate: "prealloc", Load: "host", Engine: "kernels"}
}

// Factor describes one of Factors.
type Factor struct {
	Key    string
	About  string
	Values []string // what it can be; empty for a number
	word   func(*Factors) *string
	number func(*Factors) *int
	yesNo  func(*Factors) *bool
	least  int // of a number
}

// onDevice is the value of the factor cost that builds routes on the device
// and adds them up there, in one kernel.
const onDevice = "device"

// AllFactors is the table of factors.
var AllFactors = []Factor{
	{Key: "batch", About: "instances a step", number: func(f *Factors) *int { return &f.Batch }, least: 1},
	{Key: "cost", About: "how route costs are computed; device builds the routes there too", Values: append(cost.Names(), onDevice),
		word: func(f *Factors) *string { return &f.Cost }},
	{Key: "dup", About: "how many times over costs are computed", number: func(f *Factors) *int { return &f.Dup }, least: 1},
	{Key: "dist", About: "distance matrices: keep on the host unless the cost needs them, or send each by itself and back", Values: []string{"keep", "one_by_one"},
		word: func(f *Factors) *string { return &f.Dist }},
	{Key: "upload", About: "inputs: blocking copies, blocking from pinned memory, or overlapped with the step before", Values: []string{"pageable", "pinned", "async"},
		word: func(f *Factors) *string { return &f.Upload }},
	{Key: "embed", About: "token embeddings: all at once, by kind, or one small tensor a token", Values: []string{"vectorized", "hoisted", "per_token"},
		word: func(f *Factors) *string { return &f.Embed }},
	{Key: "layers", About: "encoder layers: seven kernels each and fourteen back, or one and two, which round differently", Values: []string{"parts", "fused"},
		word: func(f *Factors) *string { return &f.Layers }},
	{Key: "rollout", About: "decoding: seven kernels a step, or one kernel for all steps, which rounds differently", Values: []string{"steps", "fused"},
		word: func(f *Factors) *string { return &f.Rollout }},
	{Key: "collate", About: "batches: into one array, or by appending and stacking", Values: []string{"prealloc", "append"},
		word: func(f *Factors) *string { return &f.Collate }},
	{Key: "load", About: "instances: drawn on the host, or by a kernel where they are used", Values: []string{"host", "device"},
		word: func(f *Factors) *string { return &f.Load }},
	{Key: "workers", About: "loader goroutines; 0 loads in the step", number: func(f *Factors) *int { return &f.Workers }},
	{Key: "prefetch", About: "batches made ahead, where there are workers; 0 is one a worker", number: func(f *Factors) *int { return &f.Prefetch }},
	{Key: "graph", About: "capture the step once and replay it", Values: []string{"off", "on"}, yesNo: func(f *Factors) *bool { return &f.Graph }},
	{Key: "tf32", About: "tensor-core matrix products", Values: []string{"off", "on"}, yesNo: func(f *Factors) *bool { return &f.TF32 }},
	{Key: "engine", About: "what computes the loss and its gradient", Values: []string{"kernels", "gorgonia"},
		word: func(f *Factors) *string { return &f.Engine }},
}

// Set sets one factor from "key=value".
func (f *Factors) Set(setting string) error {
	key, value, ok := strings.Cut(setting, "=")
	i := slices.IndexFunc(AllFactors, func(d Factor) bool { return d.Key == key })
	if !ok || i < 0 {
		keys := make([]string, len(AllFactors))
		for i, d := range AllFactors {
			keys[i] = d.Key
		}
		return fmt.Errorf("trainer: no factor in %q; want KEY=VALUE, and the keys are %s", setting, strings.Join(keys, ", "))
	}
	d := AllFactors[i]
	if d.number != nil {
		n, err := strconv.Atoi(value)
		if err != nil || n < d.least || n > 1<<20 {
			return fmt.Errorf("trainer: factor %s: %q: want a number from %d to %d", key, value, d.least, 1<<20)
		}
		*d.number(f) = n
		return nil
	}
	if !slices.Contains(d.Values, value) {
		return fmt.Errorf("trainer: factor %s: %q: want %s", key, value, strings.Join(d.Values, ", "))
	}
	if d.yesNo != nil {
		*d.yesNo(f) = value == "on"
		return nil
	}
	*d.word(f) = value
	return nil
}

// String is every factor that is not cpu_loop's, as Set takes it.
func (f Factors) String() string {
	var set []string
	for _, d := range Differ(DefaultFactors(), f) {
		set = append(set, d.Key+"="+d.Value(f))
	}
	return strings.Join(set, " ")
}

// Value is what the factor is in f, as Set takes it.
func (d Factor) Value(f Factors) string {
	switch {
	case d.number != nil:
		return strconv.Itoa(*d.number(&f))
	case d.yesNo == nil:
		return *d.word(&f)
	case *d.yesNo(&f):
		return "on"
	}
	return "off"
}

// Differ is the factors in which a and b differ, in the order of AllFactors.
func Differ(a, b Factors) []Factor {
	var differ []Factor
	for _, d := range AllFactors {
		if d.Value(a) != d.Value(b) {
			differ = append(differ, d)
		}
	}
	return differ
}

// Validate refuses the few combinations that cannot run.
func (f Factors) Validate() error {
	switch {
	case f.Graph && f.Embed == "per_token":
		return fmt.Errorf("trainer: graph=on with embed=per_token: a tensor made for every token cannot be captured")
	case f.Graph && f.Engine != "kernels":
		return fmt.Errorf("trainer: graph=on with engine=%s: only the kernels' work can be captured", f.Engine)
	}
	return nil
}

// modelOptions is what the factors say about the model.
func (f Factors) modelOptions() model.Options {
	o := model.Options{TF32: f.TF32}
	for o.Embed.String() != f.Embed {
		o.Embed++
	}
	for o.Layers.String() != f.Layers {
		o.Layers++
	}
	for o.Rollout.String() != f.Rollout {
		o.Rollout++
	}
	return o
}

// rounds says whether a run with these factors rounds otherwise than cpu_loop
// on the same device.
func (f Factors) rounds() bool {
	return f.Engine != "kernels" || f.Layers != "parts" || f.Rollout != "steps"
}

// ahead is how many batches a loader with workers makes ahead.
func (f Factors) ahead() int {
	if f.Prefetch > 0 {
		return f.Prefetch
	}
	return f.Workers
}
