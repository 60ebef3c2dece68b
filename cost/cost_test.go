package cost

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gputax/device"
	"gputax/device/host"
	"gputax/vrp"
)

// tolerance is how far a method may be from the loop, relative to the cost.
const tolerance = 1e-5

// costsOf runs one method on one batch.
func costsOf(t testing.TB, v Variant, rec *device.Recorder, b *vrp.Batch, r *vrp.Routes) []float32 {
	t.Helper()
	return costsInTurn(t, v, rec, b, r)[0]
}

// costsInTurn runs one method on several sets of routes, one after the other.
func costsInTurn(t testing.TB, v Variant, rec *device.Recorder, b *vrp.Batch, all ...*vrp.Routes) [][]float32 {
	t.Helper()
	m, err := v.Open(rec)
	if err != nil {
		t.Fatal(err)
	}
	err = m.Load(b)
	var costs [][]float32
	for _, r := range all {
		got := make([]float32, r.Len())
		for i := range got {
			got[i] = float32(math.NaN()) // every element must be written
		}
		err = errors.Join(err, m.Cost(r), m.Costs(got))
		costs = append(costs, got)
	}
	if err := errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	return costs
}

// sameOnBoth holds a variant on one device to the loop on another, with routes
// that become shorter, longer and more from one call to the next.
func sameOnBoth(t *testing.T, v Variant, reference, rec *device.Recorder, b *vrp.Batch) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	long, short := b.RandomRoutes(4), raggedRoutes(rng, b.B, 3)
	twice := raggedRoutes(rng, 2*b.B, b.Nodes())
	all := []*vrp.Routes{long, short, long, twice, short}
	want, got := costsInTurn(t, Variants[0], reference, b, all...), costsInTurn(t, v, rec, b, all...)
	for call := range all {
		for i := range want[call] {
			if got[call][i] != want[call][i] {
				t.Fatalf("%s: call %d: route %d costs %v, want %v", v.Name, call, i, got[call][i], want[call][i])
			}
		}
	}
}

