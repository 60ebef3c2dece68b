package sim

import (
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	var all []*Profile
	for _, v := range []float64{5, 1, 3} {
		p := &Profile{Name: "p", About: "a card", Status: "measured", From: map[string]string{}}
		for _, f := range fields {
			*f.at(p) = 7
			p.From[f.name] = "measured"
		}
		p.LaunchHost = v
		p.From["launch_host_ns"] = map[float64]string{5: "five", 1: "one", 3: "three"}[v]
		p.Kernels = []KernelTime{{Symbol: "b", Flops: 2, NS: 10 * v}, {Symbol: "a", Flops: 1, NS: v}}
		all = append(all, p)
	}
	all[2].Kernels = append(all[2].Kernels, KernelTime{Symbol: "a", Bytes: 9, NS: 4}) // seen in one of them
	m, err := Median(all...)
	if err != nil {
		t.Fatal(err)
	}
	if m.LaunchHost != 3 || m.From["launch_host_ns"] != "three; the median of 3 processes, 1 to 5" {
		t.Errorf("launch_host_ns %v from %q", m.LaunchHost, m.From["launch_host_ns"])
	}
	if m.SyncHost != 7 || m.From["sync_host_ns"] != "measured" {
		t.Errorf("sync_host_ns %v from %q", m.SyncHost, m.From["sync_host_ns"])
	}
	want := []KernelTime{{Symbol: "a", Flops: 1, NS: 3}, {Symbol: "a", Bytes: 9, NS: 4}, {Symbol: "b", Flops: 2, NS: 30}}
	if len(m.Kernels) != len(want) {
		t.Fatalf("kernels %v, want %v", m.Kernels, want)
	}
	for i := range want {
		if m.Kernels[i] != want[i] {
			t.Errorf("kernel %d is %v, want %v", i, m.Kernels[i], want[i])
		}
	}
	if _, err := Median(); err == nil {
		t.Error("took no profiles")
	}
	all[1].About = "another card"
	if _, err := Median(all...); err == nil || !strings.Contains(err.Error(), "another card") {
		t.Errorf("took profiles of two cards: %v", err)
	}
}
