package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"gputax/device"
	"gputax/device/catalog"
)

const devicesAbout = `Lists the devices this machine has, the simulated ones, and what is missing and
why. sim:FILE.json is a simulated device by a profile of your own.`

// devicesCommand is gputax devices.
func devicesCommand(_ context.Context, stdout, _ io.Writer, args []string) error {
	if err := parse(newFlags("devices"), devicesAbout, stdout, args); err != nil {
		return err
	}
	entries, err := catalog.List()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		about := e.About
		if e.Why != nil {
			about = "not available: " + e.Why.Error()
		}
		fmt.Fprintf(w, "%s\t%s\n", e.Name, about)
	}
	return w.Flush()
}

// available is the names of the devices this machine can open.
func available() ([]string, error) {
	entries, err := catalog.List()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Why == nil {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// openDevice opens a device by name; where there is none it names the near
// ones of those there are.
func openDevice(name string, there []string) (device.Device, error) {
	d, err := catalog.Open(name)
	if err != nil {
		return nil, fmt.Errorf("-device: %w%s", err, suggest(name, there))
	}
	return d, nil
}

// openNamed is openDevice among all there are.
func openNamed(name string) (device.Device, error) {
	there, err := available()
	if err != nil {
		return nil, err
	}
	return openDevice(name, there)
}
