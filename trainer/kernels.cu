// The trainer's own kernels: costs of routes on the device, the advantage, the
// checks, and Adam. The Go bodies in kernels.go are the reference.

// Places in the status buffer, as in kernels.go.
enum { COST, BASELINE, LOSS, NORM, BAD_PHASE, BAD_STEP, SCALE };
enum { IN_COST = 1, IN_FORWARD, IN_BACKWARD };
const int STEP = 2; // in the control buffer
const int THREADS = 256;
const int PARTS = 264; // blocks of trainer_clip: two on each of 132 multiprocessors

extern "C" __global__ void trainer_copy(int *to, const int *from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

// pcg is the generator of Go's math/rand/v2: a 128-bit state, DXSM output.
struct pcg {
  unsigned long long hi, lo;
  __device__ unsigned long long next() {
    const unsigned long long mulHi = 2549297995355413924ull, mulLo = 4865540595714422341ull;
    const unsigned long long incHi = 6364136223846793005ull, incLo = 1442695040888963407ull;
    unsigned long long h = __umul64hi(lo, mulLo) + hi * mulLo + lo * mulHi;
    lo = lo * mulLo + incLo;
    hi = h + incHi + (lo < incLo);
    h = hi;
    h ^= h >> 32;
    h *= 0xda942042e4dd58b5ull;
    h ^= h >> 48;
    return h * (lo | 1);
  }
  __device__ float uniform() { return (float)((unsigned)(next() >> 32) & 0xffffffu) / 16777216.0f; }
  __device__ int below(unsigned long long n) {
    unsigned long long x = next(), least = (0 - n) % n;
    while (x * n < least) x = next();
    return (int)__umul64hi(x, n);
  }
};

// One thread an instance; the same numbers as vrp.Source.Fill draws.
extern "C" __global__ void trainer_instances(float *coords, float *demands, const int *control, int batch, int nodes, int capacity,
                                             int maxDemand, int firstLo, int firstHi) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= batch) return;
  unsigned long long first = (unsigned long long)(unsigned)firstHi << 32 | (unsigned)firstLo;
  pcg p;
  p.hi = (unsigned long long)(unsigned)control[1] << 32 | (unsigned)control[0];
  p.lo = (first + (unsigned)control[STEP]) * batch + i;
  float *xy = coords + (long long)i * nodes * 2, *d = demands + (long long)i * nodes;
  for (int j = 0; j < 2 * nodes; j++) xy[j] = p.uniform();
  d[0] = 0.0f;
  for (int j = 1; j < nodes; j++) d[j] = (float)(1 + p.below(maxDemand)) / (float)capacity;
}

__device__ float distance(const float *at, int a, int b) {
  double dx = (double)(at[2 * a] - at[2 * b]), dy = (double)(at[2 * a + 1] - at[2 * b + 1]);
  return (float)sqrt(dx * dx + dy * dy);
}

// One warp a route: the edges in parallel, the sum in the loop's order.
extern "C" __global__ void trainer_route_costs(float *costs, const int *actions, const float *coords, int routes, int batch,
                                               int steps, int nodes) {
  int route = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (route >= routes) return;
  const float *at = coords + (long long)(route % batch) * nodes * 2;
  const int *list = actions + (long long)route * steps;
  float sum = 0.0f;
  for (int first = 0; first <= steps; first += 32) {
    int t = first + lane;
    float d = 0.0f;
    if (t <= steps) d = distance(at, t == 0 ? 0 : list[t - 1], t == steps ? 0 : list[t]);
    for (int k = 0; k < 32; k++) sum += __shfl_sync(0xffffffffu, d, k);
  }
  if (lane == 0) costs[route] = sum;
}

// sum adds v over a block of THREADS threads, in the same order every time; all
// threads get it.
__device__ double sum(double v) {
  __shared__ double part[THREADS];
  part[threadIdx.x] = v;
  __syncthreads();
  for (int n = THREADS / 2; n > 0; n /= 2) {
    if (threadIdx.x < n) part[threadIdx.x] += part[threadIdx.x + n];
    __syncthreads();
  }
  double total = part[0];
  __syncthreads();
  return total;
}

