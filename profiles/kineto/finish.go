package kineto

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gputax/profiles"
	"gputax/profiles/internal/cudaapi"
)

// finish joins what was read, puts it in order and says what is missing.
func (im *importer) finish() (*profiles.Recording, error) {
	if err := im.enough(); err != nil {
		return nil, err
	}
	orphans := im.join()
	im.rec.Sort()
	im.sites()
	im.notes.Apply()
	cudaapi.Unnest(im.rec)
	im.warn(orphans)
	if err := im.rec.CheckValid(); err != nil {
		return nil, fmt.Errorf("kineto: %w", err)
	}
	return im.rec, nil
}

// enough refuses traces that cannot say what a GPU did.
func (im *importer) enough() error {
	n := &im.count
	if n[catKernel]+n[catMemcpy]+n[catMemset] > 0 {
		return nil
	}
	all := 0
	for _, k := range n {
		all += k
	}
	switch {
	case n[catRuntime] > 0:
		return errors.New("kineto: the trace has calls of CUDA but nothing that the GPU did: no kernel ran in the steps it is of, or CUPTI was refused (torch.profiler warns of that)")
	case all > 0:
		return errors.New("kineto: the trace has nothing of a GPU: profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]")
	}
	return errors.New("kineto: none of the events is of torch.profiler")
}

// join points ops to their calls, and tells the calls of copies how many bytes
// they moved. It returns how many ops have no call.
func (im *importer) join() (orphans int) {
	for _, o := range im.rec.Ops.All() {
		i, ok := im.callOf.Get(uint64(uint32(o.Call)))
		if !ok {
			o.Call = -1
			orphans++
			continue
		}
		o.Call = int32(i)
		c := im.rec.Calls.At(int(i))
		o.InGraph = o.InGraph || c.Kind == profiles.CallGraphLaunch
		if o.Kind == profiles.OpCopy && c.Kind == profiles.CallCopy {
			c.Bytes += o.Bytes
			c.Blocking = im.apis[c.Name].Blocks(o.Dir, o.Mem)
		}
	}
	return orphans
}

// warn says what a reader should know.
func (im *importer) warn(orphans int) {
	say := func(n int, format string, args ...any) {
		if n > 0 {
			im.rec.Warnings = append(im.rec.Warnings, fmt.Sprintf(format, args...))
		}
	}
	say(im.bad, "%d events lack a time, a size or well-formed arguments and are left out or count 0 bytes", im.bad)
	say(im.aimless, "%d copies do not say which way they went, and count as neither uploads nor downloads", im.aimless)
	if im.count[catRuntime] == 0 {
		say(1, "no calls of the CUDA runtime: syncs and allocations are not counted, and nothing can be put to a step")
	} else {
		say(orphans, "%d of %d kernels, copies and memsets have no call in the trace: they belong to no step or phase", orphans, im.rec.Ops.Len())
	}
	say(im.clashes, "%d correlation ids are used twice: of several processes in one trace some calls are taken for others'", im.clashes)
	if len(im.threads) > 1<<16 {
		say(1, "%d threads: those after the first %d are taken for one", len(im.threads), 1<<16)
	}
}

// setting keeps what a top-level field says about the run.
func (im *importer) setting(key string, value []byte) {
	add := func(k, v string) {
		if v != "" {
			im.rec.Config = append(im.rec.Config, profiles.Setting{Key: k, Value: v})
		}
	}
	switch key {
	case "deviceProperties":
		var devices []struct{ Name string }
		if json.Unmarshal(value, &devices) == nil {
			for _, d := range devices {
				add("device", d.Name)
			}
		}
	case "cuda_driver_version", "cuda_runtime_version":
		if v, ok := integer(value); ok {
			what, _ := strings.CutSuffix(key, "_version")
			add(strings.ReplaceAll(what, "_", " "), fmt.Sprintf("%d.%d", v/1000, v%1000/10))
		}
	case "cupti_version":
		add("cupti", string(value))
	case "distributedInfo":
		var d struct {
			Rank  int
			World int `json:"world_size"`
		}
		if json.Unmarshal(value, &d) == nil && d.World > 1 {
			add("rank", fmt.Sprintf("%d of %d", d.Rank, d.World))
		}
	}
}
