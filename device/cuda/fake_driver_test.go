package cuda

import (
	"bytes"
	"unsafe"
)

// names are CUDA's, for the results that the tests look for.
var names = map[result]string{
	1: "CUDA_ERROR_INVALID_VALUE", 2: "CUDA_ERROR_OUT_OF_MEMORY", 218: "CUDA_ERROR_INVALID_PTX",
	500: "CUDA_ERROR_NOT_FOUND", 700: "CUDA_ERROR_ILLEGAL_ADDRESS", 803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
}

// driver is the card's driver.
func (f *fake) driver() *driver {
	d := &driver{
		errorName:         func(r result) string { return names[r] },
		errorString:       func(r result) string { return "text of " + names[r] },
		init:              func(uint32) result { return f.fails["init"] },
		driverGetVersion:  func(v *int32) result { *v = 13010; return f.fails["driverGetVersion"] },
		deviceGetCount:    func(n *int32) result { *n = int32(f.devices); return f.fails["deviceGetCount"] },
		deviceGet:         func(dev *int32, ordinal int32) result { *dev = ordinal; return f.fails["deviceGet"] },
		deviceGetName:     func(b []byte, _ int32) result { copy(b, "NVIDIA Fake\x00"); return f.fails["deviceGetName"] },
		deviceTotalMem:    func(n *uintptr, _ int32) result { *n = uintptr(f.total); return f.fails["deviceTotalMem"] },
		primaryCtxRelease: func(dev int32) result { f.retained[dev]--; return f.fails["primaryCtxRelease"] },
	}
	d.deviceGetAttribute = func(v *int32, a, _ int32) result {
		*v = map[int32]int32{attributeMajor: 9, attributeMinor: 0, attributeShared: 227 << 10}[a]
		return f.fails["deviceGetAttribute"]
	}
	d.primaryCtxRetain = func(ctx *uintptr, dev int32) result {
		if r := f.fails["primaryCtxRetain"]; r != 0 {
			return r
		}
		f.retained[dev]++
		*ctx = uintptr(1000 + dev)
		return 0
	}
	d.ctxSetCurrent = func(ctx uintptr) result {
		f.current = ctx
		return f.fails["ctxSetCurrent"]
	}
	f.fillMemory(d)
	f.fillStreams(d)
	f.fillModules(d)
	f.fillGraphs(d)
	return d
}

func (f *fake) used() (n int) {
	for _, b := range f.memory {
		n += len(b)
	}
	return n
}

func (f *fake) fillMemory(d *driver) {
	d.memGetInfo = func(free, total *uintptr) result {
		*free, *total = uintptr(f.total-f.used()), uintptr(f.total)
		return f.check("memGetInfo")
	}
	d.memAlloc = func(addr *uint64, size uintptr) result {
		if r := f.check("memAlloc"); r != 0 {
			return r
		}
		if f.used()+int(size) > f.total {
			return resultOutOfMemory
		}
		f.next++
		*addr = uint64(f.next) << 40
		f.memory[*addr] = bytes.Repeat([]byte{0xa5}, int(size)) // not zeroed
		return 0
	}
	d.memFree = func(addr uint64) result {
		if r := f.check("memFree"); r != 0 {
			return r
		}
		if f.memory[addr] == nil {
			return 1
		}
		for s := range f.pending {
			f.drain(s)
		}
		delete(f.memory, addr)
		return 0
	}
	d.memHostAlloc = func(p *unsafe.Pointer, size uintptr, _ uint32) result {
		if r := f.check("memHostAlloc"); r != 0 {
			return r
		}
		b := bytes.Repeat([]byte{0xa5}, int(size))
		*p = unsafe.Pointer(&b[0])
		f.pinned[*p] = b
		return 0
	}
	d.memFreeHost = func(p unsafe.Pointer) result {
		if r := f.check("memFreeHost"); r != 0 {
			return r
		}
		if f.pinned[p] == nil {
			return 1
		}
		delete(f.pinned, p)
		return 0
	}
	d.memsetD8Async = func(addr uint64, value uint8, size, stream uintptr) result {
		return f.queue("memset", stream, func() { copy(f.at(addr), bytes.Repeat([]byte{value}, int(size))) })
	}
	d.memcpyHtoDAsync = func(dst uint64, src unsafe.Pointer, size, stream uintptr) result {
		return f.queue("upload", stream, func() { copy(f.at(dst), unsafe.Slice((*byte)(src), size)) })
	}
	d.memcpyDtoHAsync = func(dst unsafe.Pointer, src uint64, size, stream uintptr) result {
		return f.queue("download", stream, func() { copy(unsafe.Slice((*byte)(dst), size), f.at(src)) })
	}
}

