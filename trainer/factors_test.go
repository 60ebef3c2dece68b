package trainer

import (
	"slices"
	"strings"
	"testing"
)

func TestParseFactors(t *testing.T) {
	for spec, want := range map[string]string{
		"cpu_loop":                          "",
		"gpu_per_route_dup":                 "cost=per_route dup=9",
		"gpu_per_route_dup+dist=one_by_one": "cost=per_route dup=9 dist=one_by_one",
		"graph+tf32=on+graph=off":           "cost=device tf32=on",
	} {
		if f, err := ParseFactors(spec); err != nil || f.String() != want {
			t.Errorf("%s is %q (%v), want %q", spec, f, err, want)
		}
	}
	for spec, want := range map[string]string{
		"":                      "no variant",
		"gpu_paded":             "no variant",
		"graph+":                "KEY=VALUE",
		"graph+tf32":            "KEY=VALUE",
		"graph+embed=per_token": "cannot be captured",
	} {
		if _, err := ParseFactors(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", spec, err, want)
		}
	}
}

// Differ finds every factor, whichever kind it is of, and Value is what Set
// takes.
func TestDiffer(t *testing.T) {
	keys := func(differ []Factor) (keys []string) {
		for _, d := range differ {
			keys = append(keys, d.Key)
		}
		return keys
	}
	a, b := DefaultFactors(), factorsOf(t, "fastest", "batch=64")
	if got := keys(Differ(a, b)); !slices.Equal(got, []string{"batch", "cost", "layers", "rollout", "load", "graph", "tf32"}) {
		t.Errorf("cpu_loop and fastest differ in %v", got)
	}
	if got := Differ(b, b); got != nil {
		t.Errorf("a variant differs from itself in %v", keys(got))
	}
	for _, d := range Differ(a, b) {
		if err := a.Set(d.Key + "=" + d.Value(b)); err != nil {
			t.Error(err)
		}
	}
	if a != b {
		t.Errorf("with every value of the other set it is %v, not %v", a, b)
	}
}
