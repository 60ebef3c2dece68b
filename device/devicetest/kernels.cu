// The conformance suite's kernels; kernels.go says what each computes.

// Multiply and add are rounded apart, as in Go: nvcc would fuse them.
extern "C" __global__ void devicetest_axpb(float *x, int n, float a, float b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = __fadd_rn(__fmul_rn(a, x[i]), b);
}

extern "C" __global__ void devicetest_push(int *list, int v) {
    int length = list[0] + 1;
    list[0] = length;
    list[length] = v;
}