// A method may be used again and again, whatever was in its buffers before.
func TestCallsDoNotDisturbEachOther(t *testing.T) {
	b, err := vrp.Generate(24, vrp.Sizes[0], 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Variants {
		sameOnBoth(t, v, device.NewRecorder(host.New()), device.NewRecorder(host.New()), b)
	}
}

// agree holds every variant to the exact sum in float64.
func agree(t testing.TB, b *vrp.Batch, r *vrp.Routes) {
	t.Helper()
	n := b.Nodes()
	for _, v := range Variants {
		got := costsOf(t, v, device.NewRecorder(host.New()), b, r)
		for i, c := range got {
			var want float64
			route := r.Of(i)
			for j := 1; j < len(route); j++ {
				want += float64(b.DistOf(i % b.B)[int(route[j-1])*n+int(route[j])])
			}
			if !(math.Abs(float64(c)-want) <= tolerance*want) {
				t.Fatalf("%s: route %d %v costs %v, want %v", v.Name, i, route, c, want)
			}
		}
	}
}

// raggedRoutes is routes of any length, valid or not, empty ones included.
func raggedRoutes(rng *rand.Rand, batch, nodes int) *vrp.Routes {
	r := &vrp.Routes{}
	r.Reset()
	for i := range batch {
		length := rng.IntN(2*nodes + 2)
		switch i % 5 {
		case 0:
			length = 0
		case 1:
			r.Append([]int32{0, 1 + rng.Int32N(int32(nodes-1)), 0})
			continue
		}
		route := make([]int32, length)
		for j := range route {
			route[j] = rng.Int32N(int32(nodes))
		}
		r.Append(route)
	}
	return r
}

func TestVariantsAgree(t *testing.T) {
	for _, size := range vrp.Sizes {
		for _, batch := range []int{0, 1, 7, 64} {
			b, err := vrp.Generate(batch, size, uint64(batch))
			if err != nil {
				t.Fatal(err)
			}
			agree(t, b, b.RandomRoutes(5))
			twice := b.RandomRoutes(5) // two routes an instance
			for i, other := 0, b.RandomRoutes(6); i < batch; i++ {
				twice.Append(other.Of(i))
			}
			agree(t, b, twice)
			rng := rand.New(rand.NewPCG(uint64(batch), uint64(size.Customers)))
			agree(t, b, raggedRoutes(rng, batch, size.Nodes()))
		}
	}
}

// All routes empty, and all of a single node: the padded tensor has no edges.
func TestNoEdges(t *testing.T) {
	b, err := vrp.Generate(4, vrp.Sizes[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, b, vrp.NewRoutes([][]int32{{}, {}, {}, {}}))
	agree(t, b, vrp.NewRoutes([][]int32{{0}, {3}, {}, {0}}))
}

// A method serves batches of changing sizes, growing and shrinking.
func TestReuse(t *testing.T) {
	for _, v := range Variants {
		rec := device.NewRecorder(host.New())
		m, err := v.Open(rec)
		if err != nil {
			t.Fatal(err)
		}
		for seed, batch := range []int{3, 40, 1, 17} {
			b, err := vrp.Generate(batch, vrp.Sizes[seed%2], uint64(seed))
			if err != nil {
				t.Fatal(err)
			}
			r := b.RandomRoutes(uint64(seed))
			got, want := make([]float32, batch), costsOf(t, Variants[0], rec, b, r)
			if err := m.Load(b); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := m.Cost(r); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.Costs(got); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if math.Abs(float64(got[i]-want[i])) > tolerance*float64(want[i]) {
					t.Fatalf("%s: batch of %d: cost %d is %v, want %v", v.Name, batch, i, got[i], want[i])
				}
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if c := rec.Counters(); c[device.Allocs] != c[device.Frees] {
			t.Errorf("%s: %d allocations, %d frees", v.Name, c[device.Allocs], c[device.Frees])
		}
	}
}

func TestCountersAreExact(t *testing.T) {
	const batch = 128
	b, err := vrp.Generate(batch, vrp.Sizes[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	r := b.RandomRoutes(1)
	edges, words := int64(r.Edges()), int64(len(r.Nodes))
	counts := map[string]device.Counters{
		"loop":      {},
		"per_route": {device.Launches: batch + edges},
		"per_route_item": {device.Launches: batch + edges, device.Syncs: batch,
			device.DownloadCopies: batch, device.DownloadBytes: 4 * batch},
		"padded": {device.Launches: batch + 6, device.UploadCopies: batch + 1, device.PageableCopies: batch + 1,
			device.UploadBytes: 4 * (words + batch)},
		"fused": {device.GraphLaunches: 1, device.GraphKernels: 1, device.MappedBytes: 4 * batch / groupRoutes * (1 + groupRoutes*(1+int64(r.Longest()+3)/4*4))},
	}
	for _, v := range Variants {
		name := v.Name
		want, ok := counts[name]
		if !ok {
			t.Errorf("%s: its counters are not stated here", name)
		}
		rec := device.NewRecorder(host.New())
		m, err := v.Open(rec)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Load(b); err != nil {
			t.Fatal(err)
		}
		for round := range 3 { // the first may allocate
			rec.Reset()
			if err := m.Cost(r); err != nil {
				t.Fatal(err)
			}
			if got := rec.Counters(); round > 0 && got != want {
				t.Errorf("%s: counted %v, want %v", name, got, want)
			}
			if err := rec.Drain(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := device.Counters(mustCount(t, "per_route", b, r)); got[device.Launches] < batch {
		t.Errorf("per_route launched %d kernels for %d routes", got[device.Launches], batch)
	}
}

// mustCount is what one Cost of a variant counts, allocations left out.
func mustCount(t *testing.T, name string, b *vrp.Batch, r *vrp.Routes) device.Counters {
	t.Helper()
	v, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	rec := device.NewRecorder(host.New())
	costsOf(t, v, rec, b, r)
	return rec.Counters()
}

func TestBadRoutes(t *testing.T) {
	b, err := vrp.Generate(2, vrp.Sizes[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range Variants {
		m, err := v.Open(device.NewRecorder(host.New()))
		if err != nil {
			t.Fatal(err)
		}
		check := func(what, want string, r *vrp.Routes) {
			t.Helper()
			if err := m.Cost(r); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: got %v, want %q", v.Name, what, err, want)
			}
		}
		check("before Load", "no batch", vrp.NewRoutes([][]int32{{0, 0}, {0, 0}}))
		if err := m.Load(b); err != nil {
			t.Fatal(err)
		}
		check("three routes for two instances", "3 routes for a batch of 2", vrp.NewRoutes([][]int32{{0, 1, 0}, {0, 0}, {0, 0}}))
		check("a node too high", "node 11", vrp.NewRoutes([][]int32{{0, 11, 0}, {0, 0}}))
		check("a negative node", "node -1", vrp.NewRoutes([][]int32{{0, -1, 0}, {0, 0}}))
		if err := m.Costs(make([]float32, 3)); err == nil {
			t.Errorf("%s: took room for 3 costs of 2", v.Name)
		}
	}
	if _, err := Named("no_such"); err == nil || !strings.Contains(err.Error(), "per_route_item") {
		t.Errorf("unknown variant: %v", err)
	}
}

func TestLoopAllocatesNothing(t *testing.T) {
	b, err := vrp.Generate(128, vrp.Sizes[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	r := b.RandomRoutes(1)
	m, err := openLoop(device.NewRecorder(host.New()))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Load(b); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := m.Cost(r); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a batch", n)
	}
}

func FuzzVariantsAgree(f *testing.F) {
	f.Add(uint64(1), uint8(5), uint8(10), []byte{0, 1, 2, 0, 255, 0, 3, 0})
	f.Add(uint64(2), uint8(0), uint8(1), []byte{})
	f.Add(uint64(3), uint8(9), uint8(200), []byte{255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, seed uint64, batch, customers uint8, data []byte) {
		size := vrp.Size{Customers: 1 + int(customers)%100, Capacity: 20}
		b, err := vrp.Generate(int(batch)%32, size, seed)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, b, fuzzRoutes(b, data))
	})
}

// fuzzRoutes cuts data into routes at each 255; what is missing is empty.
func fuzzRoutes(b *vrp.Batch, data []byte) *vrp.Routes {
	routes := make([][]int32, b.B)
	i := 0
	for _, v := range data {
		if v == 255 {
			i++
			continue
		}
		if i < b.B {
			routes[i] = append(routes[i], int32(int(v)%b.Nodes()))
		}
	}
	return vrp.NewRoutes(routes)
}

func BenchmarkLoop(b *testing.B) {
	for _, size := range vrp.Sizes {
		b.Run(fmt.Sprintf("batch=128/n=%d", size.Customers), func(b *testing.B) {
			batch, err := vrp.Generate(128, size, 1)
			if err != nil {
				b.Fatal(err)
			}
			r, costs := batch.RandomRoutes(1), make([]float32, 128)
			b.ReportAllocs()
			for b.Loop() {
				Loop(costs, batch.Dist, batch.Nodes(), r)
			}
		})
	}
}
