package device

import (
	"fmt"
	"math"
)

// Kernel is one device function.
type Kernel struct {
	// Symbol is the function's name in PTX, in errors and in profiles.
	Symbol string
	// Params is its signature; every launch is held to it.
	Params []Param
	// Check refuses arguments that do not fit each other (a buffer shorter than
	// the scalars say). It may read sizes and scalars, never contents.
	Check func(a Args) error
	// Work declares what one launch costs, from sizes and scalars alone.
	Work func(a Args) Work
	// Body is the reference: what the kernel does, as a Go function.
	Body func(a Args)
	// Module is where Symbol is compiled; nil for a kernel that only has a
	// body.
	Module *Module
	// Dims is how a launch of the compiled form is laid out, from sizes and
	// scalars alone. A launch of no blocks does nothing.
	Dims func(a Args) Dims
}

// Module is compiled kernels: PTX text, which a driver compiles for its card.
type Module struct {
	Name string
	PTX  string
}

// Dims is the layout of one launch.
type Dims struct {
	X, Y, Z int // blocks; Y and Z count as 1 where they are 0
	Threads int // of a block
	Shared  int // bytes of dynamic shared memory a block
}

// Cover is the layout with one thread for each of n items.
func Cover(n, threads int) Dims { return Dims{X: (n + threads - 1) / threads, Threads: threads} }

// Param is one parameter of a kernel.
type Param struct {
	Name string
	Kind Kind
}

// Kind is the kind of a kernel's parameter.
type Kind uint8

const (
	KindBuffer Kind = iota // a Buffer
	KindInt                // an int32
	KindFloat              // a float32
)

func (k Kind) String() string {
	return [...]string{"buffer", "int", "float"}[k]
}

// Arg is one argument of a launch; make it with Buf, Int or Float.
type Arg struct {
	buf  Buffer
	bits uint32
	kind Kind
}

// Buf passes a buffer.
func Buf(b Buffer) Arg { return Arg{buf: b, kind: KindBuffer} }

// Int passes v as an int32; it panics where v is none.
func Int(v int) Arg {
	if int(int32(v)) != v {
		panic(fmt.Sprintf("device: kernel argument %d is no int32", v))
	}
	return Arg{bits: uint32(v), kind: KindInt}
}

// Float passes v.
func Float(v float32) Arg { return Arg{bits: math.Float32bits(v), kind: KindFloat} }

// Args are the arguments of one launch, in the order of Kernel.Params.
type Args []Arg

// Buffer is argument i, a buffer.
func (a Args) Buffer(i int) Buffer { return a[i].buf }

// F32 is the memory of argument i as float32s, for kernel bodies.
func (a Args) F32(i int) []float32 { return View[float32](a[i].buf.Host()) }

// I32 is the memory of argument i as int32s, for kernel bodies.
func (a Args) I32(i int) []int32 { return View[int32](a[i].buf.Host()) }

// U8 is the memory of argument i, for kernel bodies.
func (a Args) U8(i int) []byte { return a[i].buf.Host() }

// Int is argument i, an int.
func (a Args) Int(i int) int { return int(int32(a[i].bits)) }

// Float is argument i, a float32.
func (a Args) Float(i int) float32 { return math.Float32frombits(a[i].bits) }

// Bits is argument i, an int or float, as a kernel receives it: for backends.
func (a Args) Bits(i int) uint32 { return a[i].bits }

// Kind is the kind of argument i.
func (a Args) Kind(i int) Kind { return a[i].kind }

// Words is the length of buffer i in elements of four bytes.
func (a Args) Words(i int) int { return a[i].buf.size / 4 }

// Mapped is how many bytes of pinned memory the launch works on in place: they
// cross the bus.
func (a Args) Mapped() int64 {
	var n int64
	for i := range a {
		if b := a[i].buf; b.block != nil && b.block.Pinned {
			n += int64(b.size)
		}
	}
	return n
}

// Need refuses a buffer i of fewer than n elements of four bytes, and a
// negative n.
func (a Args) Need(i, n int) error {
	if n < 0 || a[i].buf.size < 4*n {
		return fmt.Errorf("argument %d: %d bytes, want %d: %w", i, a[i].buf.size, 4*int64(n), ErrArguments)
	}
	return nil
}

// check holds a launch to the kernel's signature and sizes. It allocates only
// to fail.
func (k *Kernel) check(r *Recorder, a Args) error {
	if len(a) != len(k.Params) {
		return fmt.Errorf("device: kernel %s: %d arguments, want %d: %w", k.Symbol, len(a), len(k.Params), ErrArguments)
	}
	for i := range a {
		if a[i].kind != k.Params[i].Kind {
			return fmt.Errorf("device: kernel %s: argument %d (%s) is of kind %v, want %v: %w",
				k.Symbol, i, k.Params[i].Name, a[i].kind, k.Params[i].Kind, ErrArguments)
		}
		if a[i].kind != KindBuffer {
			continue
		}
		if err := a[i].buf.block.check(r.dev); err != nil {
			return fmt.Errorf("device: kernel %s: argument %d (%s): %w", k.Symbol, i, k.Params[i].Name, err)
		}
	}
	if k.Check == nil {
		return nil
	}
	if err := k.Check(a); err != nil {
		return fmt.Errorf("device: kernel %s: %w", k.Symbol, err)
	}
	return nil
}

// WorkOf is what k declares for a launch with a; nothing where it declares
// nothing.
func (k *Kernel) WorkOf(a Args) Work {
	if k.Work == nil {
		return Work{}
	}
	return k.Work(a)
}
