package model

// Words of the control buffer.
const (
	controlSeedLow = iota
	controlSeedHigh
	controlStep
	controlSpare
	controlWords
)

// uniform is a number in [0, 1) with 24 bits that depends on the seed and the
// step number in control, the instance and the decoding step, and on nothing
// else, so that any thread of any device can compute it.
func uniform(control []int32, instance, t int) float32 {
	h := mix(uint64(uint32(control[controlSeedHigh]))<<32 | uint64(uint32(control[controlSeedLow])))
	h = mix(h ^ uint64(uint32(control[controlStep])))
	h = mix(h ^ (uint64(uint32(instance))<<32 | uint64(uint32(t))))
	return float32(h>>40) / (1 << 24)
}

// mix is a bijection of 64 bits in which every bit of x changes half of the
// result's: an odd constant added, then two rounds of shift, xor and multiply.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// inverse is the first node whose cumulative probability exceeds u. Where
// rounding leaves the sum at u or below, it is the last possible node.
func inverse(probs []float32, u float32) int {
	var sum float32
	last := 0
	for j, p := range probs {
		if p > 0 {
			last = j
		}
		if sum += p; sum > u {
			return j
		}
	}
	return last
}

// largest is the index of the largest number, the lowest of equals.
func largest(x []float32) int {
	best := 0
	for j, v := range x {
		if v > x[best] {
			best = j
		}
	}
	return best
}
