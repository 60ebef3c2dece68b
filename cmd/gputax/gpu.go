package main

import (
	"context"
	"os/exec"
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

// gpuConfig is the state of card number ordinal right now, as config lines;
// nothing where nvidia-smi does not tell.
func gpuConfig(ctx context.Context, ordinal string) []benchfmt.Config {
	var queries []string
	for _, f := range gpuFields {
		queries = append(queries, f.query)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi", "-i", ordinal, "--query-gpu="+strings.Join(queries, ","), "--format=csv,noheader").Output()
	if err != nil {
		return nil
	}
	return parseGPU(string(out))
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
