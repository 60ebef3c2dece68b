package vrp

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func generate(t *testing.T, b int, size Size, seed uint64) *Batch {
	t.Helper()
	batch, err := Generate(b, size, seed)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func TestGenerateIsInRange(t *testing.T) {
	for _, size := range Sizes {
		b := generate(t, 50, size, 7)
		seen := map[int32]bool{}
		for i := range b.B {
			for _, c := range b.CoordsOf(i) {
				if c < 0 || c >= 1 {
					t.Fatalf("coordinate %v", c)
				}
			}
			for node, d := range b.DemandsOf(i) {
				if node == 0 && d != 0 || node > 0 && (d < 1 || d > MaxDemand) {
					t.Fatalf("node %d has demand %d", node, d)
				}
				seen[d] = true
			}
		}
		if len(seen) != MaxDemand+1 {
			t.Errorf("N=%d: only demands %v were drawn", size.Customers, seen)
		}
	}
}

// An instance depends on the seed and its number alone: not on the batch, the
// goroutines or the run.
func TestGenerateIsDeterministic(t *testing.T) {
	size := Sizes[0]
	whole := generate(t, 1000, size, 42)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, procs := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(procs)
		again := generate(t, 1000, size, 42)
		if !slices.Equal(whole.Coords, again.Coords) || !slices.Equal(whole.Demands, again.Demands) || !slices.Equal(whole.Dist, again.Dist) {
			t.Fatalf("other instances with GOMAXPROCS=%d", procs)
		}
	}
	part := NewBatch(10, size)
	part.Fill(42, 500)
	if !slices.Equal(part.Coords, whole.Coords[500*22:510*22]) {
		t.Error("instances 500 to 509 differ when made apart")
	}
	if other := generate(t, 1000, size, 43); slices.Equal(whole.Coords, other.Coords) {
		t.Error("another seed gave the same instances")
	}
}

// Pins the first instance, so that results kept in files stay comparable.
func TestGenerateIsStable(t *testing.T) {
	b := generate(t, 1, Sizes[0], 1)
	if got, want := b.Demands[:6], []int32{0, 2, 2, 4, 8, 4}; !slices.Equal(got, want) {
		t.Errorf("demands of seed 1 are %v, were %v", got, want)
	}
}

func TestDistances(t *testing.T) {
	dist := make([]float32, 9)
	Distances(dist, []float32{0, 0, 3, 4, 0, 1})
	want := []float32{0, 5, 1, 5, 0, float32(math.Sqrt(18)), 1, float32(math.Sqrt(18)), 0}
	if !slices.Equal(dist, want) {
		t.Errorf("got %v, want %v", dist, want)
	}
}

func TestRandomRoutesAreValid(t *testing.T) {
	for _, size := range Sizes {
		b := generate(t, 64, size, 3)
		if err := b.ValidateAll(b.RandomRoutes(9)); err != nil {
			t.Errorf("N=%d: %v", size.Customers, err)
		}
	}
}

func TestValidate(t *testing.T) {
	b := NewBatch(1, Size{Customers: 3, Capacity: 10})
	copy(b.Demands, []int32{0, 5, 5, 6})
	for _, c := range []struct {
		route []int32
		want  string // part of the error; empty for a valid route
	}{
		{[]int32{0, 1, 2, 0, 3, 0}, ""},
		{[]int32{0, 1, 0, 0, 2, 0, 3, 0}, ""},
		{nil, "start and end at the depot"},
		{[]int32{1, 2, 0, 3, 0}, "start and end at the depot"},
		{[]int32{0, 1, 2, 0, 3}, "start and end at the depot"},
		{[]int32{0, 1, 2, 0}, "customer 3 is not visited"},
		{[]int32{0, 1, 1, 0, 2, 0, 3, 0}, "customer 1 is visited twice"},
		{[]int32{0, 1, 3, 0, 2, 0}, "load 11 at customer 3 is over the capacity of 10"},
		{[]int32{0, 1, 2, 0, 4, 0}, "no node 4"},
		{[]int32{0, -1, 0}, "no node -1"},
	} {
		err := b.Validate(0, c.route)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: got %v, want %q", c.route, err, c.want)
		}
	}
}

func TestRaggedRoutes(t *testing.T) {
	in := [][]int32{{0, 1, 0}, {}, {0}, {0, 2, 0, 1, 0}}
	r := NewRoutes(in)
	if r.Len() != 4 || r.Longest() != 5 || r.Edges() != 6 {
		t.Errorf("%d routes, longest %d, %d edges", r.Len(), r.Longest(), r.Edges())
	}
	for i := range in {
		if !slices.Equal(r.Of(i), in[i]) {
			t.Errorf("route %d is %v, want %v", i, r.Of(i), in[i])
		}
	}
	var empty Routes
	if empty.Len() != 0 || empty.Edges() != 0 {
		t.Error("the zero Routes is not empty")
	}
	r.Reset()
	r.Append(in[0])
	if r.Len() != 1 || !slices.Equal(r.Of(0), in[0]) {
		t.Error("reuse after Reset")
	}
}

func TestBadSizes(t *testing.T) {
	for _, size := range []Size{{0, 20}, {10, 8}, {-1, 20}} {
		if _, err := Generate(1, size, 1); err == nil {
			t.Errorf("%+v was taken", size)
		}
	}
	if _, err := Generate(-1, Sizes[0], 1); err == nil {
		t.Error("a batch of -1 was taken")
	}
	if _, err := SizeOf(11); err == nil {
		t.Error("11 customers have no standard size")
	}
}