func (f *fake) fillStreams(d *driver) {
	d.streamCreate = func(s *uintptr, flags uint32) result {
		if flags != streamNonBlocking {
			return 1
		}
		return f.make("streamCreate", "stream", s)
	}
	d.streamDestroy = func(s uintptr) result { return f.destroy("streamDestroy", "stream", s) }
	d.streamSynchronize = func(s uintptr) result {
		f.drain(s)
		return f.queue("streamSynchronize", s, func() {})
	}
	d.streamWaitEvent = func(s, e uintptr, _ uint32) result {
		if !f.open["event"][e] {
			return 400
		}
		return f.queue("streamWaitEvent", s, func() { f.drain(f.marks[e]) })
	}
	d.eventCreate = func(e *uintptr, flags uint32) result {
		if flags != eventDisableTiming && flags != 0 {
			return 1
		}
		return f.make("eventCreate", "event", e)
	}
	d.eventSynchronize = func(e uintptr) result {
		f.drain(f.marks[e])
		return f.queue("eventSynchronize", f.marks[e], func() {})
	}
	d.eventElapsedTime = func(ms *float32, start, end uintptr) result {
		if !f.open["event"][start] || !f.open["event"][end] || start == end {
			return 400
		}
		*ms = 1.5
		return f.check("eventElapsedTime")
	}
	d.eventDestroy = func(e uintptr) result { return f.destroy("eventDestroy", "event", e) }
	d.eventRecord = func(e, s uintptr) result {
		if !f.open["event"][e] {
			return 400
		}
		f.marks[e] = s
		return f.queue("eventRecord", s, func() {})
	}
}

func (f *fake) fillModules(d *driver) {
	d.moduleLoadDataEx = func(m *uintptr, ptx, log []byte) result {
		if ptx[len(ptx)-1] != 0 {
			return 200
		}
		copy(log, f.jitLog)
		return f.make("moduleLoadDataEx", "module", m)
	}
	d.moduleUnload = func(m uintptr) result { return f.destroy("moduleUnload", "module", m) }
	d.moduleGetFunction = func(fn *uintptr, m uintptr, name []byte) result {
		if r := f.check("moduleGetFunction"); r != 0 {
			return r
		}
		symbol := string(name[:len(name)-1])
		if !f.open["module"][m] || params[symbol] == nil {
			return 500
		}
		f.next++
		*fn = f.next
		f.symbols[*fn] = symbol
		return 0
	}
	d.funcGetAttribute = func(v *int32, a int32, _ uintptr) result {
		*v = map[int32]int32{functionStaticShared: f.static}[a]
		return f.check("funcGetAttribute")
	}
	d.funcSetAttribute = func(fn uintptr, a, v int32) result {
		if a != functionMaxDynamicShared || v < 0 {
			return 1
		}
		f.shared[fn] = v
		return f.check("funcSetAttribute")
	}
	d.launchKernel = func(fn uintptr, grid [3]uint32, threads, shared uint32, stream uintptr, p *unsafe.Pointer) result {
		if !f.record {
			return f.check("launchKernel")
		}
		if grid[0] > 1<<31-1 || shared > uint32(max(f.shared[fn], sharedDefault-f.static)) {
			return 1
		}
		l := launch{f.symbols[fn], grid, threads, shared, stream, read(f.symbols[fn], p)}
		f.launches = append(f.launches, l)
		return f.queue("launchKernel", stream, func() { f.run(l) })
	}
}

func (f *fake) fillGraphs(d *driver) {
	d.streamBeginCapture = func(s uintptr, mode int32) result {
		f.modes = append(f.modes, mode)
		if r := f.check("streamBeginCapture"); r != 0 {
			return r
		}
		f.capturing, f.captured = s, nil
		return 0
	}
	d.streamEndCapture = func(s uintptr, g *uintptr) result {
		if f.capturing != s {
			return 401
		}
		f.capturing = 0
		if r := f.make("streamEndCapture", "graph", g); r != 0 {
			return r
		}
		f.graphs[*g] = f.captured
		return 0
	}
	d.graphInstantiate = func(exec *uintptr, g uintptr, _ uint64) result {
		if r := f.make("graphInstantiate", "exec", exec); r != 0 {
			return r
		}
		f.graphs[*exec] = f.graphs[g]
		return 0
	}
	d.graphLaunch = func(exec, s uintptr) result {
		if !f.open["exec"][exec] {
			return 400
		}
		return f.queue("graphLaunch", s, func() {
			for _, work := range f.graphs[exec] {
				work()
			}
		})
	}
	d.graphExecDestroy = func(exec uintptr) result { return f.destroy("graphExecDestroy", "exec", exec) }
	d.graphDestroy = func(g uintptr) result { return f.destroy("graphDestroy", "graph", g) }
}
