//go:build !linux || !(amd64 || arm64)

package cuda

import (
	"fmt"
	"runtime"
)

// attach says that tools are not attached to here.
func attach(string) (*tool, error) {
	return nil, fmt.Errorf("tools are attached to on linux/amd64 and linux/arm64 only, and this is %s/%s", runtime.GOOS, runtime.GOARCH)
}
