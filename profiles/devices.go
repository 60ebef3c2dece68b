package profiles

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gputax/device/sim"
)

//go:embed devices/*.json
var devices embed.FS

// Devices is every built-in device profile, by name in order.
func Devices() ([]*sim.Profile, error) {
	files, err := fs.Glob(devices, "devices/*.json")
	if err != nil {
		return nil, err
	}
	var all []*sim.Profile
	for _, file := range files {
		data, err := devices.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p, err := sim.ReadProfile(file, bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if p.Name+".json" != filepath.Base(file) {
			return nil, fmt.Errorf("device profile %s: field name: %q: want the file's name", file, p.Name)
		}
		all = append(all, p)
	}
	return all, nil
}

// Device is the built-in device profile of that name or, where name ends in
// .json, the one in that file.
func Device(name string) (*sim.Profile, error) {
	if strings.HasSuffix(name, ".json") {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("device profile: %w", err)
		}
		defer f.Close()
		return sim.ReadProfile(name, f)
	}
	all, err := Devices()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range all {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("no device profile %q; there are %s, and any FILE.json", name, strings.Join(names, ", "))
}
