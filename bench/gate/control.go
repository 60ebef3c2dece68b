package gate

import "time"

// Control is a fixed piece of work that is timed between runs. It is compiled
// into the gate, so both sides have the same one: where its time moves, the
// machine moved, not the code.
type Control struct {
	memory []uint64
	sink   uint64
}

// NewControl makes a control with its memory, 1 MiB, touched.
func NewControl() *Control {
	c := &Control{memory: make([]uint64, 1<<17)}
	for i := range c.memory {
		c.memory[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	return c
}

// controlRounds is how many rounds a reading is the mean of.
const controlRounds = 5

// Read times the work, a millisecond or two in all, and returns the mean time of
// a round. It feels whatever else wants the CPU.
func (c *Control) Read() time.Duration {
	start := time.Now()
	for range controlRounds {
		c.round()
	}
	return time.Since(start) / controlRounds
}

// round is arithmetic in four chains, which feels a neighbour on the same core,
// and a walk through memory, which feels one in the cache.
func (c *Control) round() {
	a, b, d, e := c.sink|1, uint64(2), uint64(3), uint64(4)
	for range 100_000 {
		a = a*6364136223846793005 + 1
		b = b*2862933555777941757 + 3
		d ^= d<<13 + a
		e += e>>7 ^ b
	}
	for i := 0; i < len(c.memory); i += 2 {
		e += c.memory[i]
	}
	c.sink = a ^ b ^ d ^ e
}
