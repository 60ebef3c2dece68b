// Kernels of package model that work on nodes: embedding, layer norm, sums and
// attention, forward and backward. Each does what the Go body of the kernel of
// that name does. Sums that several threads share are added in a fixed order,
// so that a launch gives the same bits every time.

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

// index is the thread's place among all threads of the launch.
__device__ inline long long index_of() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }

extern __shared__ __align__(16) float space[]; // its size is in Dims

// ---- embedding ----

// token is element c of a node's embedding, in the order of the Go body.
__device__ inline float token(const float *coords, const float *demands, const float *dw, const float *db, const float *cw,
                              const float *cb, int i, int c, int width, bool depot) {
  float x = coords[2 * i], y = coords[2 * i + 1];
  if (depot) return __fadd_rn(__fadd_rn(__fmul_rn(x, dw[c]), __fmul_rn(y, dw[width + c])), db[c]);
  float s = __fadd_rn(__fmul_rn(x, cw[c]), __fmul_rn(y, cw[width + c]));
  return __fadd_rn(__fadd_rn(s, __fmul_rn(demands[i], cw[2 * width + c])), cb[c]);
}

extern "C" __global__ void model_embed(float *x, const float *coords, const float *demands, const float *dw, const float *db,
                                       const float *cw, const float *cb, int batch, int nodes, int width) {
  long long e = index_of();
  if (e >= (long long)batch * nodes * width) return;
  int i = e / width, c = e % width;
  x[e] = token(coords, demands, dw, db, cw, cb, i, c, width, i % nodes == 0);
}

extern "C" __global__ void model_embed_typed(float *x, const float *coords, const float *demands, const float *dw,
                                             const float *db, const float *cw, const float *cb, const int *kind, int from,
                                             int instances, int first, int count, int nodes, int width) {
  long long e = index_of();
  if (e >= (long long)instances * count * width) return;
  int i = e / width, c = e % width;
  i = (from + i / count) * nodes + first + i % count;
  x[(size_t)i * width + c] = token(coords, demands, dw, db, cw, cb, i, c, width, *kind == 0);
}

// Blocks that sum over rows have 8 columns, a whole sector of memory, by as
// many rows as fit.
const int columns = 8;

// fold adds the sums of all rows of a column, a fixed tree; the result is valid
// where the row is 0.
__device__ inline float fold(float *scratch, float x) {
  scratch[threadIdx.x] = x;
  __syncthreads();
  for (int half = blockDim.x / 2; half >= columns; half /= 2) {
    if (threadIdx.x < half) scratch[threadIdx.x] += scratch[threadIdx.x + half];
    __syncthreads();
  }
  x = scratch[threadIdx.x % columns];
  __syncthreads();
  return x;
}

extern "C" __global__ void __launch_bounds__(512)
    model_embed_backward(const float *dx, const float *coords, const float *demands, float *dw, float *db, float *cw,
                         float *cb, int batch, int nodes, int width) {
  __shared__ float scratch[512];
  int c = blockIdx.x * columns + threadIdx.x % columns, row = threadIdx.x / columns, rows = blockDim.x / columns;
  float d0 = 0, d1 = 0, d2 = 0, w0 = 0, w1 = 0, w2 = 0, w3 = 0;
  if (c < width) {
#pragma unroll 4
    for (int i = row; i < batch * nodes; i += rows) {
      float v = dx[(size_t)i * width + c], px = coords[2 * i], py = coords[2 * i + 1];
      if (i % nodes == 0) {
        d0 += px * v, d1 += py * v, d2 += v;
      } else {
        w0 += px * v, w1 += py * v, w2 += demands[i] * v, w3 += v;
      }
    }
  }
  d0 = fold(scratch, d0), d1 = fold(scratch, d1), d2 = fold(scratch, d2);
  w0 = fold(scratch, w0), w1 = fold(scratch, w1), w2 = fold(scratch, w2), w3 = fold(scratch, w3);
  if (row == 0 && c < width) {
    dw[c] = d0, dw[width + c] = d1, db[c] = d2;
    cw[c] = w0, cw[width + c] = w1, cw[2 * width + c] = w2, cb[c] = w3;
  }
}

// ---- sums ----

extern "C" __global__ void __launch_bounds__(512) model_sum_rows(float *dst, const float *x, int rows, int width) {
  __shared__ float scratch[512];
  int c = blockIdx.x * columns + threadIdx.x % columns, first = threadIdx.x / columns;
  float sum = 0;
  if (c < width) {
#pragma unroll 8
    for (int i = first; i < rows; i += blockDim.x / columns) sum += x[(size_t)i * width + c];
  }
  sum = fold(scratch, sum);
  if (first == 0 && c < width) dst[c] = sum;
}

// sum_group is the sum over i < group of x[b,i,c] for the thread's b and c, in
// order.
__device__ inline float sum_group(const float *x, long long e, int group, int width) {
  const float *at = x + e / width * group * width + e % width;
  float sum = 0;
#pragma unroll 4
  for (int i = 0; i < group; i++) sum += at[(size_t)i * width];
  return sum;
}

