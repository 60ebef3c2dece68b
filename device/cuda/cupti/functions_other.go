//go:build !linux || !(amd64 || arm64)

package cupti

import (
	"fmt"
	"runtime"
)

// load says that there is no CUPTI to be found.
func load([]string) (*functions, string, error) {
	return nil, "", fmt.Errorf("cupti: CUPTI is loaded on linux/amd64 and linux/arm64 only, and this is %s/%s", runtime.GOOS, runtime.GOARCH)
}
