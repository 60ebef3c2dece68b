package main

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
)

// gpuFields is what nvidia-smi is asked for, and the config keys it goes under.
var gpuFields = []struct{ key, query string }{
	{"gpu", "name"},
	{"gpu-driver", "driver_version"},
	{"gpu-clocks", "clocks.sm"},
	{"gpu-mem-clock", "clocks.mem"},
	{"gpu-throttle", "clocks_throttle_reasons.active"},
	{"gpu-temperature", "temperature.gpu"},
}

// gpuConfig is the state of the card that CUDA has as number ordinal right now,
// as config lines; nothing where nvidia-smi does not tell.
func gpuConfig(ctx context.Context, ordinal string) []benchfmt.Config {
	var queries []string
	for _, f := range gpuFields {
		queries = append(queries, f.query)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi", "-i", visibleGPU(ordinal, os.Getenv("CUDA_VISIBLE_DEVICES")), "--query-gpu="+strings.Join(queries, ","), "--format=csv,noheader").Output()
	if err != nil {
		return nil
	}
	return parseGPU(string(out))
}

// visibleGPU is what nvidia-smi calls the card that CUDA has as number ordinal
// where only the visible ones are shown to it: a list of numbers or UUIDs, or
// nothing for all.
func visibleGPU(ordinal, visible string) string {
	n, err := strconv.Atoi(ordinal)
	if list := strings.Split(visible, ","); visible != "" && err == nil && n >= 0 && n < len(list) {
		return strings.TrimSpace(list[n])
	}
	return ordinal
}

// parseGPU reads one line of nvidia-smi's answer.
func parseGPU(line string) []benchfmt.Config {
	values := strings.Split(strings.TrimSpace(line), ", ")
	if len(values) != len(gpuFields) {
		return nil
	}
	var config []benchfmt.Config
	for i, f := range gpuFields {
		config = append(config, benchfmt.Config{Key: f.key, Value: []byte(values[i]), File: true})
	}
	return config
}
