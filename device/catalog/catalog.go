// Package catalog opens devices by name: host, sim:PROFILE, sim:FILE.json,
// cuda:N.
package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"gputax/device"
	"gputax/device/cuda"
	"gputax/device/host"
	"gputax/device/sim"
	"gputax/profiles"
)

// Entry is one device that can be named.
type Entry struct {
	Name  string
	About string
	Why   error // why it cannot be opened here; nil where it can
}

// List is every device this machine knows: those it has, every simulated one,
// and those it lacks, with the reason.
func List() ([]Entry, error) {
	all := []Entry{{Name: "host", About: "this machine's CPU"}}
	simulated, err := profiles.Devices()
	if err != nil {
		return nil, err
	}
	for _, p := range simulated {
		all = append(all, Entry{Name: "sim:" + p.Name, About: fmt.Sprintf("simulated, %s: %s", p.Status, p.About)})
	}
	cards, err := cuda.List()
	if err != nil {
		why := fmt.Errorf("%w; sim:h200 stands in for one", err)
		return append(all, Entry{Name: "cuda", About: "NVIDIA GPU", Why: why}), nil
	}
	for i, about := range cards {
		all = append(all, Entry{Name: fmt.Sprintf("cuda:%d", i), About: about})
	}
	return all, nil
}

// Open opens the device of that name.
func Open(name string) (device.Device, error) {
	kind, rest, _ := strings.Cut(name, ":")
	switch {
	case name == "host":
		return host.New(), nil
	case kind == "sim" && rest != "":
		p, err := profiles.Device(rest)
		if err != nil {
			return nil, fmt.Errorf("device %q: %w", name, err)
		}
		return sim.New(p), nil
	case kind == "cuda":
		ordinal, err := strconv.Atoi(rest)
		if err != nil {
			return nil, fmt.Errorf("device %q: a CUDA device has a number; the first is cuda:0", name)
		}
		return openCUDA(ordinal)
	}
	return nil, fmt.Errorf("no device %q; there are host, sim:PROFILE and cuda:N (gputax devices lists them)", name)
}

// openCUDA is cuda.Open with no device in the interface where there is none.
func openCUDA(ordinal int) (device.Device, error) {
	d, err := cuda.Open(ordinal)
	if err != nil {
		return nil, err
	}
	return d, nil
}
