package findings

import (
	"cmp"
	"math"
	"strings"

	"gputax/profiles"
)

const (
	// productFlops is the least arithmetic for which matrix units pay.
	productFlops = 1 << 20
	// productIntensity is the flops a byte from which a kernel is taken for a
	// matrix product: attention over a dozen nodes has 3, a product of 128 by
	// 128 has 20.
	productIntensity = 16
	// productLikeness is how close in flops and bytes a known kernel must be.
	productLikeness = 0.05
	// tensorShare is the least share of the loop that products must take.
	tensorShare = 0.01
)

var tensorCores = Rule{
	Name:      "tensor_cores_unused",
	About:     "matrix products on the plain units: declared work of 16 flops a byte or more without tensor flops, or a gemm kernel whose name has no matrix instruction in it",
	Threshold: "products that take 1% of the loop",
	Pricing:   "their time beyond that of a known tensor-core kernel of the same arithmetic, or by the profile's two rates, as long as kernels are queued behind them",
	Advice:    "Allow TF32 (allow_tf32, set_float32_matmul_precision) or use half precision, where the result may round so.",
	Needs:     []profiles.Knowledge{profiles.DeviceTimes},
	check:     checkTensorCores,
}

func checkTensorCores(a *analysis) []Finding {
	var groups tallies[profiles.NameID]
	saved := shorter{a: a}
	for i, o := range a.rec.Ops.All() {
		if o.Kind != profiles.OpKernel || !a.opInLoop(o) || !a.plainProduct(o) {
			saved.op(int32(i), o, 0)
			continue
		}
		phase := a.opPhase(o)
		groups.at(phase, phase).add(a, o.Call, o.Name, 0, a.opTime[i].run)
		saved.op(int32(i), o, a.tensorSaves(o))
	}
	e := a.evidence(groups.all)
	if share(e.Time, a.loop) < tensorShare {
		return nil
	}
	f := Finding{Title: a.title("matrix products without tensor cores", &e, false), Price: saved.total(), Evidence: e}
	if a.p == nil || !a.rec.Knows(profiles.DeclaredWork) {
		f.Price, f.Unpriced, f.Likely = 0, "neither a profile nor declared work says what they would take", true
	}
	return []Finding{f}
}

// plainProduct says whether o is a matrix product on plain units.
func (a *analysis) plainProduct(o *profiles.Op) bool {
	if a.rec.Knows(profiles.DeclaredWork) {
		d := a.detail(o)
		return d != nil && d.TensorFlops == 0 && d.Flops >= productFlops && d.Flops >= productIntensity*d.MemBytes
	}
	name := strings.ToLower(a.rec.Names.Name(o.Name))
	if !strings.Contains(name, "gemm") {
		return false
	}
	for _, word := range matrixWords {
		if strings.Contains(name, word) {
			return false
		}
	}
	return true
}

// matrixWords are in the names of kernels of cuBLAS, CUTLASS and Triton that
// use matrix instructions: their types and shapes.
var matrixWords = []string{"tensorop", "tf32", "bf16", "f16", "fp16", "half", "hgemm", "s1688", "s16816", "h1688", "h16816", "s884", "h884",
	"i8816", "i16832", "gmma", "hmma", "imma", "wmma", "e4m3", "e5m2", "fp8", "int8"}

// tensorSaves is what a product would save on matrix units: by a known kernel
// that does as much on as many bytes, best one named after this, else the
// slowest, or else by the rates. Less than 0 is what it would lose.
func (a *analysis) tensorSaves(o *profiles.Op) int64 {
	d := a.detail(o)
	if d == nil || a.p == nil {
		return 0
	}
	var own, slowest float64
	name := a.rec.Names.Name(o.Name)
	for _, k := range a.p.Kernels {
		if k.TensorFlops > 0 && alike(k.TensorFlops, d.Flops) && alike(k.Bytes, d.MemBytes) {
			slowest = max(slowest, k.NS)
			if strings.HasPrefix(k.Symbol, name) {
				own = max(own, k.NS)
			}
		}
	}
	byRate := max(float64(o.Dur)*min(1, a.p.FlopsPerS/a.p.TensorPerS), a.p.KernelFloor)
	return o.Dur - ns(cmp.Or(own, slowest, byRate))
}

// alike says whether two amounts are as good as the same.
func alike(x, y int64) bool {
	return math.Abs(float64(x-y)) <= productLikeness*float64(max(x, y))
}
