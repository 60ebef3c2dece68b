// Kernels of package model that work on decoding steps, forward and backward.
// Each does what the Go body of the kernel of that name does. Sums that several
// threads share are added in a fixed order, so that a launch gives the same
// bits every time.

__device__ inline float warp_sum(float x) {
  for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
  return x;
}

__device__ inline float warp_max(float x) {
  for (int d = 16; d > 0; d /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, d));
  return x;
}

__device__ inline int lane_of() { return threadIdx.x % 32; }
__device__ inline int warp_of() { return threadIdx.x / 32; }

// index is the thread's place among all threads of the launch, row the warp's
// among all warps.
__device__ inline long long index_of() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline long long row_of() { return (long long)blockIdx.x * (blockDim.x / 32) + warp_of(); }

extern __shared__ __align__(16) float space[]; // its size is in Dims

const float clip = 10;
const float slack = 1e-6f;

__device__ inline float inv_sqrt(int n) { return (float)(1 / sqrt((double)n)); }

// ---- states: one warp an instance, lane l has the nodes l, l+32, ... ----

// mask_row hides what the vehicle at cur cannot visit next, and says whether no
// customer is left. A lane touches only its own nodes.
__device__ inline bool mask_row(unsigned char *mask, const unsigned char *visited, const float *demands, float capacity,
                                int cur, int nodes) {
  bool done = true;
  for (int j = lane_of(); j < nodes; j += 32) {
    if (j == 0) continue;
    bool seen = visited[j];
    done = done && seen;
    mask[j] = seen || demands[j] > __fadd_rn(capacity, slack);
  }
  done = __all_sync(~0u, done);
  if (lane_of() == 0) mask[0] = cur == 0 && !done;
  return done;
}

// visit moves to node and returns the capacity that remains.
__device__ inline float visit(unsigned char *visited, const float *demands, float capacity, int node) {
  if (node == 0) return 1;
  if (lane_of() == node % 32) visited[node] = 1;
  return __fsub_rn(capacity, demands[node]);
}

extern "C" __global__ void model_start(int *cur, float *capacity, unsigned char *visited, unsigned char *mask, float *logprob,
                                       const float *demands, int batch, int nodes) {
  long long b = row_of();
  if (b >= batch) return;
  size_t at = (size_t)b * nodes;
  for (int j = lane_of(); j < nodes; j += 32) visited[at + j] = 0;
  if (lane_of() == 0) cur[b] = 0, capacity[b] = 1, logprob[b] = 0;
  mask_row(mask + at, visited + at, demands + at, 1, 0, nodes);
}

extern "C" __global__ void model_advance(int *cur, float *capacity, unsigned char *visited, unsigned char *mask,
                                         const int *actions, const float *demands, int batch, int nodes, int steps, int t) {
  long long b = row_of();
  if (b >= batch) return;
  size_t at = (size_t)b * nodes;
  int node = actions[b * steps + t];
  float left = visit(visited + at, demands + at, capacity[b], node);
  mask_row(mask + at, visited + at, demands + at, left, node, nodes);
  if (lane_of() == 0) cur[b] = node, capacity[b] = left;
}

extern "C" __global__ void model_replay(int *cur, float *capacity, unsigned char *mask, unsigned char *active,
                                        unsigned char *visited, const int *actions, const float *demands, int batch,
                                        int nodes, int steps) {
  long long b = row_of();
  if (b >= batch) return;
  unsigned char *seen = (unsigned char *)space + (size_t)warp_of() * nodes; // visited, close by until the end
  demands += (size_t)b * nodes;
  for (int j = lane_of(); j < nodes; j += 32) seen[j] = 0;
  int at = 0;
  float left = 1;
  for (long long r = b * steps; r < (b + 1) * steps; r++) {
    int next = actions[r];
    bool done = mask_row(mask + r * nodes, seen, demands, left, at, nodes);
    if (lane_of() == 0) cur[r] = at, capacity[r] = left, active[r] = !done;
    at = next;
    left = visit(seen, demands, left, at);
  }
  for (int j = lane_of(); j < nodes; j += 32) visited[b * nodes + j] = seen[j];
}

// ---- forward ----

