package profiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuiltInProfiles(t *testing.T) {
	all, err := Devices()
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	for _, p := range all {
		status[p.Name] = p.Status
	}
	if status["a6000-pytorch"] != "fitted" || status["h200"] != "measured" {
		t.Errorf("profiles and their status: %v", status)
	}
	for _, p := range all {
		if p.Status != "fitted" {
			continue
		}
		for name, from := range p.From { // nothing may pass for more than it is
			if !strings.Contains(from, "write-up") && !strings.HasPrefix(from, "assumed") && !strings.HasPrefix(from, "vendor datasheet") {
				t.Errorf("%s: %s comes from %q", p.Name, name, from)
			}
		}
	}
}

func TestDevice(t *testing.T) {
	if p, err := Device("h200"); err != nil || p.LaunchHost < 1000 || len(p.Kernels) < 100 {
		t.Errorf("h200: %+v, %v", p, err)
	}
	if _, err := Device("h2000"); err == nil || !strings.Contains(err.Error(), "a6000-pytorch, h200") {
		t.Errorf("an unknown name: %v", err)
	}
	data, err := os.ReadFile("devices/h200.json")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mine.json")
	text := strings.Replace(string(data), `"name": "h200"`, `"name": "mine"`, 1)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if p, err := Device(path); err != nil || p.Name != "mine" {
		t.Errorf("a file: %+v, %v", p, err)
	}
}
