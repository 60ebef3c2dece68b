package cupti

import (
	"sync"
	"unsafe"
)

// bufferSize is how many bytes CUPTI gets at a time: some 8000 records.
const bufferSize = 1 << 20

// maxSpare is how many buffers are kept for the next session.
const maxSpare = 64

// pool hands buffers to CUPTI and takes them back. CUPTI calls it on threads of
// the program, in the middle of a driver's call, and on its own: it does as
// little as it can.
type pool struct {
	alloc func(size int) ([]byte, error)
	free  func(memory []byte) error

	mu     sync.Mutex
	spare  [][]byte
	out    map[uintptr][]byte // with CUPTI, by address
	full   []buffer
	failed error // why there was no buffer
}

// buffer is one that CUPTI has filled.
type buffer struct {
	memory []byte
	valid  int // bytes
}

func newPool(alloc func(size int) ([]byte, error), free func(memory []byte) error) *pool {
	return &pool{alloc: alloc, free: free, out: map[uintptr][]byte{}}
}

// requested gives CUPTI an empty buffer. Where there is no memory it gives none,
// and CUPTI drops records and counts them.
func (p *pool) requested(buffer, size, maxRecords *uintptr) {
	*buffer, *size, *maxRecords = 0, 0, 0
	p.mu.Lock()
	defer p.mu.Unlock()
	var memory []byte
	if n := len(p.spare); n > 0 {
		memory, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		var err error
		if memory, err = p.alloc(bufferSize); err != nil {
			p.failed = err
			return
		}
	}
	at := address(memory)
	p.out[at] = memory
	*buffer, *size = at, uintptr(len(memory))
}

// completed puts a buffer aside that CUPTI is done with.
func (p *pool) completed(at, valid uintptr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	memory, ok := p.out[at]
	if !ok {
		return // none of ours
	}
	delete(p.out, at)
	if valid == 0 {
		p.spare = append(p.spare, memory)
		return
	}
	p.full = append(p.full, buffer{memory, int(min(valid, uintptr(len(memory))))})
}

// take is every buffer that was put aside, in order.
func (p *pool) take() []buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	full := p.full
	p.full = nil
	return full
}

// giveBack keeps some buffers for later, and frees the others.
func (p *pool) giveBack(full []buffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range full {
		if len(p.spare) < maxSpare {
			p.spare = append(p.spare, b.memory)
		} else if err := p.free(b.memory); err != nil {
			p.failed = err
		}
	}
}

// failure is why CUPTI last got no buffer, or nil.
func (p *pool) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// address is where memory begins. It is not moved: it is outside the
// collector's, or on its heap, where nothing moves.
func address(memory []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(memory))) }
