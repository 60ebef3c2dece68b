//go:build !linux || !(amd64 || arm64)

package cuda

import (
	"fmt"
	"runtime"
)

// load says that there is no driver to be found.
func load(string) (*driver, error) {
	return nil, fmt.Errorf("CUDA is driven on linux/amd64 and linux/arm64 only, and this is %s/%s", runtime.GOOS, runtime.GOARCH)
}
