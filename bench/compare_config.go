package bench

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// configValues is the values each configuration key took, in order of
// appearance. Keys do not split benchmarks apart, as they do in benchstat:
// a card's temperature is a configuration line too.
type configValues struct {
	keys   []string
	values map[string][]string
	seen   map[[2]string]bool // key and value
}

func (c *configValues) add(config []benchfmt.Config) {
	for i := range config {
		key, have := config[i].Key, c.values[config[i].Key]
		// Nearly always the value is the one before.
		if n := len(have); !config[i].File || n > 0 && have[n-1] == string(config[i].Value) {
			continue
		}
		if c.values == nil {
			c.values, c.seen = map[string][]string{}, map[[2]string]bool{}
		}
		if have == nil {
			c.keys = append(c.keys, key)
		}
		if v := string(config[i].Value); !c.seen[[2]string{key, v}] {
			c.seen[[2]string{key, v}] = true
			c.values[key] = append(have, v)
		}
	}
}

// same says whether a key took the same values on both sides.
func (c *configValues) same(d *configValues, key string) bool {
	for _, v := range c.values[key] {
		if !d.seen[[2]string{key, v}] {
			return false
		}
	}
	return len(c.values[key]) == len(d.values[key])
}

// machineKeys are those on which times depend.
var machineKeys = []string{"goos", "goarch", "cpu", "gpu", "gpu-driver", "gpu-clocks", "gpu-mem-clock", "gpu-throttle"}

// restless are keys that differ between any two runs and tell nothing.
var restless = []string{"gpu-temperature"}

// differences says where the two sides were taken in different circumstances.
func differences(old, new *configValues) []error {
	var out []error
	keys := slices.Clone(old.keys)
	for _, k := range new.keys {
		if old.values[k] == nil {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		a, b := old.values[k], new.values[k]
		same := old.same(new, k)
		if slices.Contains(restless, k) || same && (len(a) == 1 || k == "pkg") {
			continue
		}
		note := ""
		if slices.Contains(machineKeys, k) {
			note = ": times are not comparable"
		}
		if same {
			out = append(out, fmt.Errorf("%s varies on both sides (%s)%s", k, list(a), note))
		} else {
			out = append(out, fmt.Errorf("%s differs: %s in old, %s in new%s", k, list(a), list(b), note))
		}
	}
	return out
}

// list is up to three values in quotes.
func list(values []string) string {
	if len(values) == 0 {
		return "none"
	}
	var out []string
	for i, v := range values {
		if i == 3 {
			out = append(out, "...")
			break
		}
		out = append(out, fmt.Sprintf("%q", v))
	}
	return strings.Join(out, ", ")
}