extern "C" __global__ void model_context(float *ctx, float *q, const float *x, const float *fixed, const int *cur,
                                         const float *capacity, int batch, int queries, int nodes, int width) {
  long long e = index_of();
  if (e >= (long long)batch * queries * (width + 1)) return;
  long long r = e / (width + 1), b = r / queries;
  int c = e % (width + 1);
  if (c == width) {
    ctx[e] = capacity[r];
    return;
  }
  ctx[e] = x[((size_t)b * nodes + cur[r]) * width + c];
  q[r * width + c] = fixed[b * width + c];
}

// One warp a query; its lanes share every product of the query with a key.
extern "C" __global__ void model_scores(float *th, const float *q, const float *keys, const unsigned char *mask, int batch,
                                        int queries, int nodes, int width, int ldk) {
  long long r = row_of();
  if (r >= (long long)batch * queries) return;
  const float *query = q + r * width;
  keys += (size_t)(r / queries) * nodes * ldk;
  th += r * nodes, mask += r * nodes;
  float scale = inv_sqrt(width);
  for (int j0 = 0; j0 < nodes; j0 += 4) {
    float s[4] = {};
    bool seen[4];
#pragma unroll
    for (int j = 0; j < 4; j++) seen[j] = j0 + j < nodes && !mask[j0 + j];
#pragma unroll 4
    for (int c = lane_of(); c < width; c += 32) {
      float x = query[c];
#pragma unroll
      for (int j = 0; j < 4; j++)
        if (seen[j]) s[j] = fmaf(x, keys[(size_t)(j0 + j) * ldk + c], s[j]);
    }
#pragma unroll
    for (int j = 0; j < 4; j++) {
      s[j] = warp_sum(s[j]);
      if (lane_of() == 0 && j0 + j < nodes) th[j0 + j] = seen[j] ? tanhf(s[j] * scale) : 0;
    }
  }
}

// log_softmax writes one row of the masked log-softmax of clip*th, by a warp. A
// lane touches only its own nodes.
__device__ inline void log_softmax(float *logp, const float *th, const unsigned char *mask, int nodes) {
  float top = -INFINITY;
  for (int j = lane_of(); j < nodes; j += 32)
    if (!mask[j]) top = fmaxf(top, clip * th[j]);
  top = warp_max(top);
  float sum = 0;
  for (int j = lane_of(); j < nodes; j += 32)
    if (!mask[j]) sum += expf(clip * th[j] - top);
  float log_sum = logf(warp_sum(sum));
  for (int j = lane_of(); j < nodes; j += 32) logp[j] = mask[j] ? -INFINITY : (clip * th[j] - top) - log_sum;
}

