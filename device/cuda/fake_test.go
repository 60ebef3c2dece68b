package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"unsafe"
)

// fake is a card in memory. It keeps what is open and fails where it is told
// to. Work on a stream runs as late as it may: when something waits for it.
type fake struct {
	devices int
	total   int
	fails   map[string]result // by call
	jitLog  string

	next      uintptr // the next handle
	open      map[string]map[uintptr]bool
	current   uintptr
	retained  map[int32]int
	memory    map[uint64][]byte
	pinned    map[unsafe.Pointer][]byte
	symbols   map[uintptr]string   // of functions
	pending   map[uintptr][]func() // by stream
	marks     map[uintptr]uintptr  // the stream that each event was recorded on
	capturing uintptr
	captured  []func()
	graphs    map[uintptr][]func()
	modes     []int32
	launches  []launch
	shared    map[uintptr]int32 // set by funcSetAttribute
	static    int32             // shared memory of every function
	record    bool              // launches
}

// launch is one launch as the driver got it.
type launch struct {
	symbol          string
	grid            [3]uint32
	threads, shared uint32
	stream          uintptr
	args            []uint64
}

func newFake() *fake {
	return &fake{
		devices: 2, total: 1 << 30, next: 100, record: true,
		fails: map[string]result{}, open: map[string]map[uintptr]bool{}, retained: map[int32]int{},
		memory: map[uint64][]byte{}, pinned: map[unsafe.Pointer][]byte{}, symbols: map[uintptr]string{},
		pending: map[uintptr][]func(){}, marks: map[uintptr]uintptr{}, graphs: map[uintptr][]func(){}, shared: map[uintptr]int32{},
	}
}

// opened is a device on a fake card, closed when the test ends.
func opened(t *testing.T, f *fake) *Device {
	t.Helper()
	d, err := f.driver().open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// check is the result of a call that needs a context.
func (f *fake) check(call string) result {
	if r := f.fails[call]; r != 0 {
		return r
	}
	if f.current == 0 {
		return 201
	}
	return 0
}

func (f *fake) make(call, kind string, handle *uintptr) result {
	if r := f.check(call); r != 0 {
		return r
	}
	f.next++
	*handle = f.next
	if f.open[kind] == nil {
		f.open[kind] = map[uintptr]bool{}
	}
	f.open[kind][f.next] = true
	return 0
}

func (f *fake) destroy(call, kind string, handle uintptr) result {
	if r := f.check(call); r != 0 {
		return r
	}
	if !f.open[kind][handle] {
		return 400
	}
	delete(f.open[kind], handle)
	return 0
}

// queue puts work on a stream, or in the graph being captured.
func (f *fake) queue(call string, stream uintptr, work func()) result {
	if r := f.check(call); r != 0 {
		return r
	}
	if !f.open["stream"][stream] {
		return 400
	}
	if stream == f.capturing {
		f.captured = append(f.captured, work)
	} else {
		f.pending[stream] = append(f.pending[stream], work)
	}
	return 0
}

// drain runs what is queued on a stream.
func (f *fake) drain(stream uintptr) {
	for _, work := range f.pending[stream] {
		work()
	}
	f.pending[stream] = f.pending[stream][:0]
}

// at is the memory from addr to the end of its block; pinned memory is where it
// is on the host.
func (f *fake) at(addr uint64) []byte {
	for p, b := range f.pinned {
		if base := uint64(uintptr(p)); addr >= base && addr < base+uint64(len(b)) {
			return b[addr-base:]
		}
	}
	for base, b := range f.memory {
		if addr >= base && addr < base+uint64(len(b)) {
			return b[addr-base:]
		}
	}
	panic(fmt.Sprintf("illegal address %#x", addr))
}

// run does what kernels.cu of the conformance suite does.
func (f *fake) run(l launch) {
	words := func(b []byte) []uint32 { return unsafe.Slice((*uint32)(unsafe.Pointer(&b[0])), len(b)/4) }
	float := func(bits uint64) float32 { return math.Float32frombits(uint32(bits)) }
	switch l.symbol {
	case "devicetest_axpb":
		x := words(f.at(l.args[0]))
		for i := range int(min(uint32(l.args[1]), l.grid[0]*l.threads)) {
			x[i] = math.Float32bits(float32(float(l.args[2])*float(uint64(x[i]))) + float(l.args[3]))
		}
	case "devicetest_push":
		list := words(f.at(l.args[0]))
		list[0]++
		list[list[0]] = uint32(l.args[1])
	}
}

// params is how many bytes each parameter of a kernel has.
var params = map[string][]int{"devicetest_axpb": {8, 4, 4, 4}, "devicetest_push": {8, 4}, "wide": {8, 4, 4, 8}}

// read is the arguments as the card's calling convention finds them.
func read(symbol string, p *unsafe.Pointer) []uint64 {
	args := make([]uint64, len(params[symbol]))
	for i, at := range unsafe.Slice(p, len(args)) {
		b := make([]byte, 8)
		copy(b, unsafe.Slice((*byte)(at), params[symbol][i]))
		args[i] = binary.LittleEndian.Uint64(b)
	}
	return args
}
