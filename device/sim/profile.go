package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
)

// Profile holds the constants that a simulated device runs by. Times are in
// nanoseconds, rates in bytes or operations a second.
type Profile struct {
	Name   string // the device is called sim:Name
	About  string // which hardware and software it stands for
	Status string // one of Statuses

	MemoryBytes float64 // device memory

	LaunchHost    float64 // host time of one kernel launch
	LaunchLatency float64 // from the launch to the kernel's start on an idle stream
	LaunchGap     float64 // what a kernel launched by itself takes on its stream beyond one in a graph
	KernelFloor   float64 // the shortest kernel
	FlopsPerS     float64 // kernel arithmetic
	TensorPerS    float64 // kernel arithmetic of matrix units
	MemBytesPerS  float64 // kernel memory traffic

	CopyHost             float64 // host time to issue one copy of any kind
	UploadPageable       float64 // latency of one pageable upload
	UploadPageablePerS   float64 // and its bytes a second
	DownloadPageable     float64
	DownloadPageablePerS float64
	UploadPinned         float64 // latency of one upload from pinned memory
	UploadPinnedPerS     float64
	DownloadPinned       float64
	DownloadPinnedPerS   float64

	SyncHost  float64 // host time of one sync, beyond the waiting
	EventHost float64 // host time to record an event or to wait for one

	GraphHost float64 // host time of one graph replay
	GraphNode float64 // the shortest kernel or copy inside a graph

	AllocHost       float64 // host time of one device allocation
	AllocPinnedHost float64
	FreeHost        float64
	FreeWaits       float64 // 1 where a free waits for the device, as the CUDA driver's does; else 0

	HostCall      float64 // declared host work: one function call
	HostItem      float64 // one scalar step
	HostBytesPerS float64 // bulk bytes
	HostFlopsPerS float64 // bulk arithmetic

	// From says, for each constant by its JSON name, where it comes from.
	From map[string]string

	// Kernels are launches whose time is known, in any order. A launch like one
	// of them takes its time; another of the same kernel, in proportion to its
	// work; one of a kernel that is not there, by the rates above.
	Kernels []KernelTime
}

// KernelTime is what one launch took.
type KernelTime struct {
	Symbol      string  `json:"symbol"`
	Flops       int64   `json:"flops"`
	TensorFlops int64   `json:"tensor_flops,omitempty"`
	Bytes       int64   `json:"bytes"`
	NS          float64 `json:"ns"`
}

// Statuses says what a profile's status may be, and what each means.
var Statuses = map[string]string{
	"measured":    "measured on the hardware by gputax calibrate",
	"fitted":      "fitted to published figures",
	"provisional": "partly assumed, until it is measured",
}

// field is one constant: its name in JSON and where it lives.
type field struct {
	name string
	at   func(*Profile) *float64
	rate bool // must be above zero
}

var fields = []field{
	{"memory_bytes", func(p *Profile) *float64 { return &p.MemoryBytes }, true},
	{"launch_host_ns", func(p *Profile) *float64 { return &p.LaunchHost }, false},
	{"launch_latency_ns", func(p *Profile) *float64 { return &p.LaunchLatency }, false},
	{"launch_gap_ns", func(p *Profile) *float64 { return &p.LaunchGap }, false},
	{"kernel_floor_ns", func(p *Profile) *float64 { return &p.KernelFloor }, false},
	{"flops_per_s", func(p *Profile) *float64 { return &p.FlopsPerS }, true},
	{"tensor_flops_per_s", func(p *Profile) *float64 { return &p.TensorPerS }, true},
	{"mem_bytes_per_s", func(p *Profile) *float64 { return &p.MemBytesPerS }, true},
	{"copy_host_ns", func(p *Profile) *float64 { return &p.CopyHost }, false},
	{"upload_pageable_ns", func(p *Profile) *float64 { return &p.UploadPageable }, false},
	{"upload_pageable_bytes_per_s", func(p *Profile) *float64 { return &p.UploadPageablePerS }, true},
	{"download_pageable_ns", func(p *Profile) *float64 { return &p.DownloadPageable }, false},
	{"download_pageable_bytes_per_s", func(p *Profile) *float64 { return &p.DownloadPageablePerS }, true},
	{"upload_pinned_ns", func(p *Profile) *float64 { return &p.UploadPinned }, false},
	{"upload_pinned_bytes_per_s", func(p *Profile) *float64 { return &p.UploadPinnedPerS }, true},
	{"download_pinned_ns", func(p *Profile) *float64 { return &p.DownloadPinned }, false},
	{"download_pinned_bytes_per_s", func(p *Profile) *float64 { return &p.DownloadPinnedPerS }, true},
	{"sync_host_ns", func(p *Profile) *float64 { return &p.SyncHost }, false},
	{"event_host_ns", func(p *Profile) *float64 { return &p.EventHost }, false},
	{"graph_host_ns", func(p *Profile) *float64 { return &p.GraphHost }, false},
	{"graph_node_ns", func(p *Profile) *float64 { return &p.GraphNode }, false},
	{"alloc_host_ns", func(p *Profile) *float64 { return &p.AllocHost }, false},
	{"alloc_pinned_host_ns", func(p *Profile) *float64 { return &p.AllocPinnedHost }, false},
	{"free_host_ns", func(p *Profile) *float64 { return &p.FreeHost }, false},
	{"free_waits", func(p *Profile) *float64 { return &p.FreeWaits }, false},
	{"host_call_ns", func(p *Profile) *float64 { return &p.HostCall }, false},
	{"host_item_ns", func(p *Profile) *float64 { return &p.HostItem }, false},
	{"host_bytes_per_s", func(p *Profile) *float64 { return &p.HostBytesPerS }, true},
	{"host_flops_per_s", func(p *Profile) *float64 { return &p.HostFlopsPerS }, true},
}

