package device

import "errors"

// What can go wrong, for errors.Is. The wrapping errors say with what.
var (
	ErrFreed       = errors.New("used after free")
	ErrForeign     = errors.New("belongs to another device")
	ErrRange       = errors.New("out of range")
	ErrOutOfMemory = errors.New("out of device memory")
	ErrArguments   = errors.New("wrong kernel arguments")
	ErrCapturing   = errors.New("not possible while a graph is captured")
	ErrStream      = errors.New("no such stream or event")
	ErrSize        = errors.New("bad size")
)
