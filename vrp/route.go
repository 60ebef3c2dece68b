package vrp

import (
	"fmt"
	"math/rand/v2"
)

// Routes holds one route for each instance of a batch, of any lengths, in flat
// arrays: route i is Nodes[Offsets[i]:Offsets[i+1]].
type Routes struct {
	Nodes   []int32
	Offsets []int32 // one more than there are routes; the first is 0
}

// NewRoutes flattens routes.
func NewRoutes(routes [][]int32) *Routes {
	r := &Routes{Offsets: make([]int32, 1, len(routes)+1)}
	for _, route := range routes {
		r.Append(route)
	}
	return r
}

// Append adds one route.
func (r *Routes) Append(route []int32) {
	if len(r.Offsets) == 0 {
		r.Offsets = append(r.Offsets, 0)
	}
	r.Nodes = append(r.Nodes, route...)
	r.Offsets = append(r.Offsets, int32(len(r.Nodes)))
}

// Reset empties r and keeps its memory.
func (r *Routes) Reset() {
	r.Nodes = r.Nodes[:0]
	r.Offsets = append(r.Offsets[:0], 0)
}

// Len is the number of routes.
func (r *Routes) Len() int { return max(len(r.Offsets)-1, 0) }

// Of is route i.
func (r *Routes) Of(i int) []int32 { return r.Nodes[r.Offsets[i]:r.Offsets[i+1]] }

// Longest is the number of nodes of the longest route.
func (r *Routes) Longest() int {
	n := 0
	for i := range r.Len() {
		n = max(n, len(r.Of(i)))
	}
	return n
}

// Edges is the number of edges over all routes.
func (r *Routes) Edges() int {
	n := 0
	for i := range r.Len() {
		n += max(len(r.Of(i))-1, 0)
	}
	return n
}

// Validate says what is wrong with route as a solution of instance i: it must
// start and end at the depot, visit every customer once, and never carry more
// than the capacity.
func (b *Batch) Validate(i int, route []int32) error {
	if len(route) == 0 || route[0] != 0 || route[len(route)-1] != 0 {
		return fmt.Errorf("vrp: instance %d: the route does not start and end at the depot: %v", i, route)
	}
	demands := b.DemandsOf(i)
	visited := make([]bool, len(demands))
	load := 0
	for step, node := range route {
		switch {
		case node < 0 || int(node) >= len(demands):
			return fmt.Errorf("vrp: instance %d, step %d: no node %d; there are %d", i, step, node, len(demands))
		case node == 0:
			load = 0
			continue
		case visited[node]:
			return fmt.Errorf("vrp: instance %d, step %d: customer %d is visited twice", i, step, node)
		}
		visited[node] = true
		if load += int(demands[node]); load > b.Capacity {
			return fmt.Errorf("vrp: instance %d, step %d: load %d at customer %d is over the capacity of %d", i, step, load, node, b.Capacity)
		}
	}
	for node := 1; node < len(visited); node++ {
		if !visited[node] {
			return fmt.Errorf("vrp: instance %d: customer %d is not visited", i, node)
		}
	}
	return nil
}

// ValidateAll holds every route of r to Validate.
func (b *Batch) ValidateAll(r *Routes) error {
	if r.Len() != b.B {
		return fmt.Errorf("vrp: %d routes for %d instances", r.Len(), b.B)
	}
	for i := range b.B {
		if err := b.Validate(i, r.Of(i)); err != nil {
			return err
		}
	}
	return nil
}

// RandomRoutes is a valid route for every instance: the customers in random
// order, with a return to the depot whenever the next would not fit.
func (b *Batch) RandomRoutes(seed uint64) *Routes {
	r := &Routes{Offsets: make([]int32, 1, b.B+1), Nodes: make([]int32, 0, b.B*(2*b.Customers+1))}
	var src rand.PCG
	rng := rand.New(&src)
	order := make([]int32, b.Customers)
	for i := range b.B {
		src.Seed(seed, uint64(i))
		for j := range order {
			order[j] = int32(j + 1)
		}
		rng.Shuffle(len(order), func(x, y int) { order[x], order[y] = order[y], order[x] })
		r.Append(b.split(i, order))
	}
	return r
}

// split is the route that visits the customers of instance i in order.
func (b *Batch) split(i int, order []int32) []int32 {
	demands := b.DemandsOf(i)
	route, load := []int32{0}, 0
	for _, node := range order {
		if load+int(demands[node]) > b.Capacity {
			route, load = append(route, 0), 0
		}
		route, load = append(route, node), load+int(demands[node])
	}
	return append(route, 0)
}
