package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

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