extern "C" __global__ void model_mean(float *mean, const float *x, int batch, int nodes, int width) {
  long long e = index_of();
  if (e < (long long)batch * width) mean[e] = sum_group(x, e, nodes, width) * (1.0f / nodes);
}

extern "C" __global__ void model_sum_steps(float *sum, const float *x, int batch, int steps, int width) {
  long long e = index_of();
  if (e < (long long)batch * width) sum[e] = sum_group(x, e, steps, width);
}

extern "C" __global__ void model_relu_backward(float *dx, const float *y, int n) {
  long long i = index_of();
  if (i < n && !(y[i] > 0)) dx[i] = 0;
}

extern "C" __global__ void model_zero(float *x, int n) {
  long long i = index_of();
  if (i < n) x[i] = 0;
}

// ---- layer norm: one warp a row ----

// sum may be b, so neither is restrict. A warp keeps its row in shared memory;
// a lane reads only what it wrote.
extern "C" __global__ void model_add_norm(float *y, float *sum, const float *a, const float *b, const float *gamma,
                                          const float *beta, float *mean, float *rstd, int rows, int width) {
  float *row = space + (size_t)warp_of() * width;
  long long r = (long long)blockIdx.x * (blockDim.x / 32) + warp_of();
  if (r >= rows) return;
  size_t at = (size_t)r * width;
  float s = 0;
#pragma unroll 4
  for (int c = lane_of(); c < width; c += 32) {
    float v = a[at + c] + b[at + c];
    row[c] = v;
    sum[at + c] = v;
    s += v;
  }
  float mu = warp_sum(s) / width;
  s = 0;
  for (int c = lane_of(); c < width; c += 32) {
    float d = row[c] - mu;
    s += d * d;
  }
  float scale = 1 / sqrtf(warp_sum(s) / width + 1e-5f);
  for (int c = lane_of(); c < width; c += 32) y[at + c] = (row[c] - mu) * scale * gamma[c] + beta[c];
  if (lane_of() == 0) mean[r] = mu, rstd[r] = scale;
}

// norm_rows is how many rows a block of norm_backward takes.
const int norm_rows = 32;

// norm_backward_row adds a row's share of dgamma and dbeta to the warp's sums,
// then overwrites dx.
__device__ inline void norm_backward_row(float *dx, const float *x, const float *gamma, float mu, float scale, float *sums,
                                         int width) {
  float plain = 0, scaled = 0;
#pragma unroll 4
  for (int c = lane_of(); c < width; c += 32) {
    float d = dx[c], hat = (x[c] - mu) * scale, g = d * gamma[c];
    sums[c] += d * hat;
    sums[width + c] += d;
    plain += g;
    scaled += g * hat;
  }
  plain = warp_sum(plain) / width;
  scaled = warp_sum(scaled) / width;
  for (int c = lane_of(); c < width; c += 32) {
    float hat = (x[c] - mu) * scale;
    dx[c] = (dx[c] * gamma[c] - plain - hat * scaled) * scale;
  }
}

