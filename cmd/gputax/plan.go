package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gputax/bench"
	"gputax/bench/suite"
)

// job is one case on one device.
type job struct {
	bench.Case
	device string // as the user named it; catalog.Open takes it
	name   string // Cost/variant=loop/device=host/batch=128/n=10
}

// selection is what the user asked to run.
type selection struct {
	run      string // regular expression on names
	variants string // comma-separated
	devices  string // comma-separated
	shard    string // i/n
	full     bool   // whole epochs
}

// plan is the jobs selected, in the order they run. It refuses what does not
// exist, so that a typo never runs less than was meant.
func plan(s selection) ([]job, error) {
	cases := suite.Cases(suite.Options{Full: s.full})
	devices, err := selectDevices(s.devices)
	if err != nil {
		return nil, err
	}
	variants, err := selectVariants(cases, s.variants)
	if err != nil {
		return nil, err
	}
	pattern, err := regexp.Compile(s.run)
	if err != nil {
		return nil, fmt.Errorf("-run %q: %w", s.run, err)
	}
	var jobs []job
	for _, c := range cases {
		if len(variants) > 0 && !slices.Contains(variants, c.Variant) {
			continue
		}
		for _, d := range devices {
			j := job{Case: c, device: d.spec, name: c.Name(d.name)}
			if c.RunsOn(d.name) && pattern.MatchString("Benchmark"+j.name) {
				jobs = append(jobs, j)
			}
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("no benchmark matches -run %q; gputax run -list shows them all", s.run)
	}
	return shard(jobs, s.shard)
}

// named is a device as the user wrote it and as results call it.
type named struct{ spec, name string }

// selectDevices checks and names devices; an empty list is every device there
// is.
func selectDevices(list string) ([]named, error) {
	have, err := available()
	if err != nil {
		return nil, err
	}
	specs := splitList(list)
	switch {
	case list == "":
		specs = have
	case len(specs) == 0:
		return nil, fmt.Errorf("-device %q: no device is named", list)
	}
	var out []named
	for _, spec := range specs {
		dev, err := openDevice(spec, have)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(n named) bool { return n.name == dev.Name() }) {
			return nil, fmt.Errorf("-device: two devices are called %s; results would not tell them apart", dev.Name())
		}
		out = append(out, named{spec, dev.Name()})
		if err := dev.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// selectVariants checks variants; an empty list is all.
func selectVariants(cases []bench.Case, list string) ([]string, error) {
	var known []string
	for _, c := range cases {
		if !slices.Contains(known, c.Variant) {
			known = append(known, c.Variant)
		}
	}
	variants := splitList(list)
	for _, v := range variants {
		if !slices.Contains(known, v) {
			return nil, fmt.Errorf("-variant: no variant %q%s (there are %s)", v, suggest(v, known), strings.Join(known, ", "))
		}
	}
	return variants, nil
}

// shard is the part of jobs that "i/n" names: n runs, one after the other in
// the whole, so that outputs laid end to end are the whole's.
func shard(jobs []job, spec string) ([]job, error) {
	if spec == "" {
		return jobs, nil
	}
	first, last, ok := strings.Cut(spec, "/")
	i, err1 := strconv.Atoi(first)
	n, err2 := strconv.Atoi(last)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return nil, fmt.Errorf("-shard %q: want i/n, as in 1/4", spec)
	case n < 1 || i < 1 || i > n:
		return nil, fmt.Errorf("-shard %q: out of range; shards of n go from 1/n to n/n", spec)
	}
	return jobs[len(jobs)*(i-1)/n : len(jobs)*i/n], nil
}

// splitList splits at commas and drops empty parts.
func splitList(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}