// constant is how a profile file writes one: a value and where it comes from.
type constant struct {
	Value *float64 `json:"value"`
	From  string   `json:"from"`
}

// A name goes into benchmark names, where a slash or a space would split it
// and -digits at its end would read as GOMAXPROCS.
var (
	nameOK   = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)
	nameTail = regexp.MustCompile(`-[0-9]+$`)
)

// CheckName says what is wrong with a profile's name.
func CheckName(name string) error {
	if !nameOK.MatchString(name) || nameTail.MatchString(name) {
		return fmt.Errorf("%q: want letters, digits, '.', '_' and '-', and no -digits at the end", name)
	}
	return nil
}

// ReadProfile reads a profile's JSON. Unknown, missing and impossible fields
// are refused by name; file is what errors call the source.
func ReadProfile(file string, r io.Reader) (*Profile, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("device profile %s: %w", file, err)
	}
	var raw struct {
		Name      string              `json:"name"`
		About     string              `json:"about"`
		Status    string              `json:"status"`
		Constants map[string]constant `json:"constants"`
		Kernels   []KernelTime        `json:"kernels"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&raw); err != nil {
		return nil, fmt.Errorf("device profile %s: %w", file, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("device profile %s: more text after the profile", file)
	}
	p := &Profile{Name: raw.Name, About: raw.About, Status: raw.Status, From: map[string]string{}, Kernels: raw.Kernels}
	if err := CheckName(p.Name); err != nil {
		return nil, fmt.Errorf("device profile %s: field name: %w", file, err)
	}
	if _, ok := Statuses[p.Status]; !ok {
		return nil, fmt.Errorf("device profile %s: field status: %q: want measured, fitted or provisional", file, p.Status)
	}
	for _, f := range fields {
		if err := p.set(f, raw.Constants[f.name]); err != nil {
			return nil, fmt.Errorf("device profile %s: %w", file, err)
		}
	}
	for i, k := range p.Kernels {
		if k.Symbol == "" || k.Flops < 0 || k.TensorFlops < 0 || k.Bytes < 0 || !(k.NS >= 0 && k.NS <= 1e12) {
			return nil, fmt.Errorf("device profile %s: field kernels[%d]: %+v: want a symbol, and nothing below 0 or over 1e12 ns", file, i, k)
		}
	}
	for name := range raw.Constants {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return nil, fmt.Errorf("device profile %s: field constants.%s: no such constant", file, name)
		}
	}
	return p, nil
}

// limit keeps every virtual time well inside 64 bits.
const limit = 1e18

// set checks one constant and stores it.
func (p *Profile) set(f field, c constant) error {
	if c.Value == nil {
		return fmt.Errorf("field constants.%s: missing", f.name)
	}
	v := *c.Value
	switch {
	case v < 0 || v > limit || math.IsNaN(v):
		return fmt.Errorf("field constants.%s: %v: want 0 to %g", f.name, v, limit)
	case f.rate && v < 1:
		return fmt.Errorf("field constants.%s: %v: want at least 1", f.name, v)
	case !f.rate && v > 1e12:
		return fmt.Errorf("field constants.%s: %v ns: want at most 1e12", f.name, v)
	case c.From == "":
		return fmt.Errorf("field constants.%s: no \"from\": say where %v comes from", f.name, v)
	}
	*f.at(p) = v
	p.From[f.name] = c.From
	return nil
}

// Write writes p as ReadProfile reads it: one constant and one kernel a line.
func (p *Profile) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"name\": %s,\n  \"about\": %s,\n  \"status\": %s,\n  \"constants\": {", quote(p.Name), quote(p.About), quote(p.Status))
	for i, f := range fields {
		fmt.Fprintf(&b, "%s\n    %q: {\"value\": %s,\n      \"from\": %s}", comma(i), f.name, quote(*f.at(p)), quote(p.From[f.name]))
	}
	b.WriteString("\n  },\n  \"kernels\": [")
	for i, k := range p.Kernels {
		fmt.Fprintf(&b, "%s\n    %s", comma(i), quote(k))
	}
	b.WriteString("\n  ]\n}\n")
	_, err := w.Write(b.Bytes())
	return err
}

// quote is v as JSON.
func quote(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // only texts and finite numbers come here
	}
	return string(text)
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}
