package cupti

import "encoding/binary"

// Where the fields that are read lie in activity records, in bytes from a
// record's start. CUPTI's records grew from version to version at their ends
// only: these offsets are the same in the headers of CUDA 11.8 (Kernel8,
// Memcpy5, Memset4), 13.0 (Kernel10, Memcpy6) and in bindings generated from
// those of 13.4 (Kernel13, Memcpy7, Memset5). TestHeaders holds them to headers
// where there are some, Library.check to a known copy at run time, and
// Trace.finish every record to the call that caused it.
const (
	recordKind = 0 // uint32, of every record

	apiID          = 4  // uint32: the function
	apiStart       = 8  // uint64, ns, as all times
	apiEnd         = 16 // uint64
	apiProcess     = 24 // uint32
	apiThread      = 28 // uint32
	apiCorrelation = 32 // uint32
	apiResult      = 36 // uint32
	apiSize        = 40

	kernelRegisters   = 6   // uint16, of a thread
	kernelStart       = 16  // uint64
	kernelEnd         = 24  // uint64
	kernelDevice      = 40  // uint32
	kernelContext     = 44  // uint32
	kernelStream      = 48  // uint32
	kernelGrid        = 52  // 3 int32
	kernelBlock       = 64  // 3 int32
	kernelStatic      = 76  // int32, shared memory
	kernelDynamic     = 80  // int32
	kernelCorrelation = 92  // uint32
	kernelName        = 104 // *char
	kernelGraphNode   = 144 // uint64, 0 for none
	kernelGraph       = 156 // uint32, 0 for none
	kernelSize        = 160

	copyKind        = 4  // uint8
	copySource      = 5  // uint8, memory kind
	copyDestination = 6  // uint8
	copyBytes       = 8  // uint64
	copyStart       = 16 // uint64
	copyEnd         = 24 // uint64
	copyDevice      = 32 // uint32
	copyContext     = 36 // uint32
	copyStream      = 40 // uint32
	copyCorrelation = 44 // uint32
	copyGraphNode   = 64 // uint64
	copyGraph       = 72 // uint32
	copySize        = 76

	// Copies between two devices have their own record, alike up to the stream.
	peerCorrelation = 60 // uint32
	peerGraphNode   = 72 // uint64
	peerGraph       = 80 // uint32
	peerSize        = 84

	memsetBytes       = 8  // uint64
	memsetStart       = 16 // uint64
	memsetEnd         = 24 // uint64
	memsetDevice      = 32 // uint32
	memsetContext     = 36 // uint32
	memsetStream      = 40 // uint32
	memsetCorrelation = 44 // uint32
	memsetGraphNode   = 64 // uint64
	memsetGraph       = 72 // uint32
	memsetSize        = 76

	externalKind        = 4  // uint32
	externalID          = 8  // uint64
	externalCorrelation = 16 // uint32
	externalSize        = 20

	markerFlags = 4  // uint32
	markerTime  = 8  // uint64
	markerID    = 16 // uint32
	markerName  = 40 // *char
	markerSize  = 48
)

// record is the bytes of one record, and those after it.
type record []byte

func (r record) u8(at int) uint8   { return r[at] }
func (r record) u16(at int) uint16 { return binary.LittleEndian.Uint16(r[at:]) }
func (r record) u32(at int) uint32 { return binary.LittleEndian.Uint32(r[at:]) }
func (r record) u64(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }

// sizes is how much of each kind of record is read.
var sizes = map[activity]int{
	kindDriver: apiSize, kindRuntime: apiSize, kindKernel: kernelSize, kindKernels: kernelSize, kindCopy: copySize,
	kindPeerCopy: peerSize, kindMemset: memsetSize, kindExternal: externalSize, kindMarker: markerSize,
}
