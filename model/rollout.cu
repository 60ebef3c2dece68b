// The fused rollout of package model: all decoding steps of an instance in one
// block. The reference is kernels_rollout.go.
//
// A step is a chain of short sums, so its latency is what counts. Each warp has
// whole heads of the glimpse, and all warps choose the node, each for itself
// and all the same, so that a step waits for the other warps only twice: before
// and after the logits.

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

extern __shared__ __align__(16) float space[]; // its size is in Dims

const float clip = 10;
const float slack = 1e-6f;
const int warps = 8;

__device__ inline float inv_sqrt(int n) { return (float)(1 / sqrt((double)n)); }

__device__ inline unsigned long long mix(unsigned long long x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ x >> 27) * 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// stream is the part of uniform that does not change over steps.
__device__ inline unsigned long long stream(const int *control) {
  unsigned long long h = mix((unsigned long long)(unsigned)control[1] << 32 | (unsigned)control[0]);
  return mix(h ^ (unsigned)control[2]);
}

__device__ inline float uniform(unsigned long long stream, int instance, int t) {
  unsigned long long h = mix(stream ^ ((unsigned long long)(unsigned)instance << 32 | (unsigned)t));
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

// Instance is what a block works on: its nodes, in shared or in device memory,
// and the vectors of a step in shared memory.
struct Instance {
  int nodes, width, heads, dim;
  float head_scale, score_scale;    // 1/sqrt of dim, of width
  const float *keys;                // element c of node j is at c*kc + j*kj
  int kc, kj;
  const float *values;              // rows vj apart
  int vj;
  const float *place, *logits;      // [nodes, width]: a node's part of the query, of the score
  const float *fixed, *weight;      // [width]
  const float *demands;             // [nodes]
  float *glimpse;                   // [width]
  float *score;                     // [nodes]
  float *query;                     // [warps, dim]: each warp's own from here on
  float *row;                       // [warps, nodes]
  unsigned char *visited, *mask;    // [warps, nodes]
};

// mask_row hides from the vehicle at cur what it cannot visit next, and says
// whether no customer is left. A lane writes only its own nodes.
__device__ inline bool mask_row(const Instance &in, float capacity, int cur) {
  bool done = true;
  for (int j = lane_of(); j < in.nodes; j += 32) {
    if (j == 0) continue;
    bool seen = in.visited[j];
    done = done && seen;
    in.mask[j] = seen || in.demands[j] > __fadd_rn(capacity, slack);
  }
  done = __all_sync(~0u, done);
  if (lane_of() == 0) in.mask[0] = cur == 0 && !done;
  __syncwarp();
  return done;
}

// attend computes head h of the glimpse, by one warp.
__device__ inline void attend(const Instance &in, int h, float capacity, int cur) {
  int first = h * in.dim;
  for (int i = lane_of(); i < in.dim; i += 32) {
    int c = first + i;
    in.query[i] = in.fixed[c] + in.place[(size_t)cur * in.width + c] + capacity * in.weight[c];
  }
  __syncwarp();
  float top = -INFINITY;
  for (int j = lane_of(); j < in.nodes; j += 32) {
    float s = -INFINITY;
    if (!in.mask[j]) {
      const float *key = in.keys + (size_t)j * in.kj + (size_t)first * in.kc;
      float s0 = 0, s1 = 0;
      int i = 0;
#pragma unroll 4
      for (; i + 2 <= in.dim; i += 2) {
        s0 = fmaf(in.query[i], key[i * in.kc], s0);
        s1 = fmaf(in.query[i + 1], key[(i + 1) * in.kc], s1);
      }
      if (i < in.dim) s0 = fmaf(in.query[i], key[i * in.kc], s0);
      s = in.head_scale * (s0 + s1);
    }
    in.row[j] = s;
    top = fmaxf(top, s);
  }
  top = warp_max(top);
  float sum = 0;
  for (int j = lane_of(); j < in.nodes; j += 32) sum += in.row[j] = expf(in.row[j] - top);
  float part = 1 / warp_sum(sum);
  __syncwarp();
  // Where heads are narrow, lanes share out the nodes.
  int shares = in.dim < 32 ? 32 / in.dim : 1;
  int share = shares > 1 ? lane_of() / in.dim : 0, place = shares > 1 ? lane_of() % in.dim : lane_of();
  for (int i0 = 0; i0 < in.dim; i0 += 32) {
    int i = i0 + place;
    float s = 0;
    if (share < shares && i < in.dim) {
#pragma unroll 4
      for (int j = share; j < in.nodes; j += shares) s = fmaf(in.row[j], in.values[(size_t)j * in.vj + first + i], s);
    }
    float all = s;
    for (int k = 1; k < shares; k++) all += __shfl_sync(~0u, s, (lane_of() + k * in.dim) % 32);
    if (share == 0 && i < in.dim) in.glimpse[first + i] = all * part;
  }
  __syncwarp();
}

// rate computes the scores of the warp's nodes, clip*tanh of the products of
// the glimpse with their keys; a hidden node's is -Inf. It does two nodes at
// once, so that their sums overlap.
__device__ inline void rate(const Instance &in) {
  for (int j = warp_of(); j < in.nodes; j += 2 * warps) {
    int other = min(j + warps, in.nodes - 1);
    const float *x = in.logits + (size_t)j * in.width, *y = in.logits + (size_t)other * in.width;
    float s = 0, t = 0;
#pragma unroll 4
    for (int c = lane_of(); c < in.width; c += 32) {
      float g = in.glimpse[c];
      s = fmaf(g, x[c], s);
      t = fmaf(g, y[c], t);
    }
    for (int d = 16; d > 0; d /= 2) {
      s += __shfl_xor_sync(~0u, s, d);
      t += __shfl_xor_sync(~0u, t, d);
    }
    // Lane 0 has the one, lane 1 the other, where there is one.
    int node = j + lane_of() * warps;
    if (lane_of() < 2 && node < in.nodes)
      in.score[node] = in.mask[node] ? -INFINITY : clip * tanhf((lane_of() ? t : s) * in.score_scale);
  }
}

// choose is the next node, and adds its log-probability to logprob; every warp
// finds the same.
__device__ inline int choose(const Instance &in, float u, bool greedy, float &logprob) {
  float top = -INFINITY;
  for (int j = lane_of(); j < in.nodes; j += 32) top = fmaxf(top, in.score[j]);
  top = warp_max(top);
  float sum = 0;
  for (int j = lane_of(); j < in.nodes; j += 32) sum += expf(in.score[j] - top);
  float log_sum = logf(warp_sum(sum));
  for (int j = lane_of(); j < in.nodes; j += 32) in.row[j] = expf((in.score[j] - top) - log_sum);
  __syncwarp();
  int node = greedy ? largest(in.row, in.nodes) : inverse(in.row, u, in.nodes);
  logprob += (in.score[node] - top) - log_sum;
  __syncwarp();
  return node;
}

// roll decodes all steps. Once no customer is left only the depot can follow,
// with probability 1.
__device__ inline void roll(const Instance &in, int *actions, float *logprob, const int *control, int steps, bool greedy) {
  unsigned long long draws = stream(control);
  int cur = 0, t = 0;
  float capacity = 1, total = 0;
  for (; t < steps; t++) {
    if (mask_row(in, capacity, cur)) break;
    for (int h = warp_of(); h < in.heads; h += warps) attend(in, h, capacity, cur);
    __syncthreads();
    rate(in);
    __syncthreads();
    cur = choose(in, uniform(draws, blockIdx.x, t), greedy, total);
    if (threadIdx.x == 0) actions[t] = cur;
    if (cur == 0) {
      capacity = 1;
    } else {
      capacity = __fsub_rn(capacity, in.demands[cur]);
      if (lane_of() == cur % 32) in.visited[cur] = 1;
    }
  }
  for (t += threadIdx.x; t < steps; t += blockDim.x) actions[t] = 0;
  if (threadIdx.x == 0) *logprob = total;
}

// room is the shared memory a block may use, in words: Hopper's 227 KiB less
// what is static.
const int room = 56320;

// stage copies the nodes' vectors to shared memory, the keys column by column
// with an odd stride, so that lanes with different nodes read different banks.
__device__ inline void stage(Instance &in, float *at, const float *kvl, const float *place, const float *logits) {
  int n = in.nodes * in.width, odd = in.nodes | 1;
  float *keys = at, *values = keys + in.width * odd, *places = values + n, *rates = places + n;
#pragma unroll 4
  for (int e = threadIdx.x; e < n; e += blockDim.x) {
    int j = e / in.width, c = e % in.width;
    const float *node = kvl + (size_t)j * 3 * in.width;
    keys[c * odd + j] = node[c];
    values[e] = node[in.width + c];
    places[e] = place[e];
    rates[e] = logits[e];
  }
  in.keys = keys, in.kc = odd, in.kj = 1;
  in.values = values, in.vj = in.width;
  in.place = places, in.logits = rates;
}

extern "C" __global__ void __launch_bounds__(256)
    model_rollout(int *actions, float *logprob, const float *kvl, const float *place, const float *logits, const float *fixed,
                  const float *weight, const float *demands, const int *control, int batch, int nodes, int width, int heads,
                  int steps, int greedy) {
  size_t b = blockIdx.x;
  int n = nodes * width;
  kvl += b * n * 3, place += b * n, logits += b * n, actions += b * steps, logprob += b;

  Instance in;
  in.nodes = nodes, in.width = width, in.heads = heads, in.dim = width / heads;
  in.head_scale = inv_sqrt(in.dim), in.score_scale = inv_sqrt(width);
  float *fixed_at = space, *weight_at = fixed_at + width;
  in.glimpse = weight_at + width;
  in.score = in.glimpse + width;
  float *demands_at = in.score + nodes, *query = demands_at + nodes, *row = query + warps * in.dim;
  unsigned char *visited = (unsigned char *)(row + warps * nodes), *mask = visited + warps * nodes;
  float *rest = row + warps * nodes + (2 * warps * nodes + 3) / 4;
  in.fixed = fixed_at, in.weight = weight_at, in.demands = demands_at;
  in.query = query + warp_of() * in.dim, in.row = row + warp_of() * nodes;
  in.visited = visited + warp_of() * nodes, in.mask = mask + warp_of() * nodes;

  for (int c = threadIdx.x; c < width; c += blockDim.x) fixed_at[c] = fixed[b * width + c], weight_at[c] = weight[c];
  for (int j = threadIdx.x; j < nodes; j += blockDim.x) demands_at[j] = demands[b * nodes + j];
  for (int j = lane_of(); j < nodes; j += 32) in.visited[j] = 0;
  if ((rest - space) + 3ll * n + (long long)width * (nodes | 1) <= room) {
    stage(in, rest, kvl, place, logits);
    __syncthreads();
    roll(in, actions, logprob, control, steps, greedy);
  } else {
    in.keys = kvl, in.kc = 1, in.kj = 3 * width;
    in.values = kvl + width, in.vj = 3 * width;
    in.place = place, in.logits = logits;
    __syncthreads();
    roll(in, actions, logprob, control, steps, greedy);
  }
}
