package trainer

import (
	"fmt"
	"strings"
)

// Variant is one way to run the same epoch: a name for a set of factors.
type Variant struct {
	Name    string
	About   string
	WriteUp string // where the story tells of it
	Set     string // factors that differ from cpu_loop's
}

// Variants is the table of variants; a new one is a line here.
var Variants = []Variant{
	{"cpu_loop", "cost by a plain loop on the host; distances stay there", "001, 002: the fix", ""},
	{"gpu_per_route", "cost one route at a time on the device", "001: 193x slower than the loop", "cost=per_route"},
	{"gpu_per_route_item", "the same, and every scalar read back", "001: 213x", "cost=per_route_item"},
	{"gpu_padded", "pad, mask, stack, index, gather, sum on the device", "000: 64 s", "cost=padded"},
	{"gpu_per_route_dup", "the per-route cost, nine times over", "000: nine duplicate blocks, 48 s", "cost=per_route dup=9"},
	{"transfer_all", "every distance matrix up one by one, and back down for the cost", "002: 3,200 transfers an epoch", "dist=one_by_one"},
	{"gpu_fused", "routes built on the device, one kernel for all costs", "003: the JIT function, direct creation", "cost=device"},
	{"pinned_async", "pinned staging, copies overlapped with compute", "003, 004: non_blocking, pin_memory", "upload=async"},
	{"graph", "the step captured once, replayed", "003: torch.compile reduce-overhead", "cost=device graph=on"},
	{"tf32", "tensor-core matrix products", "003: allow_tf32", "tf32=on"},
	{"embed_per_token", "a small tensor for every token", "004: 240 tensors", "embed=per_token"},
	{"embed_hoisted", "token kinds made once", "004: 3 tensors", "embed=hoisted"},
	{"embed_vectorized", "all tokens in one operation", "004", "embed=vectorized"},
	{"collate_append", "batches built by appending and stacking", "004", "collate=append"},
	{"collate_prealloc", "batches built into one array", "004", "collate=prealloc"},
	{"loader_w0", "instances made in the step", "004", "workers=0"},
	{"loader_w4", "four loader workers", "004", "workers=4"},
	{"loader_w16", "sixteen loader workers", "004: num_workers 16", "workers=16"},
	{"prefetch", "one loader worker, two batches ahead", "004: prefetch_factor 2", "workers=1 prefetch=2"},
	{"batch512", "batches of 512", "004: 512", "batch=512"},
	{"batch1024", "batches of 1024", "004: 1024", "batch=1024"},
	{"gorgonia", "loss and gradient by Gorgonia on the host (in go test -bench Epoch)", "what a Go user would pick today", "engine=gorgonia"},
	{"fastest", "everything that measurement says helps", "the goal", "load=device layers=fused rollout=fused cost=device graph=on tf32=on"},
}

// Named is the variant of that name.
func Named(name string) (Variant, error) {
	names := make([]string, len(Variants))
	for i, v := range Variants {
		if v.Name == name {
			return v, nil
		}
		names[i] = v.Name
	}
	return Variant{}, fmt.Errorf("trainer: no variant %q; there are %s", name, strings.Join(names, ", "))
}

// Factors is what the variant's name stands for, with further settings, as
// Factors.Set takes them, on top.
func (v Variant) Factors(settings ...string) (Factors, error) {
	f := DefaultFactors()
	for _, s := range append(strings.Fields(v.Set), settings...) {
		if err := f.Set(s); err != nil {
			return f, err
		}
	}
	return f, f.Validate()
}

// ParseFactors is the factors that VARIANT[+KEY=VALUE...] stands for:
// gpu_padded, or gpu_padded+dist=one_by_one.
func ParseFactors(spec string) (Factors, error) {
	parts := strings.Split(spec, "+")
	v, err := Named(parts[0])
	if err != nil {
		return Factors{}, err
	}
	return v.Factors(parts[1:]...)
}
