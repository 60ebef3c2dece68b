package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"gputax/device"
)

// printTables prints one table for each benchmark and size: a row a variant,
// its counters, and its time on each device with how many times slower it is
// than the best there.
func printTables(w io.Writer, results []result) {
	var order []string
	groups := map[string][]result{}
	for _, r := range results {
		key := r.Bench + " " + r.Params
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], r)
	}
	for _, key := range order {
		printTable(w, groups[key])
	}
}

// cell is one variant on one device.
type cell struct {
	variant, device string
	time            float64 // median, in ns
	counters        device.Counters
}

func printTable(w io.Writer, results []result) {
	var cells []cell
	var variants, devices []string
	for _, r := range results {
		dev := deviceOf(r.name)
		if !slices.Contains(variants, r.Variant) {
			variants = append(variants, r.Variant)
		}
		if !slices.Contains(devices, dev) {
			devices = append(devices, dev)
		}
		cells = append(cells, cell{r.Variant, dev, medianTime(r), r.samples[0].Counters})
	}
	fmt.Fprintf(w, "\n%s  %s\n", results[0].Bench, strings.ReplaceAll(results[0].Params, "/", "  "))
	width := len(slices.MaxFunc(append(variants, "variant"), func(a, b string) int { return len(a) - len(b) }))
	var table bytes.Buffer
	tw := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "%-*s\tlaunches\tcopies\tbytes\tsyncs\t%s\t\n", width, "variant", strings.Join(devices, "\t\t")+"\t")
	for _, v := range variants {
		i := slices.IndexFunc(cells, func(c cell) bool { return c.variant == v })
		c := cells[i].counters
		fmt.Fprintf(tw, "%-*s\t%s\t%d\t%s\t%d\t", width, v, launches(c), c[device.UploadCopies]+c[device.DownloadCopies],
			bytesText(c[device.UploadBytes]+c[device.DownloadBytes]+c[device.MappedBytes]), c[device.Syncs])
		for _, d := range devices {
			fmt.Fprint(tw, timeCell(cells, v, d))
		}
		fmt.Fprintln(tw)
	}
	tw.Flush()
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// timeCell is a variant's time on a device, and its ratio to the best there.
func timeCell(cells []cell, variant, dev string) string {
	best, this := math.Inf(1), math.NaN()
	for _, c := range cells {
		if c.device != dev {
			continue
		}
		best = min(best, c.time)
		if c.variant == variant {
			this = c.time
		}
	}
	switch {
	case math.IsNaN(this):
		return "\t\t"
	case this == best:
		return timeText(this) + "\tbest\t"
	case best == 0:
		return timeText(this) + "\t\t"
	}
	return timeText(this) + "\t" + ratioText(this/best) + "\t"
}

func deviceOf(name string) string {
	for _, part := range strings.Split(name, "/") {
		if dev, ok := strings.CutPrefix(part, "device="); ok {
			return dev
		}
	}
	return ""
}

func medianTime(r result) float64 {
	var times []float64
	for _, s := range r.samples {
		times = append(times, s.PerOp)
	}
	slices.Sort(times)
	n := len(times)
	return (times[(n-1)/2] + times[n/2]) / 2
}

// launches is kernels launched one by one, and graphs.
func launches(c device.Counters) string {
	if c[device.GraphLaunches] == 0 {
		return fmt.Sprint(c[device.Launches])
	}
	return fmt.Sprintf("%d+%d graph", c[device.Launches], c[device.GraphLaunches])
}

func timeText(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.3g ns", ns)
	case ns < 1e6:
		return three(ns/1e3) + " us"
	case ns < 1e9:
		return three(ns/1e6) + " ms"
	}
	return three(ns/1e9) + " s"
}

func bytesText(n int64) string {
	switch {
	case n < 1e3:
		return fmt.Sprint(n)
	case n < 1e6:
		return three(float64(n)/1e3) + "k"
	case n < 1e9:
		return three(float64(n)/1e6) + "M"
	}
	return three(float64(n)/1e9) + "G"
}

func ratioText(r float64) string { return three(r) + "x" }

// three is v with three digits, never in exponent form.
func three(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}
