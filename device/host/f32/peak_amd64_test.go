package f32

func peaks() []*peak {
	var list []*peak
	if avx512.usable {
		list = append(list, &peak{"avx512", 16, peakAVX512})
	}
	if avx2.usable {
		list = append(list, &peak{"avx2", 8, peakAVX2})
	}
	return list
}
