package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// Median is the profile whose every constant and kernel time is the median of
// those of several profiles of the same hardware. How long a launch takes
// differs from process to process by a third, and stays the same within one, so
// a profile that is to hold for the next process is made of several.
func Median(profiles ...*Profile) (*Profile, error) {
	if len(profiles) == 0 {
		return nil, fmt.Errorf("sim: the median of no profiles")
	}
	first := profiles[0]
	m := &Profile{Name: first.Name, About: first.About, Status: first.Status, From: map[string]string{}}
	for _, p := range profiles {
		if p.About != first.About || p.Status != first.Status {
			return nil, fmt.Errorf("sim: the median of profiles of different devices: %q, %s, and %q, %s", first.About, first.Status, p.About, p.Status)
		}
	}
	for _, f := range fields {
		sorted := slices.SortedFunc(slices.Values(profiles), func(a, b *Profile) int { return cmp.Compare(*f.at(a), *f.at(b)) })
		least, middle, most := sorted[0], sorted[len(sorted)/2], sorted[len(sorted)-1]
		*f.at(m) = *f.at(middle)
		m.From[f.name] = middle.From[f.name]
		if *f.at(least) != *f.at(most) {
			m.From[f.name] += fmt.Sprintf("; the median of %d processes, %.6g to %.6g", len(profiles), *f.at(least), *f.at(most))
		}
	}
	times := map[KernelTime][]float64{}
	for _, p := range profiles {
		for _, k := range p.Kernels {
			kind := k
			kind.NS = 0
			times[kind] = append(times[kind], k.NS)
		}
	}
	for kind, all := range times {
		slices.Sort(all)
		kind.NS = all[len(all)/2]
		m.Kernels = append(m.Kernels, kind)
	}
	SortKernels(m.Kernels)
	return m, nil
}

// SortKernels puts kernel times in the order profiles are written in: by
// symbol, and then by work.
func SortKernels(kernels []KernelTime) {
	slices.SortFunc(kernels, func(a, b KernelTime) int {
		return cmp.Or(cmp.Compare(a.Symbol, b.Symbol), cmp.Compare(a.Flops+a.TensorFlops+a.Bytes, b.Flops+b.TensorFlops+b.Bytes),
			cmp.Compare(a.Flops, b.Flops), cmp.Compare(a.TensorFlops, b.TensorFlops), cmp.Compare(a.Bytes, b.Bytes))
	})
}
