package sim

import (
	"cmp"
	"math"
	"slices"

	"gputax/device"
)

// kernelTimes is known launches by kernel, each kernel's from little work to
// much.
type kernelTimes map[string][]KernelTime

func newKernelTimes(list []KernelTime) kernelTimes {
	times := kernelTimes{}
	for _, k := range list {
		times[k.Symbol] = append(times[k.Symbol], k)
	}
	for _, known := range times {
		slices.SortFunc(known, func(a, b KernelTime) int {
			return cmp.Or(cmp.Compare(a.Flops+a.TensorFlops, b.Flops+b.TensorFlops), cmp.Compare(a.Bytes, b.Bytes))
		})
	}
	return times
}

// of is the time of a launch of a kernel with that work, by the known launch
// nearest to it; ok is false where none is known.
func (t kernelTimes) of(symbol string, w device.Work) (ns int64, ok bool) {
	known := t[symbol]
	if len(known) == 0 {
		return 0, false
	}
	flops, bytes := w.Flops+w.TensorFlops, w.ReadBytes+w.WriteBytes
	best, near := 0, math.Inf(1)
	for i, k := range known {
		if d := apart(flops, k.Flops+k.TensorFlops) + apart(bytes, k.Bytes); d < near {
			best, near = i, d
		}
	}
	k := known[best]
	if near == 0 {
		return int64(math.Round(k.NS)), true
	}
	more := max(share(flops, k.Flops+k.TensorFlops), share(bytes, k.Bytes))
	return int64(math.Round(k.NS * more)), true
}

// apart is how far two amounts of work are from each other, by their ratio.
func apart(a, b int64) float64 {
	return math.Abs(float64(a-b)) / float64(max(a, b, 1))
}

// share is a over b, 0 where there is neither.
func share(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
