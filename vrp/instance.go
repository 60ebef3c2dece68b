// Package vrp makes capacitated vehicle-routing instances, keeps them in
// batches of flat arrays, and checks routes.
//
// An instance has a depot, node 0, and N customers, nodes 1 to N, in the unit
// square; each customer has a demand, and a vehicle carries at most the
// capacity before it must return to the depot. A route is the whole visiting
// order: it starts and ends at the depot and passes through it to reload.
package vrp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
)

// MaxDemand is the largest demand of a customer; the smallest is 1.
const MaxDemand = 9

// Size says how large an instance is.
type Size struct {
	Customers int
	Capacity  int
}

// Sizes are the ones the literature uses.
var Sizes = []Size{{10, 20}, {20, 30}, {50, 40}, {100, 50}}

// SizeOf is the size in Sizes with n customers.
func SizeOf(n int) (Size, error) {
	for _, s := range Sizes {
		if s.Customers == n {
			return s, nil
		}
	}
	return Size{}, fmt.Errorf("vrp: no standard size has %d customers; there are 10, 20, 50 and 100", n)
}

// Validate refuses sizes that admit no solution.
func (s Size) Validate() error {
	switch {
	case s.Customers < 1:
		return fmt.Errorf("vrp: %d customers: want at least 1", s.Customers)
	case s.Capacity < MaxDemand:
		return fmt.Errorf("vrp: capacity %d: a demand of %d would fit no vehicle", s.Capacity, MaxDemand)
	}
	return nil
}

// Nodes is the number of nodes, depot included.
func (s Size) Nodes() int { return s.Customers + 1 }

// Batch holds B instances of one size in flat arrays, instance after instance.
type Batch struct {
	Size
	B       int
	Coords  []float32 // B x Nodes x 2
	Demands []int32   // B x Nodes; the depot's is 0
	Dist    []float32 // B x Nodes x Nodes
}

// NewBatch gives room for b instances.
func NewBatch(b int, size Size) *Batch {
	n := size.Nodes()
	return &Batch{
		Size: size, B: b,
		Coords:  make([]float32, b*n*2),
		Demands: make([]int32, b*n),
		Dist:    make([]float32, b*n*n),
	}
}

// Generate is b instances drawn from seed: instance i is the same whatever b
// is and however many goroutines make them.
func Generate(b int, size Size, seed uint64) (*Batch, error) {
	if b < 0 {
		return nil, fmt.Errorf("vrp: a batch of %d instances", b)
	}
	if err := size.Validate(); err != nil {
		return nil, err
	}
	out := NewBatch(b, size)
	out.Fill(seed, 0)
	return out, nil
}

// Fill makes all instances of b anew, in parallel: instance i is number
// first+i of those drawn from seed.
func (b *Batch) Fill(seed, first uint64) {
	const chunk = 64
	workers := min(runtime.GOMAXPROCS(0), (b.B+chunk-1)/chunk)
	if workers <= 1 {
		NewSource().fill(b, seed, first, 0, b.B)
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { NewSource().fill(b, seed, first, b.B*w/workers, b.B*(w+1)/workers) })
	}
	wg.Wait()
}

// Source draws instances on one goroutine, without allocating.
type Source struct {
	pcg rand.PCG
	rng *rand.Rand
}

// NewSource makes one.
func NewSource() *Source {
	s := &Source{}
	s.rng = rand.New(&s.pcg)
	return s
}

// Fill is Batch.Fill on the caller's goroutine.
func (s *Source) Fill(b *Batch, seed, first uint64) { s.fill(b, seed, first, 0, b.B) }

func (s *Source) fill(b *Batch, seed, first uint64, from, to int) {
	for i := from; i < to; i++ {
		s.Draw(b.CoordsOf(i), b.DemandsOf(i), seed, first+uint64(i))
		Distances(b.DistOf(i), b.CoordsOf(i))
	}
}

// Draw draws the instance of that number: x and y of each node, and demands.
func (s *Source) Draw(coords []float32, demands []int32, seed, number uint64) {
	s.pcg.Seed(seed, number)
	for j := range coords {
		coords[j] = s.rng.Float32()
	}
	demands[0] = 0
	for j := 1; j < len(demands); j++ {
		demands[j] = 1 + s.rng.Int32N(MaxDemand)
	}
}

// CoordsOf is instance i's coordinates, x and y of each node.
func (b *Batch) CoordsOf(i int) []float32 {
	n := 2 * b.Nodes()
	return b.Coords[i*n : (i+1)*n : (i+1)*n]
}

// DemandsOf is instance i's demands.
func (b *Batch) DemandsOf(i int) []int32 { n := b.Nodes(); return b.Demands[i*n : (i+1)*n : (i+1)*n] }

// DistOf is instance i's distance matrix, row after row.
func (b *Batch) DistOf(i int) []float32 {
	n := b.Nodes() * b.Nodes()
	return b.Dist[i*n : (i+1)*n : (i+1)*n]
}

// Distances fills the square matrix dist with the Euclidean distances between
// the nodes in coords. A float64 holds the square of a float32 exactly, so the
// result is the same bits on every machine.
func Distances(dist, coords []float32) {
	n := len(coords) / 2
	for i := range n {
		for j := range i {
			dx := float64(coords[2*i] - coords[2*j])
			dy := float64(coords[2*i+1] - coords[2*j+1])
			d := float32(math.Sqrt(dx*dx + dy*dy))
			dist[i*n+j], dist[j*n+i] = d, d
		}
		dist[i*n+i] = 0
	}
}
