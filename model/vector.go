package model

// dot is the sum of x[i]*y[i]: four sums of every fourth product, added in
// pairs.
func dot(x, y []float32) float32 {
	y = y[:len(x)]
	var s0, s1, s2, s3 float32
	for len(x) >= 4 && len(y) >= 4 {
		s0 += float32(x[0] * y[0])
		s1 += float32(x[1] * y[1])
		s2 += float32(x[2] * y[2])
		s3 += float32(x[3] * y[3])
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		s0 += float32(v * y[i])
	}
	return (s0 + s1) + (s2 + s3)
}

// addScaled is dst[i] += x[i]*s.
func addScaled(dst, x []float32, s float32) {
	x = x[:len(dst)]
	for len(dst) >= 4 && len(x) >= 4 {
		dst[0] += float32(x[0] * s)
		dst[1] += float32(x[1] * s)
		dst[2] += float32(x[2] * s)
		dst[3] += float32(x[3] * s)
		dst, x = dst[4:], x[4:]
	}
	for i, v := range x {
		dst[i] += float32(v * s)
	}
}
