// A whole encoder layer of package model: forward in one kernel, backward in
// one, and the gradients of all its parameters in one. The references are in
// kernels_layer.go.
//
// The nodes of an instance meet only each other, so a block takes the instances
// that fill 16 rows, or 32 where one has more nodes than 16, and does everything
// for them in shared memory; what it reads from device memory is the weights,
// and how fast they come is what most of its time depends on. Check refuses
// sizes that do not fit: widths are multiples of 32, up to 128 and 512 hidden,
// heads multiples of 4, and an instance has up to 32 nodes.

__device__ inline float warp_sum(float x) {
  for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
  return x;
}

__device__ inline int lane_of() { return threadIdx.x % 32; }
__device__ inline int warp_of() { return threadIdx.x / 32; }

extern __shared__ __align__(16) float space[]; // its size is in Dims

const int warps = 16; // of a block of layer and layer_backward
const int ahead = 2;  // how many times 16 steps of a weight matrix a warp has on their way

// tall_of is how many rows the matrices of a block have.
__device__ inline int tall_of(int nodes) { return nodes <= 16 ? 16 : 32; }

__device__ inline float inv_sqrt(int n) { return (float)(1 / sqrt((double)n)); }

// Divisor divides numbers below 576 by one up to 128: for real, it would take
// longer than the rest of the loop.
struct Divisor {
  int by, times;
  __device__ Divisor(int by) : by(by), times(65536 / by + 1) {}
  __device__ int operator()(int x) const { return x * times >> 16; }
};

