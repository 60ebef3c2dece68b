package sparse

import (
	"math/rand/v2"
	"testing"
)

func TestTableIsAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var table Table
	want := map[uint64]uint32{}
	for range 20000 {
		k := uint64(rng.IntN(3000))
		if rng.IntN(10) == 0 {
			k = rng.Uint64()
		}
		if rng.IntN(2) == 0 {
			v := rng.Uint32N(1<<32 - 1)
			table.Set(k, v)
			want[k] = v
		}
		got, ok := table.Get(k)
		if v, in := want[k]; ok != in || got != v {
			t.Fatalf("Get(%d) = %d, %v; want %d, %v", k, got, ok, v, in)
		}
	}
	if len(want) < 1000 {
		t.Fatalf("only %d keys were tried", len(want))
	}
}