__device__ inline unsigned long long mix(unsigned long long x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

__device__ inline float uniform(const int *control, int instance, int t) {
  unsigned long long h = mix((unsigned long long)(unsigned)control[1] << 32 | (unsigned)control[0]);
  h = mix(h ^ (unsigned)control[2]);
  h = mix(h ^ ((unsigned long long)(unsigned)instance << 32 | (unsigned)t));
  return (float)(h >> 40) / 16777216.0f;
}

// inverse is the first node whose cumulative probability exceeds u, or the last
// possible one; every lane goes through them in order and finds the same. It
// does not stop early, so that the reads need not wait for the sums.
__device__ inline int inverse(const float *probs, float u, int nodes) {
  float sum = 0;
  int last = 0, found = -1;
#pragma unroll 8
  for (int j = 0; j < nodes; j++) {
    float p = probs[j];
    if (p > 0) last = j;
    sum = __fadd_rn(sum, p);
    if (found < 0 && sum > u) found = j;
  }
  return found < 0 ? last : found;
}

// largest is the index of the largest number, the lowest of equals, by a warp.
__device__ inline int largest(const float *x, int nodes) {
  float top = -INFINITY;
  int best = 0;
  for (int j = lane_of(); j < nodes; j += 32)
    if (x[j] > top) top = x[j], best = j;
  for (int d = 16; d > 0; d /= 2) {
    float v = __shfl_xor_sync(~0u, top, d);
    int j = __shfl_xor_sync(~0u, best, d);
    if (v > top || (v == top && j < best)) top = v, best = j;
  }
  return best;
}

// One warp an instance, with its probabilities in shared memory.
extern "C" __global__ void model_choose(int *actions, float *logprob, float *logp, float *probs, const float *th,
                                        const unsigned char *mask, const int *control, int batch, int nodes, int steps, int t,
                                        int greedy) {
  long long b = row_of();
  if (b >= batch) return;
  size_t at = (size_t)b * nodes;
  float *chances = space + (size_t)warp_of() * nodes;
  logp += at;
  log_softmax(logp, th + at, mask + at, nodes);
  for (int j = lane_of(); j < nodes; j += 32) probs[at + j] = chances[j] = expf(logp[j]);
  __syncwarp();
  int node = greedy ? largest(chances, nodes) : inverse(chances, uniform(control, b, t), nodes);
  if (lane_of() == node % 32) {
    actions[b * steps + t] = node;
    logprob[b] += logp[node];
  }
}

// One block an instance, one warp a step; what each step adds is kept in shared
// memory and added in order.
extern "C" __global__ void model_route_logprobs(float *logprob, float *logp, const float *th, const unsigned char *mask,
                                                const int *actions, const unsigned char *active, int batch, int steps,
                                                int nodes) {
  long long first = (long long)blockIdx.x * steps;
  for (int t = warp_of(); t < steps; t += blockDim.x / 32) {
    long long r = first + t, at = r * nodes;
    log_softmax(logp + at, th + at, mask + at, nodes);
    int node = actions[r];
    if (lane_of() == node % 32) space[t] = active[r] ? logp[at + node] : 0;
  }
  __syncthreads();
  if (threadIdx.x > 0) return;
  float sum = 0;
  for (int t = 0; t < steps; t++) sum += space[t];
  logprob[blockIdx.x] = sum;
}

// ---- backward ----

extern "C" __global__ void model_scores_gradient(float *d, const float *logp, const float *th, const unsigned char *mask,
                                                 const int *actions, const unsigned char *active, const float *advantage,
                                                 int batch, int steps, int nodes, int width) {
  long long e = index_of();
  if (e >= (long long)batch * steps * nodes) return;
  long long r = e / nodes;
  float g = 0;
  if (active[r] && !mask[e]) {
    float p = expf(logp[e]);
    if (e % nodes == actions[r]) p -= 1;
    g = -p * (advantage[r / steps] * (clip * inv_sqrt(width))) * (1 - th[e] * th[e]);
  }
  d[e] = g;
}

// A thread for every element of dq and dkeys: an instance's queries first, then
// its nodes.
extern "C" __global__ void model_scores_backward(float *dq, float *dkeys, const float *d, const float *q, const float *keys,
                                                 int batch, int queries, int nodes, int width, int ldk) {
  long long e = index_of(), rows = queries + nodes;
  if (e >= (long long)batch * rows * width) return;
  long long b = e / (rows * width);
  int i = e / width % rows, c = e % width;
  d += b * queries * nodes, q += b * queries * width + c, keys += b * nodes * ldk + c;
  float s = 0;
  if (i < queries) {
#pragma unroll 4
    for (int j = 0; j < nodes; j++) s = fmaf(d[(size_t)i * nodes + j], keys[(size_t)j * ldk], s);
    dq[(b * queries + i) * width + c] = s;
    return;
  }
  i -= queries;
#pragma unroll 4
  for (int j = 0; j < queries; j++) s = fmaf(d[(size_t)j * nodes + i], q[(size_t)j * width], s);
  dkeys[(b * nodes + i) * ldk + c] = s;
}

extern "C" __global__ void model_context_backward(float *dx, const float *dmean, const float *dctx, const int *cur, int batch,
                                                  int steps, int nodes, int width) {
  long long e = index_of();
  if (e >= (long long)batch * nodes * width) return;
  long long b = e / ((long long)nodes * width);
  int j = e / width % nodes, c = e % width;
  float s = dx[e] + dmean[b * width + c] * (1.0f / nodes);
#pragma unroll 4
  for (long long r = b * steps; r < (b + 1) * steps; r++)
    if (cur[r] == j) s += dctx[r * width + c];
  dx[e] = s;
}
