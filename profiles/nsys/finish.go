package nsys

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"gputax/profiles"
	"gputax/profiles/internal/cudaapi"
)

// finish puts what was read in order and says what is missing.
func (im *importer) finish() error {
	if im.rec.Ops.Len() == 0 {
		return errors.New("nothing of a GPU: no kernel, copy or memset; profile with nsys profile --trace=cuda,nvtx")
	}
	if len(im.siteOf) == 0 {
		im.rec.Source.Unseen[profiles.CallSites] = "the export has no ranges around operators; torch.autograd.profiler.emit_nvtx records them"
	} else {
		im.rec.Source.Unseen[profiles.CallSites] = "an nsys export has no lines of a program, only operators"
	}
	im.rec.Sort()
	im.notes.Apply()
	cudaapi.Unnest(im.rec)
	if im.bad > 0 {
		im.warnf("%d rows end before they start and are left out", im.bad)
	}
	if im.orphans > 0 && im.has(runtimeTable) {
		im.warnf("%d of %d kernels, copies and memsets have no call in the export: they belong to no step or phase", im.orphans, im.rec.Ops.Len())
	}
	im.hiddenGraphs()
	if len(im.threads) > 1<<16 {
		im.warnf("%d threads: those after the first %d are taken for one", len(im.threads), 1<<16)
	}
	if err := im.diagnostics(); err != nil {
		return err
	}
	return im.rec.CheckValid()
}

func (im *importer) warnf(format string, args ...any) {
	im.rec.Warnings = append(im.rec.Warnings, fmt.Sprintf(format, args...))
}

// hiddenGraphs says when graphs were replayed and their kernels not traced.
func (im *importer) hiddenGraphs() {
	const how = "nsys profile --cuda-graph-trace=node traces them"
	if im.graphs > 0 {
		im.warnf("%d graph replays were traced as a whole and count as one kernel each; %s", im.graphs, how)
		return
	}
	launches := 0
	for _, c := range im.rec.Calls.All() {
		if c.Kind == profiles.CallGraphLaunch {
			launches++
		}
	}
	for _, o := range im.rec.Ops.All() {
		if o.InGraph {
			return
		}
	}
	if launches > 0 {
		im.warnf("%d graph replays, and nothing of what they ran; %s", launches, how)
	}
}

// diagnostics passes on what nsys itself warns of: buffers that ran full lose
// events.
func (im *importer) diagnostics() error {
	if !im.has("DIAGNOSTIC_EVENT", "severity", "text") {
		return nil
	}
	levels, err := im.enum("ENUM_DIAGNOSTIC_SEVERITY_LEVEL")
	if err != nil {
		return err
	}
	const most = 5
	n := 0
	err = im.scan("select severity, text from DIAGNOSTIC_EVENT", func(v []driver.Value) error {
		level := levels[integer(v[0])]
		if level != "Warning" && level != "Error" && level != "Fatal" {
			return nil
		}
		if n++; n <= most {
			im.warnf("nsys: %s", strings.Join(strings.Fields(text(v[1])), " "))
		}
		return nil
	})
	if n > most {
		im.warnf("nsys: %d more warnings", n-most)
	}
	return err
}
