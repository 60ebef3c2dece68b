package main

// Constants of the exponential and the hyperbolic tangent; package f32 declares the same, and its tests compare the
// two to the bit.
const (
	expLow    = -103.9720916748046875
	expHigh   = 89
	log2e     = 1.44269502162933349609375
	rounder   = 3 << 22
	ln2High   = 0.693145751953125
	ln2Low    = 1.42860677465796470642e-6
	tanhSmall = 0.625
)

var (
	expPoly  = []float32{0.5, 0.166665763, 0.0416665561, 0.00836320315, 0.00139262131}
	tanhPoly = []float32{-0.333333343, 0.133333042, -0.0539592579, 0.0217689183, -0.00834394526, 0.00229274482}
)
