package profiles

// framePCs fills pcs with the return addresses on this goroutine's stack, by
// frame pointers. That takes a tenth of the time of runtime.Callers, which
// decodes tables for each frame; but inlined functions are not told apart, so
// it only serves to find a stack that was seen before.
//
//go:noescape
func framePCs(pcs *[maxFrames]uintptr)
