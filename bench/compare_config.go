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
}

func (c *configValues) add(config []benchfmt.Config) {
	if c.values == nil {
		c.values = map[string][]string{}
	}
	for i := range config {
		key := config[i].Key
		if !config[i].File {
			continue
		}
		have := c.values[key]
		// Nearly always the value is the one before.
		if n := len(have); n > 0 && have[n-1] == string(config[i].Value) {
			continue
		}
		if have == nil {
			c.keys = append(c.keys, key)
		}
		if v := string(config[i].Value); !slices.Contains(have, v) {
			c.values[key] = append(have, v)
		}
	}
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
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		a, b := old.values[k], new.values[k]
		if slices.Contains(restless, k) || sameSet(a, b) && (len(a) == 1 || k == "pkg") {
			continue
		}
		note := ""
		if slices.Contains(machineKeys, k) {
			note = ": times are not comparable"
		}
		if sameSet(a, b) {
			out = append(out, fmt.Errorf("%s varies on both sides (%s)%s", k, list(a), note))
		} else {
			out = append(out, fmt.Errorf("%s differs: %s in old, %s in new%s", k, list(a), list(b), note))
		}
	}
	return out
}

func sameSet(a, b []string) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(v string) bool { return !slices.Contains(b, v) })
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
