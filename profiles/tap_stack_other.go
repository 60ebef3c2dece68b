//go:build !amd64

package profiles

import "runtime"

// framePCs fills pcs with the return addresses on this goroutine's stack.
func framePCs(pcs *[maxFrames]uintptr) { runtime.Callers(3, pcs[:]) }
