package device

import (
	"fmt"
	"unsafe"
)

// Block is one allocation, device or pinned. Backends make blocks; everyone
// else holds views of them (Buffer, Pinned).
type Block struct {
	Host   []byte // the memory, where the host can touch it: host, sim and pinned blocks
	Addr   uint64 // its address on the device, where it has one
	Size   int
	Pinned bool // host memory of AllocPinned
	owner  Device
	freed  bool
}

// Buffer is a view of device memory: a whole allocation or a part of one.
// Buffers are values; a part keeps its block alive only as long as the whole
// is not freed. The zero Buffer is empty and valid.
type Buffer struct {
	block     *Block
	off, size int
}

// Size is the view's length in bytes.
func (b Buffer) Size() int { return b.size }

// Slice is the part of b of size bytes at off. Like slicing a slice, it panics
// out of range.
func (b Buffer) Slice(off, size int) Buffer {
	if off < 0 || size < 0 || off+size > b.size {
		panic(fmt.Sprintf("device: slice [%d:+%d] of a buffer of %d bytes", off, size, b.size))
	}
	return Buffer{block: b.block, off: b.off + off, size: size}
}

// Host is the view's memory where the host can touch it (host and sim
// devices), for kernel bodies and backends; nil elsewhere.
func (b Buffer) Host() []byte {
	if b.block == nil || b.block.Host == nil {
		return nil
	}
	return b.block.Host[b.off : b.off+b.size : b.off+b.size]
}

// Addr is the view's address on the device, for backends.
func (b Buffer) Addr() uint64 {
	if b.block == nil {
		return 0
	}
	return b.block.Addr + uint64(b.off)
}

// check refuses a block that is freed or not dev's.
func (b *Block) check(dev Device) error {
	switch {
	case b == nil:
		return nil
	case b.freed:
		return ErrFreed
	case b.owner != dev:
		return ErrForeign
	}
	return nil
}

// Pinned is a view of page-locked host memory, the only kind that a device can
// copy from and to while the host goes on.
type Pinned struct {
	block     *Block
	off, size int
}

// Size is the view's length in bytes.
func (p Pinned) Size() int { return p.size }

// Slice is the part of p of size bytes at off; it panics out of range.
func (p Pinned) Slice(off, size int) Pinned {
	if off < 0 || size < 0 || off+size > p.size {
		panic(fmt.Sprintf("device: slice [%d:+%d] of %d pinned bytes", off, size, p.size))
	}
	return Pinned{block: p.block, off: p.off + off, size: size}
}

// Bytes is the memory itself.
func (p Pinned) Bytes() []byte {
	if p.block == nil {
		return nil
	}
	return p.block.Host[p.off : p.off+p.size : p.off+p.size]
}

// Buffer is the same memory as kernels see it: they read and write it where it
// is, across the bus, without a copy. For a few kilobytes that beats one. It
// counts as mapped bytes.
func (p Pinned) Buffer() Buffer { return Buffer(p) }

// Element is what buffers hold.
type Element interface {
	~uint8 | ~int32 | ~uint32 | ~float32
}

// Bytes is s as bytes, sharing its memory.
func Bytes[T Element](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*int(unsafe.Sizeof(s[0])))
}

// View is b as elements, sharing its memory. It panics where b does not hold
// whole, aligned elements.
func View[T Element](b []byte) []T {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if len(b) == 0 {
		return nil
	}
	if len(b)%size != 0 || uintptr(unsafe.Pointer(&b[0]))%uintptr(size) != 0 {
		panic(fmt.Sprintf("device: %d bytes at this address are no whole elements of %d bytes", len(b), size))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/size)
}