__device__ inline float4 read4(const float *p) { return __ldg((const float4 *)p); }
__device__ inline float4 &four(float *p) { return *(float4 *)p; }
__device__ inline const float4 &four(const float *p) { return *(const float4 *)p; }
__device__ inline float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__device__ inline float4 operator*(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
__device__ inline float4 operator*(float s, float4 a) { return make_float4(s * a.x, s * a.y, s * a.z, s * a.w); }
__device__ inline float total(float4 a) { return a.x + a.y + (a.z + a.w); }

// ---- products ----

// tf32 rounds to 10 bits of fraction, for tensor cores, which do not look at the
// rest. It is one instruction where the card's own takes four, and does not mind
// what is not a number: a NaN may count as 0 in a product. It stays one in the
// sums around the products, which carry on every row.
__device__ inline float tf32(float x) { return __uint_as_float(__float_as_uint(x) + 0x1000); }
__device__ inline float4 tf32(float4 v) { return make_float4(tf32(v.x), tf32(v.y), tf32(v.z), tf32(v.w)); }

__device__ inline void mma(float (&d)[4], float4 a, float b0, float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(__float_as_uint(a.x)), "r"(__float_as_uint(a.y)), "r"(__float_as_uint(a.z)), "r"(__float_as_uint(a.w)),
        "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}

// Of 16 steps of k, the lane with t = lane%4 has the steps 4t to 4t+3, of a as
// of b; an instruction takes the first two of them, the next the others.
//
// across reads them from a matrix stored k by x, 32 columns from x0 on: f[i].x
// to .w are the columns 4g to 4g+3, g = lane/4, at step i. along reads them from
// one stored x by k: f[i].x to .w are the steps, at column 8i+g.
__device__ inline void across(float4 (&f)[4], const float *p, int ld, int x0, int k0) {
  p += (k0 + lane_of() % 4 * 4) * ld + x0 + lane_of() / 4 * 4;
#pragma unroll
  for (int i = 0; i < 4; i++) f[i] = read4(p + i * ld);
}

__device__ inline void along(float4 (&f)[4], const float *p, int ld, int x0, int k0) {
  p += (x0 + lane_of() / 4) * ld + k0 + lane_of() % 4 * 4;
#pragma unroll
  for (int i = 0; i < 4; i++) f[i] = read4(p + 8 * i * ld);
}

template <bool transposed> __device__ inline void fetch(float4 (&f)[4], const float *p, int ld, int x0, int k0) {
  if (transposed) along(f, p, ld, x0, k0);
  else across(f, p, ld, x0, k0);
}

__device__ inline float part(const float4 &v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }

// element is column r of the fragment's four, at step i.
template <bool transposed> __device__ inline float element(const float4 (&f)[4], int r, int i) {
  return transposed ? part(f[r], i) : part(f[i], r);
}

// multiply adds products of 16 steps: of 32 columns, and of 16 rows or twice
// that. a[p][s] is what the instruction for 16 rows and 8 steps takes.
template <bool transposed, int halves>
__device__ inline void multiply(float (&sum)[halves][4][4], const float4 (&a)[halves][2], const float4 (&b)[4]) {
#pragma unroll
  for (int s = 0; s < 2; s++)
#pragma unroll
    for (int q = 0; q < 4; q++) {
      float b0 = tf32(element<transposed>(b, q, 2 * s)), b1 = tf32(element<transposed>(b, q, 2 * s + 1));
#pragma unroll
      for (int p = 0; p < halves; p++) mma(sum[p][q], a[p][s], b0, b1);
    }
}

// put writes a warp's sums: row(i) is where the rows of a's element i go, and
// columns are in their place.
template <bool transposed, int halves, typename Row> __device__ inline void put(const float (&sum)[halves][4][4], Row row) {
  int t = lane_of() % 4;
#pragma unroll
  for (int p = 0; p < halves; p++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      float *to = row(2 * p + h);
      if (transposed) {
#pragma unroll
        for (int q = 0; q < 4; q++) *(float2 *)(to + 8 * q + 2 * t) = make_float2(sum[p][q][2 * h], sum[p][q][2 * h + 1]);
      } else {
#pragma unroll
        for (int e = 2 * h; e < 2 * h + 2; e++)
          four(to + 8 * t + e % 2 * 4) = make_float4(sum[p][0][e], sum[p][1][e], sum[p][2][e], sum[p][3][e]);
      }
    }
}

// Left is the left operand of a product, in shared memory. For tensor cores it
// lies as they take it: for 16 rows and 8 steps, the lanes' four elements one
// after the other, with a gap that spreads them over the banks. Otherwise it
// lies in rows.
template <int tall, bool tensors> struct Left {
  float *at;
  int columns;
  static const int group = 136, halves = tall / 16;

  // set sets four elements of row r, from a column c on that is a multiple of 4.
  __device__ void set(int r, int c, float4 v) const {
    if (tensors) {
      float *to = at + (r / 16 * (columns / 8) + c / 16 * 2) * group + (r % 8 * 4 + c / 4 % 4) * 4 + r / 8 % 2;
      v = tf32(v);
      to[0] = v.x, to[2] = v.y, to[group] = v.z, to[group + 2] = v.w;
    } else {
      four(at + r * (columns + 4) + c) = v;
    }
  }

  // fragment is all rows at 16 steps.
  __device__ void fragment(float4 (&f)[halves][2], int unit) const {
#pragma unroll
    for (int p = 0; p < halves; p++)
#pragma unroll
      for (int s = 0; s < 2; s++) f[p][s] = four(at + (p * (columns / 8) + 2 * unit + s) * group + lane_of() * 4);
  }
};

// strip is all rows by 32 columns, from n0 on, of a*b, or a*b' where transposed,
// over every shares-th 16 steps of k.
template <bool transposed, int tall>
__device__ inline void strip(float *to, int ld, const Left<tall, true> &a, const float *b, int ldb, int n0, int share, int shares) {
  int units = a.columns / 16;
  float sum[tall / 16][4][4] = {};
  float4 x[tall / 16][2], y[ahead][4];
#pragma unroll
  for (int i = 0; i < ahead; i++)
    if (share + i * shares < units) fetch<transposed>(y[i], b, ldb, n0, (share + i * shares) * 16);
#pragma unroll 1
  for (int u = share; u < units; u += ahead * shares)
#pragma unroll
    for (int i = 0; i < ahead; i++) {
      int now = u + i * shares, next = now + ahead * shares;
      if (now >= units) break;
      a.fragment(x, now);
      multiply<transposed>(sum, x, y[i]);
      if (next < units) fetch<transposed>(y[i], b, ldb, n0, next * 16);
    }
  put<transposed>(sum, [&](int i) { return to + (8 * i + lane_of() / 4) * ld; });
}

template <bool transposed, int tall>
__device__ inline void strip(float *to, int ld, const Left<tall, false> &a, const float *b, int ldb, int n0, int share, int shares) {
  float sum[tall] = {};
  int column = n0 + lane_of(), lda = a.columns + 4;
#pragma unroll 1
  for (int k0 = share * 4; k0 < a.columns; k0 += shares * 4) {
    float4 y;
    if (transposed) y = read4(b + column * ldb + k0);
    else {
      const float *p = b + k0 * ldb + column;
      y = make_float4(__ldg(p), __ldg(p + ldb), __ldg(p + 2 * ldb), __ldg(p + 3 * ldb));
    }
#pragma unroll
    for (int r = 0; r < tall; r++) {
      float4 x = four(a.at + r * lda + k0);
      sum[r] = fmaf(x.w, y.w, fmaf(x.z, y.z, fmaf(x.y, y.y, fmaf(x.x, y.x, sum[r]))));
    }
  }
#pragma unroll
  for (int r = 0; r < tall; r++) to[r * ld + lane_of()] = sum[r];
}

// Product is the result of a block's product: every strip of 32 columns is
// shared out among as many warps as there are for it, whose sums lie one after
// the other.
struct Product {
  float *sums;
  int ld, shares, apart; // of rows, and of shares

  // at is four elements, after a sync.
  __device__ float4 at(int r, int c) const {
    float4 s = four(sums + r * ld + c);
    for (int i = 1; i < shares; i++) s = s + four(sums + i * apart + r * ld + c);
    return s;
  }
};

// times multiplies a by b, of n columns, or transposed of n rows.
template <bool transposed, int tall, bool tensors>
__device__ inline Product times(float *sums, const Left<tall, tensors> &a, const float *b, int n) {
  int strips = n / 32, shares = warps / strips, share = warp_of() / strips, s = warp_of() - share * strips;
  Product p = {sums, n + 4, shares, tall * (n + 4)};
  if (share < shares)
    strip<transposed>(sums + share * p.apart + 32 * s, p.ld, a, b, transposed ? a.columns : n, 32 * s, share, shares);
  __syncthreads();
  return p;
}

// ---- a block's part ----

// Part is the rows of a block, and its matrices in shared memory.
template <int tall, bool tensors> struct Part {
  static const int laps = tall / warps; // rows of a warp, where each has its own
  int nodes, width, heads, hidden, dim;
  int rows;     // of this block
  size_t first; // row of the batch
  size_t pair;  // first element of the probabilities
  Divisor by_nodes, by_dim;
  Left<tall, tensors> one, two, big, wide; // of width columns, twice, hidden, and three times width
  float *sums;
  int apart; // the distance of rows of q, k and v in big's or wide's place

  __device__ Part(int batch, int nodes, int width, int heads, int hidden)
      : nodes(nodes), width(width), heads(heads), hidden(hidden), dim(width / heads), by_nodes(nodes), by_dim(width / heads) {
    int each = tall / nodes, from = blockIdx.x * each;
    rows = min(each, batch - from) * nodes;
    first = (size_t)from * nodes;
    pair = first * heads * nodes;
    apart = 3 * width + 4;
    one = {space, width}, two = {one.at + room(width), width}, big = {two.at + room(width), hidden};
    sums = big.at + room(max(hidden, 3 * width));
    wide = {sums + warps * tall * 36, 3 * width};
  }

  // room is the elements of a matrix of so many columns, however it lies.
  static __device__ int room(int columns) { return 17 * tall / 16 * columns + 4 * tall; }

  // pairs is how many pairs of nodes there are, over all heads, in the order of
  // the probabilities: instance, head, query, key.
  __device__ int pairs() const { return rows * heads * nodes; }
  __device__ int instance(int r) const { return by_nodes(r) * nodes; } // its first row

  // weights is where those of row r, as a query, begin in the first head; the
  // next head's are nodes*nodes further.
  __device__ int weights(int r) const { return instance(r) * heads * nodes + (r - instance(r)) * nodes; }
};

__device__ inline float dot(const float *x, const float *y, int n) {
  float4 s = {};
#pragma unroll 4
  for (int i = 0; i < n; i += 4) s = s + four(x + i) * four(y + i);
  return total(s);
}

// column is the first of a lane's four columns, where a warp has a row.
__device__ inline int column() { return 4 * lane_of(); }

// ---- forward ----

// attend sets two, and att, to the attention of q, k and v side by side in rows.
template <int tall, bool tensors>
__device__ inline void attend(const Part<tall, tensors> &p, const float *rows, float *att, float *probs) {
  float *scores = p.sums, scale = inv_sqrt(p.dim);
#pragma unroll 1
  for (int r = warp_of(); r < p.rows; r += warps) {
    const float *q = rows + r * p.apart, *k = rows + p.instance(r) * p.apart + p.width;
    float *to = scores + p.weights(r);
    for (int e = lane_of(); e < p.heads * p.nodes; e += 32) {
      int h = p.by_nodes(e), j = e - h * p.nodes;
      to[h * p.nodes * p.nodes + j] = scale * dot(q + h * p.dim, k + j * p.apart + h * p.dim, p.dim);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < p.rows * p.heads; i += blockDim.x) {
    float *row = scores + i * p.nodes, top = -INFINITY, sum = 0;
    for (int j = 0; j < p.nodes; j++) top = fmaxf(top, row[j]);
    for (int j = 0; j < p.nodes; j++) sum += row[j] = expf(row[j] - top);
    sum = 1 / sum;
    for (int j = 0; j < p.nodes; j++) row[j] *= sum;
  }
  __syncthreads();
  for (int e = threadIdx.x; e < p.pairs(); e += blockDim.x) probs[p.pair + e] = scores[e];
  int c = column();
  if (c >= p.width) return;
#pragma unroll 1
  for (int r = warp_of(); r < p.rows; r += warps) {
    const float *w = scores + p.weights(r) + p.by_dim(c) * p.nodes * p.nodes, *v = rows + p.instance(r) * p.apart + 2 * p.width + c;
    float4 s = {};
#pragma unroll 4
    for (int j = 0; j < p.nodes; j++) s = s + w[j] * four(v + j * p.apart);
    four(att + (p.first + r) * p.width + c) = s;
    p.two.set(r, c, s);
  }
}

// Norm is a layer norm of rows, a warp each.
struct Norm {
  const float *gamma, *beta;
  float *sum, *y, *mean, *rstd;

  // row is the norm of v, 0 in lanes without a column.
  __device__ float4 row(float4 v, size_t r, int width) const {
    int c = column();
    bool in = c < width;
    float4 g = {}, b = {};
    if (in) g = read4(gamma + c), b = read4(beta + c), four(sum + r * width + c) = v;
    float mu = warp_sum(total(v)) / width;
    if (in) v.x -= mu, v.y -= mu, v.z -= mu, v.w -= mu;
    float scale = 1 / sqrtf(warp_sum(total(v * v)) / width + 1e-5f);
    v = scale * v * g + b;
    if (in) four(y + r * width + c) = v;
    if (lane_of() == 0) mean[r] = mu, rstd[r] = scale;
    return v;
  }
};

template <int tall, bool tensors>
__device__ inline void forward(const Part<tall, tensors> &p, const float *x, float *qkv, float *probs, float *att, const Norm &n1,
                               float *hidden, const Norm &n2, const float *wqkv, const float *wout, const float *w1,
                               const float *b1, const float *w2, const float *b2) {
  int width = p.width, c = column();
  bool in = c < width;
  float4 row[p.laps] = {};
#pragma unroll
  for (int l = 0; l < p.laps; l++) {
    int r = warp_of() + l * warps;
    if (in && r < p.rows) row[l] = read4(x + (p.first + r) * width + c), p.one.set(r, c, row[l]);
  }
  __syncthreads();
  Product m = times<false>(p.sums, p.one, wqkv, 3 * width);
  for (int r = warp_of(); r < p.rows; r += warps)
    for (int k = c; k < 3 * width; k += 128)
      four(qkv + (p.first + r) * 3 * width + k) = four(p.big.at + r * p.apart + k) = m.at(r, k);
  __syncthreads();
  attend(p, p.big.at, att, probs);
  __syncthreads();

  m = times<false>(p.sums, p.two, wout, width);
#pragma unroll
  for (int l = 0; l < p.laps; l++) {
    int r = warp_of() + l * warps;
    if (r >= p.rows) break;
    if (in) row[l] = row[l] + m.at(r, c);
    row[l] = n1.row(row[l], p.first + r, width);
    if (in) p.two.set(r, c, row[l]);
  }
  __syncthreads();

  m = times<false>(p.sums, p.two, w1, p.hidden);
  for (int k = c; k < p.hidden; k += 128) {
    float4 b = read4(b1 + k);
    for (int r = warp_of(); r < p.rows; r += warps) {
      float4 v = m.at(r, k) + b;
      v = make_float4(v.x < 0 ? 0 : v.x, v.y < 0 ? 0 : v.y, v.z < 0 ? 0 : v.z, v.w < 0 ? 0 : v.w); // a NaN stays one
      four(hidden + (p.first + r) * p.hidden + k) = v;
      p.big.set(r, k, v);
    }
  }
  __syncthreads();

  m = times<false>(p.sums, p.big, w2, width);
  float4 b = {};
  if (in) b = read4(b2 + c);
#pragma unroll
  for (int l = 0; l < p.laps; l++) {
    int r = warp_of() + l * warps;
    if (r >= p.rows) break;
    if (in) row[l] = row[l] + (m.at(r, c) + b);
    n2.row(row[l], p.first + r, width);
  }
}

#define LAYER(name, tensors)                                                                                               \
  extern "C" __global__ void __launch_bounds__(32 * warps)                                                                 \
      name(float *out, const float *x, float *qkv, float *probs, float *att, float *sum1, float *mean1, float *rstd1,      \
           float *mid, float *hid, float *sum2, float *mean2, float *rstd2, const float *wqkv, const float *wout,          \
           const float *gamma1, const float *beta1, const float *w1, const float *b1, const float *w2, const float *b2,    \
           const float *gamma2, const float *beta2, int batch, int nodes, int width, int heads, int hidden) {              \
    Norm n1 = {gamma1, beta1, sum1, mid, mean1, rstd1}, n2 = {gamma2, beta2, sum2, out, mean2, rstd2};                     \
    if (tall_of(nodes) == 16) {                                                                                            \
      Part<16, tensors> p(batch, nodes, width, heads, hidden);                                                             \
      forward(p, x, qkv, probs, att, n1, hid, n2, wqkv, wout, w1, b1, w2, b2);                                             \
    } else {                                                                                                               \
      Part<32, tensors> p(batch, nodes, width, heads, hidden);                                                             \
      forward(p, x, qkv, probs, att, n1, hid, n2, wqkv, wout, w1, b1, w2, b2);                                             \
    }                                                                                                                      \
  }

LAYER(model_layer, false)
LAYER(model_layer_tf32, true)

// ---- backward ----

// NormBack is the gradient of a layer norm of rows, a warp each.
struct NormBack {
  const float *x, *mean, *rstd, *gamma;

  // row is the gradient by the norm's input, from d, the one by its output. It
  // adds to the gradients of gamma and beta.
  __device__ float4 row(float4 d, float4 &dgamma, float4 &dbeta, size_t r, int width) const {
    int c = column();
    float4 g = {}, hat = {};
    float mu = __ldg(mean + r), scale = __ldg(rstd + r);
    if (c < width) {
      g = read4(gamma + c), hat = read4(x + r * width + c);
      hat = scale * make_float4(hat.x - mu, hat.y - mu, hat.z - mu, hat.w - mu);
    }
    dgamma = dgamma + d * hat;
    dbeta = dbeta + d;
    d = d * g;
    float plain = -warp_sum(total(d)) / width, scaled = -warp_sum(total(d * hat)) / width;
    return scale * (d + make_float4(plain, plain, plain, plain) + scaled * hat);
  }
};

// fold writes the sums over all warps, dgamma's and then dbeta's.
__device__ inline void fold(float *to, float *scratch, float4 dgamma, float4 dbeta, int width) {
  int c = column();
  if (c < width) four(scratch + warp_of() * 2 * width + c) = dgamma, four(scratch + (warp_of() * 2 + 1) * width + c) = dbeta;
  __syncthreads();
  for (int i = threadIdx.x; i < 2 * width; i += blockDim.x) {
    float s = 0;
#pragma unroll
    for (int w = 0; w < warps; w++) s += scratch[w * 2 * width + i];
    to[i] = s;
  }
}

// attend_back sets dqkv from up, rows of the gradient of attention's output, and
// from q, k and v side by side in rows.
template <int tall, bool tensors>
__device__ inline void attend_back(const Part<tall, tensors> &p, const float *rows, const float *up, int ldup, const float *probs,
                                   float *dqkv) {
  float *weight = p.big.at, *d = weight + p.pairs(), scale = inv_sqrt(p.dim);
  int width = p.width, square = p.nodes * p.nodes, c = column();
  for (int e = threadIdx.x; e < p.pairs(); e += blockDim.x) weight[e] = probs[p.pair + e];
#pragma unroll 1
  for (int r = warp_of(); r < p.rows; r += warps) {
    const float *u = up + r * ldup, *v = rows + p.instance(r) * p.apart + 2 * width;
    float *to = d + p.weights(r);
    for (int e = lane_of(); e < p.heads * p.nodes; e += 32) {
      int h = p.by_nodes(e), j = e - h * p.nodes;
      to[h * square + j] = dot(u + h * p.dim, v + j * p.apart + h * p.dim, p.dim);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < p.rows * p.heads; i += blockDim.x) {
    float *w = weight + i * p.nodes, *row = d + i * p.nodes, s = 0;
    for (int j = 0; j < p.nodes; j++) s += w[j] * row[j];
    for (int j = 0; j < p.nodes; j++) row[j] = (row[j] - s) * w[j] * scale;
  }
  __syncthreads();
  if (c >= width) return;
#pragma unroll 1
  for (int r = warp_of(); r < p.rows; r += warps) {
    int top = p.instance(r), head = p.by_dim(c) * square, as_query = p.weights(r) + head, as_key = p.weights(top) + head + r - top;
    const float *q = rows + top * p.apart + c, *k = q + width, *u = up + top * ldup + c;
    float4 dq = {}, dk = {}, dv = {};
#pragma unroll 2
    for (int j = 0; j < p.nodes; j++) {
      dq = dq + d[as_query + j] * four(k + j * p.apart);
      dk = dk + d[as_key + j * p.nodes] * four(q + j * p.apart);
      dv = dv + weight[as_key + j * p.nodes] * four(u + j * ldup);
    }
    float *to = dqkv + (p.first + r) * 3 * width + c;
    four(to) = dq, four(to + width) = dk, four(to + 2 * width) = dv;
  }
}

template <int tall, bool tensors>
__device__ inline void backward(const Part<tall, tensors> &p, float *dx, float *dsum2, float *dhidden, float *dsum1, float *dqkv,
                                float *norms, const NormBack &n2, const float *hidden, const NormBack &n1, const float *probs,
                                const float *qkv, const float *wqkv, const float *wout, const float *w1, const float *w2) {
  int width = p.width, c = column();
  bool in = c < width;
  float4 row[p.laps] = {}, dgamma = {}, dbeta = {};
  norms += (size_t)blockIdx.x * 4 * width;
#pragma unroll
  for (int l = 0; l < p.laps; l++) {
    int r = warp_of() + l * warps;
    if (r >= p.rows) break;
    if (in) row[l] = four(dx + (p.first + r) * width + c);
    row[l] = n2.row(row[l], dgamma, dbeta, p.first + r, width);
    if (in) four(dsum2 + (p.first + r) * width + c) = row[l], p.one.set(r, c, row[l]);
  }
  fold(norms, p.big.at, dgamma, dbeta, width);

  Product m = times<true>(p.sums, p.one, w2, p.hidden);
  for (int r = warp_of(); r < p.rows; r += warps)
    for (int k = c; k < p.hidden; k += 128) {
      size_t at = (p.first + r) * p.hidden + k;
      float4 h = read4(hidden + at), v = m.at(r, k);
      v = make_float4(h.x > 0 ? v.x : 0, h.y > 0 ? v.y : 0, h.z > 0 ? v.z : 0, h.w > 0 ? v.w : 0);
      four(dhidden + at) = v;
      p.big.set(r, k, v);
    }
  __syncthreads();

  m = times<true>(p.sums, p.big, w1, width);
  dgamma = dbeta = {};
#pragma unroll
  for (int l = 0; l < p.laps; l++) {
    int r = warp_of() + l * warps;
    if (r >= p.rows) break;
    if (in) row[l] = row[l] + m.at(r, c);
    row[l] = n1.row(row[l], dgamma, dbeta, p.first + r, width);
    if (in) four(dsum1 + (p.first + r) * width + c) = row[l], p.one.set(r, c, row[l]);
  }
  fold(norms + 2 * width, p.big.at, dgamma, dbeta, width);

  for (int r = warp_of(); r < p.rows; r += warps)
    for (int k = c; k < 3 * width; k += 128) four(p.wide.at + r * p.apart + k) = read4(qkv + (p.first + r) * 3 * width + k);
  m = times<true>(p.sums, p.one, wout, width);
  const int ldup = width + 4;
  for (int r = warp_of(); r < p.rows; r += warps)
    if (in) four(p.two.at + r * ldup + c) = m.at(r, c);
  __syncthreads();
  attend_back(p, p.wide.at, p.two.at, ldup, probs, dqkv);
  __syncthreads();

  for (int r = warp_of(); r < p.rows; r += warps)
    for (int k = c; k < 3 * width; k += 128) p.wide.set(r, k, four(dqkv + (p.first + r) * 3 * width + k));
  __syncthreads();
  m = times<true>(p.sums, p.wide, wqkv, width);
#pragma unroll
  for (int l = 0; l < p.laps; l++) {
    int r = warp_of() + l * warps;
    if (in && r < p.rows) four(dx + (p.first + r) * width + c) = row[l] + m.at(r, c);
  }
}

#define LAYER_BACKWARD(name, tensors)                                                                                      \
  extern "C" __global__ void __launch_bounds__(32 * warps)                                                                 \
      name(float *dx, float *dsum2, float *dhidden, float *dsum1, float *dqkv, float *norms, const float *sum2,            \
           const float *mean2, const float *rstd2, const float *hid, const float *sum1, const float *mean1,                \
           const float *rstd1, const float *probs, const float *qkv, const float *wqkv, const float *wout,                 \
           const float *gamma1, const float *w1, const float *w2, const float *gamma2, int batch, int nodes, int width,    \
           int heads, int hidden) {                                                                                        \
    NormBack n2 = {sum2, mean2, rstd2, gamma2}, n1 = {sum1, mean1, rstd1, gamma1};                                         \
    if (tall_of(nodes) == 16) {                                                                                            \
      Part<16, tensors> p(batch, nodes, width, heads, hidden);                                                             \
      backward(p, dx, dsum2, dhidden, dsum1, dqkv, norms, n2, hid, n1, probs, qkv, wqkv, wout, w1, w2);                    \
    } else {                                                                                                               \
      Part<32, tensors> p(batch, nodes, width, heads, hidden);                                                             \
      backward(p, dx, dsum2, dhidden, dsum1, dqkv, norms, n2, hid, n1, probs, qkv, wqkv, wout, w1, w2);                    \
    }                                                                                                                      \
  }

LAYER_BACKWARD(model_layer_backward, false)
LAYER_BACKWARD(model_layer_backward_tf32, true)

// ---- the parameters' gradients: one block for 32x32 elements, or 32 sums ----

const int tile_ld = 36; // of 32 by 32 sums in shared memory

// outer_rows adds single rows, from from on, to 32x32 elements of a'*b.
template <bool tensors>
__device__ inline void outer_rows(float (&sum)[32], const float *a, int lda, const float *b, int ldb, int from, int k, int step) {
  for (int r = from; r < k; r += step) {
    float v = __ldg(b + (size_t)r * ldb + lane_of());
#pragma unroll
    for (int i = 0; i < 32; i += 4) {
      float4 w = read4(a + (size_t)r * lda + i);
      sum[i] = fmaf(w.x, v, sum[i]), sum[i + 1] = fmaf(w.y, v, sum[i + 1]);
      sum[i + 2] = fmaf(w.z, v, sum[i + 2]), sum[i + 3] = fmaf(w.w, v, sum[i + 3]);
    }
  }
}

// as_left is 32 columns by 16 steps, read across, as multiply takes its rows.
__device__ inline void as_left(float4 (&a)[2][2], const float4 (&f)[4]) {
#pragma unroll
  for (int s = 0; s < 2; s++) {
    const float4 &x = f[2 * s], &y = f[2 * s + 1];
    a[0][s] = tf32(make_float4(x.x, x.y, y.x, y.y));
    a[1][s] = tf32(make_float4(x.z, x.w, y.z, y.w));
  }
}

// outer is 32x32 elements of a'*b: of every shares-th 16 rows of k, with tensor
// cores, where the first share also has the rows that are left; else of every
// shares-th row.
template <bool tensors>
__device__ inline void outer(float *to, const float *a, int lda, const float *b, int ldb, int k, int share, int shares) {
  float rest[32] = {};
  if (tensors) {
    int units = k / 16;
    float sum[2][4][4] = {};
    float4 x[2][2], xs[2][4], ys[2][4];
    auto read = [&](int i, int unit) {
      size_t row = (size_t)unit * 16;
      across(xs[i], a + row * lda, lda, 0, 0), across(ys[i], b + row * ldb, ldb, 0, 0);
    };
    if (share < units) read(0, share);
    if (share + shares < units) read(1, share + shares);
#pragma unroll 1
    for (int u = share; u < units; u += 2 * shares)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int now = u + i * shares, next = now + 2 * shares;
        if (now >= units) break;
        as_left(x, xs[i]);
        multiply<false>(sum, x, ys[i]);
        if (next < units) read(i, next);
      }
    put<false>(sum, [&](int i) { return to + (4 * (lane_of() / 4) + i) * tile_ld; });
    if (share > 0 || k % 16 == 0) return;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 32; i++) rest[i] = to[i * tile_ld + lane_of()];
    outer_rows<tensors>(rest, a, lda, b, ldb, units * 16, k, 1);
  } else {
    outer_rows<tensors>(rest, a, lda, b, ldb, share, k, shares);
  }
#pragma unroll
  for (int i = 0; i < 32; i++) to[i * tile_ld + lane_of()] = rest[i];
}

// Task is what is left of a block's number: next takes the blocks of one
// product or sum, and says whether this block is among them.
struct Task {
  int block;
  __device__ bool next(int blocks) {
    if (block < blocks) return true;
    block -= blocks;
    return false;
  }
};

// Gradient is a product c = a'*b, c of m by n.
struct Gradient {
  float *c;
  const float *a, *b;
  int m, n;

  // tile is one tile of it, by all warps of a block.
  template <bool tensors> __device__ void tile(int at, int rows) const {
    int m0 = at / (n / 32) * 32, n0 = at % (n / 32) * 32, shares = blockDim.x / 32;
    outer<tensors>(space + warp_of() * 32 * tile_ld, a + m0, m, b + n0, n, rows, warp_of(), shares);
    __syncthreads();
    int r = threadIdx.x / 8, k = threadIdx.x % 8 * 4;
    float4 s = {};
#pragma unroll
    for (int w = 0; w < shares; w++) s = s + four(space + (w * 32 + r) * tile_ld + k);
    four(c + (size_t)(m0 + r) * n + n0 + k) = s;
  }
};

// column_sums is 32 sums over the rows of x, of which ld are apart: a thread has
// four columns.
__device__ inline void column_sums(float *to, const float *x, int rows, int ld) {
  int c = threadIdx.x % 8 * 4, step = blockDim.x / 8;
  float4 s = {};
#pragma unroll 16
  for (int r = threadIdx.x / 8; r < rows; r += step) s = s + read4(x + (size_t)r * ld + c);
  four(space + threadIdx.x / 8 * tile_ld + c) = s;
  __syncthreads();
  if (warp_of() > 0) return;
  float sum = 0;
#pragma unroll 8
  for (int i = 0; i < step; i++) sum += space[i * tile_ld + lane_of()];
  to[lane_of()] = sum;
}

#define LAYER_GRADIENTS(name, tensors)                                                                                     \
  extern "C" __global__ void __launch_bounds__(256)                                                                        \
      name(float *dwqkv, float *dwout, float *dgamma1, float *dbeta1, float *dw1, float *db1, float *dw2, float *db2,      \
           float *dgamma2, float *dbeta2, const float *x, const float *att, const float *mid, const float *hid,            \
           const float *dqkv, const float *dsum1, const float *dhidden, const float *dsum2, const float *norms, int batch, \
           int nodes, int width, int hidden) {                                                                             \
    int rows = batch * nodes, w = width / 32, h = hidden / 32, each = tall_of(nodes) / nodes, parts = (batch + each - 1) / each; \
    Task t = {(int)blockIdx.x};                                                                                            \
    Gradient g;                                                                                                            \
    if (t.next(w * h)) g = {dw1, mid, dhidden, width, hidden};                                                             \
    else if (t.next(h * w)) g = {dw2, hid, dsum2, hidden, width};                                                          \
    else if (t.next(w * 3 * w)) g = {dwqkv, x, dqkv, width, 3 * width};                                                    \
    else if (t.next(w * w)) g = {dwout, att, dsum1, width, width};                                                         \
    else if (t.next(h)) return column_sums(db1 + t.block * 32, dhidden + t.block * 32, rows, hidden);                      \
    else if (t.next(w)) return column_sums(db2 + t.block * 32, dsum2 + t.block * 32, rows, width);                         \
    else {                                                                                                                 \
      int i = t.block / w;                                                                                                 \
      float *to = i == 0 ? dgamma2 : i == 1 ? dbeta2 : i == 2 ? dgamma1 : dbeta1;                                          \
      return column_sums(to + t.block % w * 32, norms + t.block * 32, parts, 4 * width);                                   \
    }                                                                                                                      \
    g.tile<tensors>(t.block, rows);                                                                                        \
  }

LAYER_GRADIENTS(model_layer_gradients, false)
LAYER_GRADIENTS(model_layer_gradients_tf32, true)
