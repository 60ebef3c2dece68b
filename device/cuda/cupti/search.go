package cupti

import (
	"os"
	"path/filepath"
	"slices"
)

// pathVariable names a library to use instead of any that is found.
const pathVariable = "GPUTAX_CUPTI"

// sonames are what the linker knows the library by, the newest first: it should
// be no older than the driver, and works with newer ones.
var sonames = []string{"libcupti.so.13", "libcupti.so.12", "libcupti.so", "libcupti.so.11.8"}

// patterns are where toolkits and Python's packages put it.
var patterns = []string{
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so*",
	"/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so*",
	"/usr/local/cuda*/targets/*-linux/lib/libcupti.so*",
	"/opt/cuda/extras/CUPTI/lib64/libcupti.so*",
	"/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcupti.so*",
	"/usr/lib/python3*/*-packages/nvidia/*/lib/libcupti.so*",
	"/opt/*/lib/python3*/site-packages/nvidia/*/lib/libcupti.so*",
}

// candidates are the names to try, in order.
func candidates() []string {
	if name := os.Getenv(pathVariable); name != "" {
		return []string{name}
	}
	all := slices.Clone(sonames)
	var where []string
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if home := os.Getenv(name); home != "" {
			where = append(where, filepath.Join(home, "extras/CUPTI/lib64/libcupti.so*"), filepath.Join(home, "targets/*-linux/lib/libcupti.so*"))
		}
	}
	where = append(where, patterns...)
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if home := os.Getenv(name); home != "" {
			where = append(where, filepath.Join(home, "lib/python3*/site-packages/nvidia/*/lib/libcupti.so*"))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		where = append(where, filepath.Join(home, ".local/lib/python3*/site-packages/nvidia/*/lib/libcupti.so*"))
	}
	for _, pattern := range where {
		found, err := filepath.Glob(pattern)
		if err != nil {
			continue // only a malformed pattern: a home with a bracket in it
		}
		slices.Sort(found)
		slices.Reverse(found) // 13 before 12
		all = append(all, found...)
	}
	return slices.Compact(all)
}
