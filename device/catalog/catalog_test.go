package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"gputax/device/catalog"
	"gputax/device/cuda"
)

func TestOpen(t *testing.T) {
	for _, name := range []string{"host", "sim:h200"} {
		d, err := catalog.Open(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Name() != name {
			t.Errorf("%s opened %s", name, d.Name())
		}
		d.Close()
	}
	for name, want := range map[string]string{
		"":          "gputax devices lists them",
		"gpu":       "gputax devices lists them",
		"sim:":      "gputax devices lists them",
		"sim:none":  "sim:none",
		"cuda":      "the first is cuda:0",
		"cuda:one":  "the first is cuda:0",
		"cuda:1000": `device: "cuda:1000": `,
		"cuda:-1":   `device: "cuda:-1": `,
	} {
		d, err := catalog.Open(name)
		if err == nil || !strings.Contains(err.Error(), want) || d != nil {
			t.Errorf("%q: %v, error %v, want one with %q", name, d, err, want)
		}
	}
}

// TestList holds the list to what opens, on whatever machine this is.
func TestList(t *testing.T) {
	all, err := catalog.List()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range all {
		names = append(names, e.Name)
		if strings.Contains(e.About, "\n") || e.Why != nil && strings.Contains(e.Why.Error(), "\n") {
			t.Errorf("%s is told in several lines", e.Name)
		}
		if d, err := catalog.Open(e.Name); (err == nil) != (e.Why == nil) {
			t.Errorf("%s: listed with error %v, opened with %v", e.Name, e.Why, err)
		} else if err == nil {
			d.Close()
		}
	}
	want := "cuda:0"
	if cuda.Why() != nil {
		want = "cuda"
	}
	if !slices.Contains(names, want) {
		t.Errorf("no %s in %q", want, names)
	}
}
