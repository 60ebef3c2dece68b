package cupti

// result is a CUptiResult.
type result int32

const (
	resultMaxLimit result = 12 // no more records in a buffer
)

// flushForced is CUPTI_ACTIVITY_FLAG_FLUSH_FORCED.
const flushForced = 1

// functions is CUPTI, and what is needed of the driver, as a table of
// functions, so that tests put their own in place.
type functions struct {
	version      func(v *uint32) result
	resultString func(r result) string
	// register says where CUPTI gets its buffers and hands them back. Both are
	// called on any thread, at any time.
	register func(requested func(buffer, size, maxRecords *uintptr), completed func(buffer, valid uintptr)) result
	enable   func(k activity) result
	disable  func(k activity) result
	flush    func(flags uint32) result
	// next moves *record to the next one in the buffer, or from 0 to the first.
	next      func(buffer, valid uintptr, record *uintptr) result
	dropped   func(n *uintptr) result
	timestamp func(ns *uint64) result
	push      func(kind uint32, id uint64) result
	pop       func(kind uint32) result
	// callName is a function's name by its domain and id; "" for none.
	callName func(d domain, id uint32) string

	// text is the C text at an address, or "" where nothing can be read.
	text func(at uintptr) string
	// alloc gives memory that C code may keep, until free.
	alloc func(size int) ([]byte, error)
	free  func(memory []byte) error
	// wait returns when the device has done its work: in the context of this
	// thread, and in every device's primary one. No context is no error.
	wait func() error
	// sample sets n bytes of device memory and copies them to pageable memory,
	// in a context that is there; it says false where there is none.
	sample func(n int) (bool, error)
}

// domain is a CUpti_CallbackDomain.
type domain uint32

const (
	domainDriver  domain = 1
	domainRuntime domain = 2
)