// The blocks' sums meet in scratch: the last block to arrive, told by the
// counter in its first word, adds them in their order and leaves scratch zero.
extern "C" __global__ void __launch_bounds__(512)
    model_norm_backward(float *dx, const float *x, const float *gamma, const float *mean, const float *rstd, float *dgamma,
                        float *dbeta, float *scratch, int rows, int width) {
  __shared__ bool last;
  int warps = blockDim.x / 32;
  float *sums = space + (size_t)warp_of() * 2 * width;
  for (int c = lane_of(); c < 2 * width; c += 32) sums[c] = 0;
  __syncwarp();
  int end = min(rows, (int)(blockIdx.x + 1) * norm_rows);
  for (int r = blockIdx.x * norm_rows + warp_of(); r < end; r += warps)
    norm_backward_row(dx + (size_t)r * width, x + (size_t)r * width, gamma, mean[r], rstd[r], sums, width);
  __syncthreads();
  unsigned *arrived = (unsigned *)scratch;
  float *partial = scratch + 1;
  for (int c = threadIdx.x; c < 2 * width; c += blockDim.x) {
    float s = 0;
    for (int w = 0; w < warps; w++) s += space[(size_t)w * 2 * width + c];
    partial[(size_t)blockIdx.x * 2 * width + c] = s;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(arrived, 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (int c = threadIdx.x; c < 2 * width; c += blockDim.x) {
    float s = 0;
#pragma unroll 16
    for (int g = 0; g < gridDim.x; g++) s += __ldcg(partial + (size_t)g * 2 * width + c);
    for (int g = 0; g < gridDim.x; g++) partial[(size_t)g * 2 * width + c] = 0;
    if (c < width) dgamma[c] += s;
    else dbeta[c - width] += s;
  }
  if (threadIdx.x == 0) *arrived = 0;
}

// ---- attention: one block for a head of an instance, one warp a query ----

__device__ inline float dot(const float *x, const float *y, int n) {
  float s = 0;
  int i = 0;
  if (((size_t)x | (size_t)y) % 16 == 0) {
    for (; i + 4 <= n; i += 4) {
      float4 a = *(const float4 *)(x + i), b = *(const float4 *)(y + i);
      s += a.x * b.x + a.y * b.y + (a.z * b.z + a.w * b.w);
    }
  }
  for (; i < n; i++) s += x[i] * y[i];
  return s;
}

// combine is out[i] = the sum over j < n of weight[j] * rows[j*ld+i], i < dim,
// by one warp. Where dim is small, lanes share out the j.
__device__ inline void combine(float *out, const float *weight, const float *rows, int n, int ld, int dim) {
  int shares = dim < 32 ? 32 / dim : 1;
  int share = lane_of() / dim, first = lane_of() % dim;
  if (shares == 1) share = 0, first = lane_of();
  for (int i0 = 0; i0 < dim; i0 += 32) {
    int i = i0 + first;
    float s = 0;
    if (share < shares && i < dim)
      for (int j = share; j < n; j += shares) s += weight[j] * rows[(size_t)j * ld + i];
    float all = s;
    for (int k = 1; k < shares; k++) all += __shfl_sync(~0u, s, (lane_of() + k * dim) % 32);
    if (share == 0 && i < dim) out[i] = all;
  }
}

// Every warp keeps a row of probabilities in shared memory.
extern "C" __global__ void model_attention(float *out, float *probs, const float *q, const float *k, const float *v,
                                           const unsigned char *mask, int batch, int heads, int queries, int keys, int dim,
                                           int ldq, int ldkv, int ldo, float scale) {
  int b = blockIdx.x / heads, h = blockIdx.x % heads;
  float *row = space + (size_t)warp_of() * keys;
  k += (size_t)b * keys * ldkv + h * dim;
  v += (size_t)b * keys * ldkv + h * dim;
  for (int i = warp_of(); i < queries; i += blockDim.x / 32) {
    size_t r = (size_t)b * queries + i;
    const float *query = q + r * ldq + h * dim;
    float top = -INFINITY;
    for (int j = lane_of(); j < keys; j += 32) {
      float s = -INFINITY;
      if (!mask || !mask[r * keys + j]) s = scale * dot(query, k + (size_t)j * ldkv, dim);
      row[j] = s;
      top = fmaxf(top, s);
    }
    top = warp_max(top);
    float sum = 0;
    for (int j = lane_of(); j < keys; j += 32) sum += row[j] = expf(row[j] - top);
    sum = warp_sum(sum);
    float *kept = probs + ((size_t)blockIdx.x * queries + i) * keys;
    for (int j = lane_of(); j < keys; j += 32) kept[j] = row[j] = row[j] / sum;
    __syncwarp();
    combine(out + r * ldo + h * dim, row, v, keys, ldkv, dim);
    __syncwarp();
  }
}

// Queries are taken in chunks whose score gradients fit in shared memory; every
// thread adds the chunks to elements of dk and dv of its own.
extern "C" __global__ void model_attention_backward(float *dq, float *dk, float *dv, const float *dout, const float *probs,
                                                    const float *q, const float *k, const float *v, int batch, int heads,
                                                    int queries, int keys, int dim, int ldq, int ldkv, int ldo,
                                                    float scale) {
  int b = blockIdx.x / heads, h = blockIdx.x % heads, warps = blockDim.x / 32;
  int chunk = keys > 0 ? max(warps, 10240 / keys) : 1;
  size_t key = (size_t)b * keys * ldkv + h * dim, query = (size_t)b * queries;
  k += key, v += key, dk += key, dv += key;
  probs += (size_t)blockIdx.x * queries * keys;
  q += query * ldq + h * dim, dq += query * ldq + h * dim, dout += query * ldo + h * dim;
  for (int i0 = 0; i0 == 0 || i0 < queries; i0 += chunk) {
    int n = min(chunk, queries - i0);
    for (int i = warp_of(); i < n; i += warps) {
      float *row = space + (size_t)i * keys;
      const float *up = dout + (size_t)(i0 + i) * ldo, *p = probs + (size_t)(i0 + i) * keys;
      float s = 0;
      for (int j = lane_of(); j < keys; j += 32) {
        row[j] = dot(up, v + (size_t)j * ldkv, dim);
        s += p[j] * row[j];
      }
      s = warp_sum(s);
      for (int j = lane_of(); j < keys; j += 32) row[j] = (row[j] - s) * p[j] * scale;
      __syncwarp();
      combine(dq + (size_t)(i0 + i) * ldq, row, k, keys, ldkv, dim);
    }
    __syncthreads();
    for (int e = threadIdx.x; e < keys * dim; e += blockDim.x) {
      int j = e / dim, c = e % dim;
      size_t at = (size_t)j * ldkv + c;
      float gk = i0 > 0 ? dk[at] : 0, gv = i0 > 0 ? dv[at] : 0;
#pragma unroll 4
      for (int i = 0; i < n; i++) {
        gk += space[(size_t)i * keys + j] * q[(size_t)(i0 + i) * ldq + c];
        gv += probs[(size_t)(i0 + i) * keys + j] * dout[(size_t)(i0 + i) * ldo + c];
      }
      dk[at] = gk, dv[at] = gv;
    }
    __syncthreads();
  }
}
