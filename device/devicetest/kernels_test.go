package devicetest

import "testing"

func TestCompiled(t *testing.T) { Compiled(t, "kernels.cu", Kernels()...) }
