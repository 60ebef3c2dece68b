//go:build cu

// Package cushim is what gorgonia.org/cu v0.9.6 needs to be measured beside
// other bindings: a header for building it against CUDA 13 (cuda.h), and a
// cuInit that lets a program go on where there is no card. cu calls cuInit in
// its init and ends the process when that fails, before a test could skip.
package cushim

/*
#cgo linux LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>

// The linker finds this one before the driver's, which it calls.
int cuInit(unsigned int flags) {
	int (*driver)(unsigned int) = (int (*)(unsigned int))dlsym(RTLD_NEXT, "cuInit");
	if (driver) driver(flags);
	return 0;
}
*/
import "C"
