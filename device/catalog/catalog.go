// Package catalog opens devices by name: host, sim:PROFILE, sim:FILE.json,
// cuda:N.
package catalog

import (
	"errors"
	"fmt"
	"strings"

	"gputax/device"
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

// errNoCUDA is why there is no cuda device.
var errNoCUDA = errors.New("this version of gputax does not drive CUDA devices yet; sim:h200 stands in for one")

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
	return append(all, Entry{Name: "cuda", About: "NVIDIA GPU", Why: errNoCUDA}), nil
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
		return nil, fmt.Errorf("device %q: %w", name, errNoCUDA)
	}
	return nil, fmt.Errorf("no device %q; there are host, sim:PROFILE and cuda:N (gputax devices lists them)", name)
}