__device__ void report(float *status, const int *control, int phase, bool ok) {
  int *words = (int *)status;
  if (!ok && words[BAD_PHASE] == 0) {
    words[BAD_PHASE] = phase;
    words[BAD_STEP] = control[STEP];
  }
}

// One block.
extern "C" __global__ void trainer_advantage(float *advantage, const float *costs, float *status, const int *control, int batch) {
  double mine = 0, base = 0;
  for (int i = threadIdx.x; i < batch; i += THREADS) {
    mine += costs[i];
    base += costs[batch + i];
    advantage[i] = (costs[i] - costs[batch + i]) / (float)batch;
  }
  mine = sum(mine);
  base = sum(base);
  if (threadIdx.x == 0) {
    status[COST] += (float)mine / (float)batch;
    status[BASELINE] += (float)base / (float)batch;
    report(status, control, IN_COST, isfinite(mine) && isfinite(base));
  }
}

// One block.
extern "C" __global__ void trainer_loss(float *status, const float *advantage, const float *logprob, const int *control, int batch) {
  double loss = 0;
  for (int i = threadIdx.x; i < batch; i += THREADS) loss += advantage[i] * logprob[i];
  loss = sum(loss);
  if (threadIdx.x == 0) {
    status[LOSS] = (float)loss;
    report(status, control, IN_FORWARD, isfinite(loss));
  }
}

// finished is true in the block of a grid that comes to it last. The counter is
// back at zero for the next launch.
__device__ bool finished(unsigned *count) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(count, 1) == gridDim.x - 1;
    if (last) *count = 0;
  }
  __syncthreads();
  return last;
}

__device__ double parts[PARTS];
__device__ unsigned clipped, updated;

// Each block adds up its share; the last one adds up the shares, in order.
extern "C" __global__ void trainer_clip(float *status, const float *grads, const int *control, float limit, int n) {
  double squares = 0;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) squares += (double)grads[i] * grads[i];
  squares = sum(squares);
  if (threadIdx.x == 0) parts[blockIdx.x] = squares;
  if (!finished(&clipped)) return;
  squares = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += THREADS) squares += ((volatile double *)parts)[i];
  squares = sum(squares);
  if (threadIdx.x == 0) {
    float norm = (float)sqrt(squares);
    status[NORM] = norm;
    report(status, control, IN_BACKWARD, isfinite(norm));
    status[SCALE] = norm > limit ? limit / norm : 1.0f;
    if (((int *)status)[BAD_PHASE] != 0) status[SCALE] = 0.0f;
  }
}

// Each thread updates its share; the last block counts the step.
extern "C" __global__ void trainer_adam(float *__restrict__ params, float *__restrict__ m, float *__restrict__ v,
                                        const float *__restrict__ grads, const float *status, int *control, const float *rate, int n) {
  const float beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f;
  __shared__ float lr, root;
  int step = control[STEP] + 1;
  // Powers are slow: two warps at once.
  if (threadIdx.x == 0) lr = (float)((double)rate[0] / (1 - pow((double)beta1, (double)step)));
  if (threadIdx.x == 32) root = (float)(1 / (1 - pow((double)beta2, (double)step)));
  __syncthreads();
  if (((const int *)status)[BAD_PHASE] == 0) {
    float scale = status[SCALE];
#pragma unroll 4
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
      float d = __fmul_rn(grads[i], scale);
      float first = __fadd_rn(__fmul_rn(m[i], beta1), __fmul_rn(d, 1 - beta1));
      float second = __fadd_rn(__fmul_rn(v[i], beta2), __fmul_rn(__fmul_rn(d, d), 1 - beta2));
      m[i] = first, v[i] = second;
      params[i] -= __fdiv_rn(__fmul_rn(first, lr), __fadd_rn(__fsqrt_rn(__fmul_rn(second, root)), eps));
    }
  }
  if (finished(&updated) && threadIdx.x == 0) control[STEP] = step;
}
