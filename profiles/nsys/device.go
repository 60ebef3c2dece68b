package nsys

import (
	"fmt"
	"math"
	"strings"

	"gputax/profiles"
)

const (
	kernelTable = "CUPTI_ACTIVITY_KIND_KERNEL"
	copyTable   = "CUPTI_ACTIVITY_KIND_MEMCPY"
	setTable    = "CUPTI_ACTIVITY_KIND_MEMSET"
	graphTable  = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	memoryTable = "CUDA_GPU_MEMORY_USAGE_EVENTS"
)

// device reads what the device did.
func (im *importer) device() error {
	if !im.has(kernelTable) && !im.has(copyTable) && !im.has(setTable) && !im.has(graphTable) {
		return fmt.Errorf("nothing of a GPU: no table %s or %s; profile with nsys profile --trace=cuda,nvtx", kernelTable, copyTable)
	}
	for _, t := range []struct {
		table string
		read  func() error
	}{{kernelTable, im.kernels}, {copyTable, im.memcpy}, {setTable, im.memset}, {graphTable, im.graphTrace}, {memoryTable, im.memory}} {
		if im.has(t.table) {
			if err := t.read(); err != nil {
				return err
			}
		}
	}
	return nil
}

// column is a column's name, or what stands for it where the table lacks it.
func (im *importer) column(table, column, otherwise string) string {
	if im.has(table, column) {
		return column
	}
	return otherwise
}

// common is the columns that every query of ops begins with.
func (im *importer) common(table string) (string, error) {
	if err := im.need(table, "start", "end", "correlationId", "deviceId", "streamId"); err != nil {
		return "", err
	}
	return fmt.Sprintf("start, end, correlationId, %s, deviceId, streamId, ", im.column(table, "globalPid", "0")), nil
}

// op begins an op from the columns of common.
func (im *importer) op(v []int64, kind profiles.OpKind) (profiles.Op, bool) {
	o := profiles.Op{Start: v[0], Dur: v[1] - v[0], Call: -1, Detail: -1, Kind: kind,
		Device: uint8(clamp(v[4], math.MaxUint8)), Stream: int32(clamp(v[5], math.MaxInt32))}
	if o.Dur < 0 {
		im.bad++
		return o, false
	}
	p, ok := im.procs[v[3]]
	if !ok && len(im.procs) == 1 && v[3] == 0 {
		ok = true // there is no column globalPid, and only one process
	}
	if ok && v[2] > 0 {
		if i, found := im.callOf[p].Get(uint64(v[2])); found {
			o.Call = int32(i)
			o.InGraph = im.rec.Calls.At(int(i)).Kind == profiles.CallGraphLaunch
		}
	}
	if o.Call < 0 {
		im.orphans++
	}
	return o, true
}

func clamp(v, most int64) int64 { return min(max(v, 0), most) }

func (im *importer) kernels() error {
	head, err := im.common(kernelTable)
	if err != nil {
		return err
	}
	name := im.column(kernelTable, "demangledName", im.column(kernelTable, "shortName", ""))
	if name == "" {
		return im.need(kernelTable, "demangledName")
	}
	grid, block := "0", "0"
	if im.has(kernelTable, "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ") {
		grid, block = "gridX*gridY*gridZ", "blockX*blockY*blockZ"
	} else {
		im.rec.Source.Unseen[profiles.Layout] = "the export has no grids and blocks"
	}
	columns := head + fmt.Sprintf("%s, %s, %s, %s", name, grid, block, im.column(kernelTable, "graphNodeId", "0"))
	return im.each(columns, kernelTable, func(v []int64, _ string) error {
		o, ok := im.op(v, profiles.OpKernel)
		if !ok {
			return nil
		}
		if o.Name, err = im.name(v[6]); err != nil {
			return err
		}
		o.Blocks, o.Threads = int32(clamp(v[7], math.MaxInt32)), uint16(clamp(v[8], math.MaxUint16))
		o.InGraph = o.InGraph || v[9] != 0
		im.rec.Ops.Add(o)
		return nil
	})
}

// memcpy reads copies. Without the names of directions there is no telling an
// upload from a download, and a gate on them would pass whatever happens.
func (im *importer) memcpy() error {
	head, err := im.common(copyTable)
	if err == nil {
		err = im.need(copyTable, "bytes", "copyKind")
	}
	if err == nil {
		err = im.loadKinds()
	}
	if err != nil {
		return err
	}
	unknown := 0
	names := map[[3]int64]profiles.NameID{}
	columns := head + fmt.Sprintf("bytes, copyKind, ifnull(%s, -1), ifnull(%s, -1), %s", im.column(copyTable, "srcKind", "-1"),
		im.column(copyTable, "dstKind", "-1"), im.column(copyTable, "graphNodeId", "0"))
	return im.each(columns, copyTable, func(v []int64, _ string) error {
		o, ok := im.op(v, profiles.OpCopy)
		if !ok {
			return nil
		}
		d, known := im.copies[v[7]]
		if !known {
			if unknown++; unknown == 1 {
				im.warnf("copies of kind %d, which the export does not name, count in no direction", v[7])
			}
		}
		o.Bytes, o.Dir, o.Mem = max(v[6], 0), d.dir, im.hostMem(d.dir, v[8], v[9])
		o.InGraph = o.InGraph || v[10] != 0
		key := [3]int64{v[7], v[8], v[9]}
		if o.Name, ok = names[key]; !ok {
			o.Name = im.rec.Names.ID(fmt.Sprintf("Memcpy %s (%s -> %s)", d.name, im.kinds[v[8]].name, im.kinds[v[9]].name))
			names[key] = o.Name
		}
		if o.Call >= 0 {
			if c := im.rec.Calls.At(int(o.Call)); c.Kind == profiles.CallCopy {
				c.Bytes += o.Bytes
				c.Blocking = im.apis[c.Name].Blocks(o.Dir, o.Mem)
			}
		}
		im.rec.Ops.Add(o)
		return nil
	})
}

