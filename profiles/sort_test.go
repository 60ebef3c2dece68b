package profiles

import (
	"math/rand/v2"
	"testing"
)

// Sorting moves events over the borders of chunks, keeps the order of those
// that start together, and ops with their calls.
func TestSortKeepsOpsWithTheirCalls(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := &Recording{}
	const n = 2*logChunk + 100
	for i := range n {
		start := rng.Int64N(n / 3)
		r.Calls.Add(Call{Start: start, Bytes: int64(i), Step: -1})
		r.Ops.Add(Op{Start: rng.Int64N(n), Bytes: int64(n - 1 - i), Call: int32(n - 1 - i), Detail: -1})
	}
	r.Sort()
	var last *Call
	for i, c := range r.Calls.All() {
		if last != nil && (c.Start < last.Start || c.Start == last.Start && c.Bytes < last.Bytes) {
			t.Fatalf("call %d: %+v after %+v", i, c, last)
		}
		last = c
	}
	seen := make([]bool, n)
	start := int64(0)
	for i, o := range r.Ops.All() {
		if got := r.Calls.At(int(o.Call)).Bytes; got != o.Bytes || o.Start < start || seen[o.Call] {
			t.Fatalf("op %d: %+v with call %d", i, o, got)
		}
		seen[o.Call], start = true, o.Start
	}
}
