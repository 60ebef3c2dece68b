// What the CUDA driver takes by itself, from C: launching, waiting, replaying a
// graph of one kernel, and ways to hand a kernel a few kilobytes. It is what the
// Go rows of BenchmarkLaunch and BenchmarkCost are to be held against.
//
//   nvcc -O2 -arch=native -cubin -o latency.cubin latency.cu
//   nvcc -O2 -arch=native -o latency latency.cu -lcuda
//   for i in 1 2 3; do ./latency; done > latency.txt
//
// A launch differs from process to process more than within one, so run it more
// than once. Each line is the median, least and most of nine times 4,000 calls.
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

struct Params { // 2,304 bytes: 128 routes of 18 nodes, a byte each
  unsigned word[576];
};

extern "C" __global__ void nothing() {}

extern "C" __global__ void read_params(Params p, float *out) { out[threadIdx.x] = p.word[threadIdx.x * 4] + p.word[threadIdx.x * 4 + 1]; }

// A warp adds up a row.
extern "C" __global__ void read_rows(const unsigned *in, float *out, int words) {
  int i = threadIdx.x + blockIdx.x * blockDim.x, row = i / 32, lane = i % 32;
  unsigned sum = 0;
  for (int k = lane; k < words; k += 32) sum += in[row * words + k];
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (lane == 0) out[row] = sum;
}

static void check(CUresult r, const char *what) {
  if (r == CUDA_SUCCESS) return;
  const char *text = "";
  cuGetErrorString(r, &text);
  fprintf(stderr, "%s: %s\n", what, text);
  exit(1);
}
#define CHECK(call) check(call, #call)

static void measure(const char *name, std::function<void()> f) {
  const int calls = 4000;
  double took[9];
  for (int i = 0; i < 300; i++) f();
  for (double &t : took) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; i++) f();
    t = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / calls;
  }
  std::sort(took, took + 9);
  printf("%-44s %6.0f ns (%.0f to %.0f)\n", name, took[4], took[0], took[8]);
}

int main() {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUstream s;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoad(&module, "latency.cubin"));
  CHECK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
  auto function = [&](const char *name) {
    CUfunction f;
    CHECK(cuModuleGetFunction(&f, module, name));
    return f;
  };
  CUfunction nothing = function("nothing"), read_params = function("read_params"), read_rows = function("read_rows");
  void *pinned;
  CUdeviceptr in, out;
  CHECK(cuMemHostAlloc(&pinned, 1 << 20, CU_MEMHOSTALLOC_DEVICEMAP));
  memset(pinned, 0, 1 << 20);
  CHECK(cuMemHostGetDevicePointer(&in, pinned, 0));
  CHECK(cuMemAlloc(&out, 4096));
  Params params = {};
  int words = 17;
  void *with_params[] = {&params, &out}, *with_rows[] = {&in, &out, &words};
  auto wait = [&] { CHECK(cuStreamSynchronize(s)); };
  auto launch = [&] { CHECK(cuLaunchKernel(nothing, 1, 1, 1, 32, 1, 1, 0, s, 0, 0)); };
  auto rows = [&] { CHECK(cuLaunchKernel(read_rows, 32, 1, 1, 128, 1, 1, 0, s, with_rows, 0)); };
  auto graph = [&](std::function<void()> f) {
    CUgraph g;
    CUgraphExec e;
    CHECK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    f();
    CHECK(cuStreamEndCapture(s, &g));
    CHECK(cuGraphInstantiateWithFlags(&e, g, 0));
    return e;
  };
  int n = 0;
  measure("launch, a wait every 200", [&] { launch(), ++n % 200 ? (void)0 : wait(); });
  wait();
  measure("launch and wait", [&] { launch(), wait(); });
  measure("launch with 2,304 bytes of parameters, wait", [&] { CHECK(cuLaunchKernel(read_params, 1, 1, 1, 128, 1, 1, 0, s, with_params, 0)), wait(); });
  measure("launch that reads 8,704 pinned bytes, wait", [&] { rows(), wait(); });
  CUgraphExec one = graph(launch), reads = graph(rows);
  measure("replay of one kernel, wait", [&] { CHECK(cuGraphLaunch(one, s)), wait(); });
  measure("replay that reads 8,704 pinned bytes, wait", [&] { CHECK(cuGraphLaunch(reads, s)), wait(); });
}
