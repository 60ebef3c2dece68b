//go:build amd64 || arm64

package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"

	"github.com/ebitengine/purego"
)

// Ids of NVTX 3 (nvtxTypes.h).
const (
	nvtxVersion = 3

	exportCalls   = 1 // NVTX_ETID_CALLBACKS
	exportVersion = 3 // NVTX_ETID_VERSIONINFO

	moduleCore      = 1 // NVTX_CB_MODULE_CORE
	coreRangeStartA = 5 // NVTX_CBID_CORE_RangeStartA
	coreRangeEnd    = 7 // NVTX_CBID_CORE_RangeEnd
)

// moduleSizes is how many functions each module has, an unused first one
// included, by module: none, CORE, CUDA, OPENCL, CUDART, CORE2, SYNC.
var moduleSizes = []int{0, 16, 9, 15, 7, 16, 7}

// exports is the memory that a tool is shown, outside the collector's: tables of
// words, each of which holds a number, an address in it, or a function of the
// tool once it has filled it in.
type exports struct {
	memory []byte
	used   int
	calls  uintptr   // the table for exportCalls
	vers   uintptr   // and for exportVersion
	tables []uintptr // by module: addresses of its functions' places
	slots  []int     // by module: where in memory those places begin
}

// word adds a word and returns its address.
func (e *exports) word(v uintptr) uintptr {
	at := e.used
	binary.LittleEndian.PutUint64(e.memory[at:], uint64(v))
	e.used += 8
	return address(&e.memory[at])
}

// function is the tool's, or 0 where it has none.
func (e *exports) function(module, id int) uintptr {
	return uintptr(binary.LittleEndian.Uint64(e.memory[e.slots[module]+8*id:]))
}

func newExports() (*exports, error) {
	memory, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map a page: %w", err)
	}
	e := &exports{memory: memory}
	for _, n := range moduleSizes {
		e.slots = append(e.slots, e.used)
		e.used += 8 * n
	}
	for module, n := range moduleSizes {
		first := e.word(0) // of the unused function, which has no place
		for i := 1; i < n; i++ {
			e.word(address(&memory[e.slots[module]+8*i]))
		}
		e.word(0) // the end
		e.tables = append(e.tables, first)
	}
	e.calls = e.word(16)
	e.word(purego.NewCallback(e.functions))
	e.vers = e.word(24)
	e.word(nvtxVersion)
	e.word(purego.NewCallback(func(uint32) {}))
	return e, nil
}

// functions is GetModuleFunctionTable: it shows a tool the places of a module's
// functions.
func (e *exports) functions(module uint32, table *uintptr, size *uint32) uintptr {
	if module == 0 || int(module) >= len(moduleSizes) {
		return 0
	}
	if table != nil {
		*table = e.tables[module]
	}
	if size != nil {
		*size = uint32(moduleSizes[module])
	}
	return 1
}

// table is NvtxGetExportTable.
func (e *exports) table(id uint32) uintptr {
	switch id {
	case exportCalls:
		return e.calls
	case exportVersion:
		return e.vers
	}
	return 0
}

// attach loads the tool at path, which is never unloaded.
func attach(path string) (*tool, error) {
	handle, err := purego.Dlopen(path, purego.RTLD_LAZY)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	initialize, err := purego.Dlsym(handle, "InitializeInjectionNvtx2")
	if err != nil {
		return nil, errors.New("it has no InitializeInjectionNvtx2: no tool for NVTX 3")
	}
	e, err := newExports()
	if err != nil {
		return nil, err
	}
	if r, _, _ := purego.SyscallN(initialize, purego.NewCallback(e.table)); int32(r) == 0 {
		return nil, errors.New("its InitializeInjectionNvtx2 refused")
	}
	return &tool{
		// A tool may fill in its functions whenever it likes.
		start: func(name []byte) uint64 {
			fn := e.function(moduleCore, coreRangeStartA)
			if fn == 0 {
				return 0
			}
			id, _, _ := purego.SyscallN(fn, address(&name[0]))
			runtime.KeepAlive(name)
			return uint64(id)
		},
		end: func(id uint64) {
			if fn := e.function(moduleCore, coreRangeEnd); fn != 0 {
				purego.SyscallN(fn, uintptr(id))
			}
		},
	}, nil
}