func (im *importer) memset() error {
	head, err := im.common(setTable)
	if err == nil {
		err = im.need(setTable, "bytes")
	}
	if err == nil {
		err = im.loadKinds()
	}
	if err != nil {
		return err
	}
	columns := head + fmt.Sprintf("bytes, ifnull(%s, -1), %s", im.column(setTable, "memKind", "-1"), im.column(setTable, "graphNodeId", "0"))
	return im.each(columns, setTable, func(v []int64, _ string) error {
		if o, ok := im.op(v, profiles.OpMemset); ok {
			o.Bytes, o.Mem = max(v[6], 0), im.kinds[v[7]].mem
			o.Name = im.rec.Names.ID("Memset (" + im.kinds[v[7]].name + ")")
			o.InGraph = o.InGraph || v[8] != 0
			im.rec.Ops.Add(o)
		}
		return nil
	})
}

// graphTrace reads graphs that were traced as a whole: each is one op in the
// place of its kernels.
func (im *importer) graphTrace() error {
	head, err := im.common(graphTable)
	if err != nil {
		return err
	}
	return im.each(head+"0", graphTable, func(v []int64, _ string) error {
		if o, ok := im.op(v, profiles.OpKernel); ok {
			o.Name, o.InGraph = im.rec.Names.ID("CUDA graph"), true
			im.rec.Ops.Add(o)
			im.graphs++
		}
		return nil
	})
}

// memory reads how large allocations were, where nsys was asked to trace them
// (--cuda-memory-usage=true).
func (im *importer) memory() error {
	if !im.has(memoryTable, "bytes", "correlationId", "globalPid") {
		return nil
	}
	return im.each("bytes, correlationId, globalPid", memoryTable, func(v []int64, _ string) error {
		if p, ok := im.procs[v[2]]; ok && v[1] > 0 {
			if i, ok := im.callOf[p].Get(uint64(v[1])); ok {
				if c := im.rec.Calls.At(int(i)); c.Kind == profiles.CallAlloc {
					c.Bytes = max(v[0], 0)
				}
			}
		}
		return nil
	})
}

// memKind is one kind of memory.
type memKind struct {
	name string
	mem  profiles.Mem
}

// direction is one kind of copy.
type direction struct {
	name string
	dir  profiles.Dir
}

// loadKinds reads the enumerations of memory and copies, once.
func (im *importer) loadKinds() error {
	if im.kinds != nil {
		return nil
	}
	im.kinds, im.copies = map[int64]memKind{-1: {"Unknown", profiles.MemUnknown}}, map[int64]direction{}
	mems, err := im.enum("ENUM_CUDA_MEM_KIND")
	if err != nil {
		return err
	}
	if len(mems) == 0 {
		im.warnf("no table ENUM_CUDA_MEM_KIND: which copies are pageable is not known, and none is counted as such; nsys export of 2022 or later writes it")
	}
	for id, name := range mems {
		im.kinds[id] = memKindOf(name)
	}
	dirs, err := im.enum("ENUM_CUDA_MEMCPY_OPER")
	if err != nil {
		return err
	}
	if len(dirs) == 0 && im.has(copyTable) {
		return fmt.Errorf("no table ENUM_CUDA_MEMCPY_OPER: uploads cannot be told from downloads; export the report again with nsys of 2022 or later")
	}
	for id, name := range dirs {
		im.copies[id] = directionOf(name)
	}
	return nil
}

// memKindOf takes CUDA_MEMOPR_MEMORY_KIND_PAGEABLE apart.
func memKindOf(enum string) memKind {
	_, kind, _ := strings.Cut(enum, "MEMORY_KIND_")
	switch kind {
	case "PAGEABLE":
		return memKind{"Pageable", profiles.MemPageable}
	case "PINNED":
		return memKind{"Pinned", profiles.MemPinned}
	case "DEVICE", "DEVICE_STATIC", "ARRAY":
		return memKind{"Device", profiles.MemDevice}
	case "MANAGED", "MANAGED_STATIC":
		return memKind{"Managed", profiles.MemManaged}
	}
	return memKind{"Unknown", profiles.MemUnknown}
}

// directionOf takes CUDA_MEMCPY_KIND_HTOD apart.
func directionOf(enum string) direction {
	_, kind, _ := strings.Cut(enum, "MEMCPY_KIND_")
	switch name := strings.Replace(kind, "TO", "to", 1); strings.TrimPrefix(kind, "UVM_") {
	case "HTOD", "HTOA":
		return direction{name, profiles.HostToDevice}
	case "DTOH", "ATOH":
		return direction{name, profiles.DeviceToHost}
	case "DTOD", "DTOA", "ATOD", "ATOA":
		return direction{name, profiles.DeviceToDevice}
	case "PTOP":
		return direction{name, profiles.PeerToPeer}
	case "HTOH":
		return direction{name, profiles.HostToHost}
	}
	return direction{"Unknown", profiles.DirUnknown}
}

// hostMem is the kind of a copy's host memory.
func (im *importer) hostMem(d profiles.Dir, src, dst int64) profiles.Mem {
	switch d {
	case profiles.HostToDevice, profiles.HostToHost:
		return im.kinds[src].mem
	case profiles.DeviceToHost:
		return im.kinds[dst].mem
	case profiles.DeviceToDevice, profiles.PeerToPeer:
		return profiles.MemDevice
	}
	return profiles.MemUnknown
}
