//go:build amd64 || arm64

package cupti

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library calls into a loaded CUPTI. Its methods may be called from any
// goroutine.
type library struct {
	handle  uintptr
	missing string // the first symbol it does not have
}

// load is the first of the libraries of these names that there is, and its
// name.
func load(names []string) (*functions, string, error) {
	var last error
	for _, name := range names {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err != nil {
			if last == nil || !strings.Contains(err.Error(), "No such file") {
				last = err // one that is there and broken says more
			}
			continue
		}
		l := &library{handle: handle}
		fn := l.functions()
		if l.missing != "" {
			return nil, "", fmt.Errorf("cupti: %s has no %s: it is too old, or no CUPTI; name another in %s", name, l.missing, pathVariable)
		}
		d := &driver{}
		fn.wait, fn.sample = d.wait, d.sample
		return fn, name, nil
	}
	return nil, "", fmt.Errorf("cupti: no CUPTI: %s; it comes with the CUDA toolkit and with PyTorch (pip's nvidia-cuda-cupti): name its libcupti.so in %s", strings.ReplaceAll(last.Error(), "\n", "; "), pathVariable)
}

// symbol is the address of a function.
func (l *library) symbol(name string) uintptr {
	at, err := purego.Dlsym(l.handle, name)
	if err != nil && l.missing == "" {
		l.missing = name
	}
	return at
}

// call calls the function at fn. What pointers in args point to must be on the
// heap, which does not move, and be kept alive by the caller.
func call(fn uintptr, args ...uintptr) int32 {
	r, _, _ := purego.SyscallN(fn, args...)
	return int32(r) // of the 64-bit register, a C int has 32
}

// pointer is p as an argument. It hides p from the compiler, which would put a
// new T on the stack, and that moves: see heap.
func pointer[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// heap is a new T on the heap, as whatever leaves a function that is not part of
// its caller.
//
//go:noinline
func heap[T any]() *T { return new(T) }

func (l *library) functions() *functions {
	fn := &functions{alloc: mapped, free: syscall.Munmap, text: textAt}
	version := l.symbol("cuptiGetVersion")
	fn.version = func(v *uint32) result { return result(call(version, pointer(v))) }
	text := l.symbol("cuptiGetResultString")
	fn.resultString = func(r result) string {
		at := heap[uintptr]()
		if call(text, uintptr(r), pointer(at)) != 0 {
			return ""
		}
		return textAt(*at)
	}
	register := l.symbol("cuptiActivityRegisterCallbacks")
	fn.register = func(requested func(buffer, size, maxRecords *uintptr), completed func(buffer, valid uintptr)) result {
		// A context and a stream come first, which are always null.
		back := func(_ uintptr, _ uint32, buffer, _, valid uintptr) { completed(buffer, valid) }
		return result(call(register, purego.NewCallback(requested), purego.NewCallback(back)))
	}
	enable, disable := l.symbol("cuptiActivityEnable"), l.symbol("cuptiActivityDisable")
	fn.enable = func(k activity) result { return result(call(enable, uintptr(k))) }
	fn.disable = func(k activity) result { return result(call(disable, uintptr(k))) }
	flush := l.symbol("cuptiActivityFlushAll")
	fn.flush = func(flags uint32) result { return result(call(flush, uintptr(flags))) }
	next := l.symbol("cuptiActivityGetNextRecord")
	fn.next = func(buffer, valid uintptr, record *uintptr) result {
		return result(call(next, buffer, valid, pointer(record)))
	}
	dropped := l.symbol("cuptiActivityGetNumDroppedRecords")
	fn.dropped = func(n *uintptr) result { return result(call(dropped, 0, 0, pointer(n))) }
	timestamp := l.symbol("cuptiGetTimestamp")
	fn.timestamp = func(ns *uint64) result { return result(call(timestamp, pointer(ns))) }
	push := l.symbol("cuptiActivityPushExternalCorrelationId")
	fn.push = func(kind uint32, id uint64) result { return result(call(push, uintptr(kind), uintptr(id))) }
	pop := l.symbol("cuptiActivityPopExternalCorrelationId")
	fn.pop = func(kind uint32) result { return result(call(pop, uintptr(kind), 0)) }
	name := l.symbol("cuptiGetCallbackName")
	fn.callName = func(d domain, id uint32) string {
		at := heap[uintptr]()
		if call(name, uintptr(d), uintptr(id), pointer(at)) != 0 {
			return ""
		}
		return textAt(*at)
	}
	return fn
}

// mapped is memory of its own, outside the collector's: CUPTI keeps it.
func mapped(size int) ([]byte, error) {
	memory, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes for records: %w", size, err)
	}
	return memory, nil
}

// textAt is the C text at an address, at most 4 KiB of it. It reads through the
// kernel: a name may be gone, with the module that had it, and looking would
// end the process.
func textAt(at uintptr) string {
	if at == 0 {
		return ""
	}
	self, err := os.Open("/proc/self/mem")
	if err != nil {
		return ""
	}
	defer self.Close()
	var text []byte
	for len(text) < 4096 {
		// No piece crosses into the next page, which need not be there.
		chunk := make([]byte, 256-(int(at)+len(text))%256)
		n, err := self.ReadAt(chunk, int64(at)+int64(len(text)))
		for i, b := range chunk[:n] {
			if b == 0 {
				return string(append(text, chunk[:i]...))
			}
		}
		text = append(text, chunk[:n]...)
		if err != nil {
			break
		}
	}
	return string(text)
}
