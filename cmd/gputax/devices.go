package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"gputax/device/catalog"
)

// devicesCommand is gputax devices.
func devicesCommand(_ context.Context, stdout, _ io.Writer, args []string) error {
	f := newFlags("devices", "Lists the devices this machine has, the simulated ones, and what is missing and why.\nsim:FILE.json is a simulated device by a profile of your own.", stdout)
	if err := parse(f, args); err != nil {
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
