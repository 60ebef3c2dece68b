package cuda

import (
	"bytes"
	"fmt"
	"strings"
	"unsafe"

	"gputax/device"
)

// function is a kernel on the card, and room for the arguments of a launch: the
// driver takes its copy before the launch returns.
type function struct {
	handle uintptr
	shared int              // the most dynamic shared memory a block may have so far
	slots  []uint64         // the arguments, eight bytes for each
	params []unsafe.Pointer // to each slot
}

// sharedDefault is how much shared memory a block may have, static and dynamic
// together, unless the kernel was told that it may have more.
const sharedDefault = 48 << 10

// function is k on the card. The first use of a module has the driver compile
// it.
func (d *Device) function(k *device.Kernel) (*function, error) {
	if f := d.functions[k]; f != nil {
		return f, nil
	}
	if k.Module == nil || k.Dims == nil {
		return nil, fmt.Errorf("kernel %s has no compiled form for %s: it runs on host and sim devices only", k.Symbol, d.name)
	}
	m, err := d.module(k.Module)
	if err != nil {
		return nil, err
	}
	f := &function{
		slots:  make([]uint64, len(k.Params)),
		params: make([]unsafe.Pointer, len(k.Params)),
	}
	for i := range f.slots {
		f.params[i] = unsafe.Pointer(&f.slots[i])
	}
	if r := d.drv.moduleGetFunction(&f.handle, m, cText(k.Symbol)); r != 0 {
		return nil, d.drv.fail(r, "cuModuleGetFunction(%s of module %s)", k.Symbol, k.Module.Name)
	}
	var static int32
	if r := d.drv.funcGetAttribute(&static, functionStaticShared, f.handle); r != 0 {
		return nil, d.drv.fail(r, "cuFuncGetAttribute(%s)", k.Symbol)
	}
	f.shared = sharedDefault - int(static)
	d.functions[k] = f
	return f, nil
}

// jitLogSize is room for the compiler's complaints; what is beyond is cut off.
const jitLogSize = 8 << 10

func (d *Device) module(m *device.Module) (uintptr, error) {
	if handle, ok := d.modules[m]; ok {
		return handle, nil
	}
	var handle uintptr
	log := make([]byte, jitLogSize)
	if r := d.drv.moduleLoadDataEx(&handle, cText(m.PTX), log); r != 0 {
		err := d.drv.fail(r, "cuModuleLoadDataEx(module %s, %d bytes of PTX)", m.Name, len(m.PTX))
		if text, _, _ := bytes.Cut(log, []byte{0}); len(text) > 0 {
			err.Text += ": " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; ")
		}
		return 0, err
	}
	d.modules[m] = handle
	return handle, nil
}

// cText is s as C reads it.
func cText(s string) []byte { return append([]byte(s), 0) }
