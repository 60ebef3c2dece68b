// Matrix products of package model: c = a*b, a*b' and a'*b, in single
// precision and on the tensor cores. The reference is kernels_matmul.go.
//
// The products of this model are small: hundreds of rows and columns, so that
// filling the card and hiding latency matter more than reuse. Blocks compute
// tiles of 64x64 or, where those are too few, of 32x32; k is then shared out
// among groups of threads, whose sums are added in their order. Dims decides,
// and the kernels tell by the number of threads or blocks.
//
// Sizes, strides and alignment may be anything.

// Operand is a matrix as it lies in memory.
struct Operand {
  const float *p;
  int rows, cols, ld;
  bool vec; // four neighbours can be read at once

  __device__ Operand(const float *p, int rows, int cols, int ld)
      : p(p), rows(rows), cols(cols), ld(ld), vec((size_t)p % 16 == 0 && ld % 4 == 0) {}

  // whole says that all of a part can be read four at a time, without checks:
  // nothing then keeps its reads from being under way together.
  __device__ bool whole(int r, int height, int c, int width) const {
    return vec && r + height <= rows && c + width <= cols;
  }

  // aligned is the four elements of row r from column c on, in a whole part.
  __device__ float4 aligned(int r, int c) const { return __ldg((const float4 *)(p + (size_t)r * ld + c)); }

  // guarded is the same for any part: 0 outside of the matrix.
  __device__ float4 guarded(int r, int c) const {
    const float *at = p + (size_t)r * ld + c;
    bool in = r < rows;
    return make_float4(in && c < cols ? __ldg(at) : 0, in && c + 1 < cols ? __ldg(at + 1) : 0,
                       in && c + 2 < cols ? __ldg(at + 2) : 0, in && c + 3 < cols ? __ldg(at + 3) : 0);
  }
};

// Result is where sums go, and what happens to them on the way.
struct Result {
  float *c;
  const float *bias; // or null
  int m, n, ld;
  bool relu, accumulate;

  __device__ void put(int i, int j, float s) const {
    if (i >= m || j >= n) return;
    float *at = c + (size_t)i * ld + j;
    if (accumulate) s += *at;
    if (bias) s += __ldg(bias + j);
    if (relu && s < 0) s = 0;
    *at = s;
  }
};

__device__ inline int tiles(int n, int tile) { return (n + tile - 1) / tile; }

// shared_words is enough for either shape of either precision.
const int shared_words = 9216;

// ---- single precision ----

// fetch reads a thread's part of 16 steps of k: X is a's rows or b's columns.
// transposed says that the operand is stored k by x.
template <bool transposed, int tile, int parts>
__device__ inline void fetch(float4 (&v)[parts], const Operand &o, int x0, int k0, int thread) {
  const int threads = tile * 4 / parts;
  bool whole = transposed ? o.whole(k0, 16, x0, tile) : o.whole(x0, tile, k0, 16);
#pragma unroll
  for (int l = 0; l < parts; l++) {
    int f = thread + l * threads;
    int r = transposed ? k0 + f / (tile / 4) : x0 + f / 4, c = transposed ? x0 + f % (tile / 4) * 4 : k0 + f % 4 * 4;
    v[l] = whole ? o.aligned(r, c) : o.guarded(r, c);
  }
}

// keep writes what fetch read to shared memory, k by x.
template <bool transposed, int tile, int parts>
__device__ inline void keep(float *to, const float4 (&v)[parts], int thread) {
  const int threads = tile * 4 / parts, ld = tile + 4;
#pragma unroll
  for (int l = 0; l < parts; l++) {
    int f = thread + l * threads;
    if (transposed) {
      *(float4 *)(to + f / (tile / 4) * ld + f % (tile / 4) * 4) = v[l];
    } else {
      float *at = to + f % 4 * 4 * ld + f / 4;
      at[0] = v[l].x, at[ld] = v[l].y, at[2 * ld] = v[l].z, at[3 * ld] = v[l].w;
    }
  }
}

// join adds the groups' sums in their order.
template <int tile, int groups>
__device__ inline void join(float *shared, const float (&sum)[4][4], const Result &out, int m0, int n0, int group, int row,
                            int col) {
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < 4; j++) shared[(group * tile + row + i) * tile + col + j] = sum[i][j];
  __syncthreads();
  for (int e = threadIdx.x; e < tile * tile; e += blockDim.x) {
    float s = 0;
    for (int g = 0; g < groups; g++) s += shared[g * tile * tile + e];
    out.put(m0 + e / tile, n0 + e % tile, s);
  }
}

// plain computes one tile; every thread has 4x4 of it. With several groups,
// group g takes every groups-th 16 steps of k.
template <bool ta, bool tb, int tile, int groups>
__device__ inline void plain(float *shared, const Operand &a, const Operand &b, const Result &out, int depth) {
  const int side = tile / 4, threads = side * side, ld = tile + 4, parts = tile * 4 / threads;
  int group = threadIdx.x / threads, thread = threadIdx.x % threads;
  int row = thread / side * 4, col = thread % side * 4;
  int across = tiles(out.n, tile);
  int m0 = blockIdx.x / across * tile, n0 = blockIdx.x % across * tile;
  float *as = shared + group * 32 * ld, *bs = as + 16 * ld;
  float sum[4][4] = {};
  float4 va[parts], vb[parts];
  int rounds = tiles(depth, 16 * groups);
  if (rounds > 0) {
    fetch<ta, tile>(va, a, m0, group * 16, thread);
    fetch<tb, tile>(vb, b, n0, group * 16, thread);
  }
  for (int r = 0; r < rounds; r++) {
    keep<ta, tile>(as, va, thread);
    keep<tb, tile>(bs, vb, thread);
    __syncthreads();
    if (r + 1 < rounds) {
      int k = ((r + 1) * groups + group) * 16;
      fetch<ta, tile>(va, a, m0, k, thread);
      fetch<tb, tile>(vb, b, n0, k, thread);
    }
#pragma unroll
    for (int k = 0; k < 16; k++) {
      float4 x = *(float4 *)(as + k * ld + row), y = *(float4 *)(bs + k * ld + col);
      float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sum[i][j] = fmaf(xs[i], ys[j], sum[i][j]);
    }
    __syncthreads();
  }
  if (groups > 1) {
    join<tile, groups>(shared, sum, out, m0, n0, group, row, col);
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int j = 0; j < 4; j++) out.put(m0 + row + i, n0 + col + j, sum[i][j]);
  }
}

// ---- tensor cores ----
//
// A warp computes 32x32 with m16n8k8 straight from memory: every element of its
// part is read once, four neighbours at a time, so that shared memory would
// gain nothing. The mapping that allows this: of 16 steps of k, the lane with
// t = lane%4 holds the steps 4t to 4t+3, and an instruction may take them in
// any order as long as both operands agree.

// tf32 rounds to 10 bits of fraction.
__device__ inline unsigned tf32(float x) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

__device__ inline void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// place is the row (of a) or column (of b) of a tile that index g of fragment r
// stands for.
template <bool transposed> __device__ inline int place(int r, int g) { return transposed ? 4 * g + r : 8 * r + g; }

// fragment reads 32 rows or columns by 16 steps of k: f[r][i] is at
// place(r, lane/4) and step 4*(lane%4)+i.
template <bool transposed>
__device__ inline void fragment(float (&f)[4][4], const Operand &o, int x0, int k0, int lane) {
  int g = lane / 4, t = lane % 4;
  int r = transposed ? k0 + 4 * t : x0 + g, c = transposed ? x0 + 4 * g : k0 + 4 * t, apart = transposed ? 1 : 8;
  float4 v[4];
  if (transposed ? o.whole(k0, 16, x0, 32) : o.whole(x0, 32, k0, 16)) {
#pragma unroll
    for (int l = 0; l < 4; l++) v[l] = o.aligned(r + l * apart, c);
  } else {
#pragma unroll
    for (int l = 0; l < 4; l++) v[l] = o.guarded(r + l * apart, c);
  }
#pragma unroll
  for (int l = 0; l < 4; l++) {
    if (transposed) {
      f[0][l] = v[l].x, f[1][l] = v[l].y, f[2][l] = v[l].z, f[3][l] = v[l].w;
    } else {
      f[l][0] = v[l].x, f[l][1] = v[l].y, f[l][2] = v[l].z, f[l][3] = v[l].w;
    }
  }
}

// multiply adds 32x32 products of 16 steps.
__device__ inline void multiply(float (&sum)[2][4][4], const float (&fa)[4][4], const float (&fb)[4][4]) {
#pragma unroll
  for (int s = 0; s < 4; s += 2) {
    unsigned b[4][2];
#pragma unroll
    for (int q = 0; q < 4; q++) b[q][0] = tf32(fb[q][s]), b[q][1] = tf32(fb[q][s + 1]);
#pragma unroll
    for (int p = 0; p < 2; p++) {
      unsigned a[4] = {tf32(fa[2 * p][s]), tf32(fa[2 * p + 1][s]), tf32(fa[2 * p][s + 1]), tf32(fa[2 * p + 1][s + 1])};
#pragma unroll
      for (int q = 0; q < 4; q++) mma(sum[p][q], a, b[q]);
    }
  }
}

const int slot_ld = 33, slot = 32 * slot_ld; // a warp's sums in shared memory

// spill writes a warp's sums to its slot, or with add adds what lies there to
// them.
template <bool ta, bool tb, bool add> __device__ inline void spill(float *at, float (&sum)[2][4][4], int lane) {
  int g = lane / 4, t = lane % 4;
#pragma unroll
  for (int p = 0; p < 2; p++)
#pragma unroll
    for (int q = 0; q < 4; q++)
#pragma unroll
      for (int e = 0; e < 4; e++) {
        float *x = at + place<ta>(2 * p + e / 2, g) * slot_ld + place<tb>(q, 2 * t + e % 2);
        if (add) sum[p][q][e] += *x;
        else *x = sum[p][q][e];
      }
}

// tensor computes one tile of a block of 8 or 16 warps: one for each 32x32 of
// it, times as many shares of k as there are warps for.
template <bool ta, bool tb>
__device__ inline void tensor(float *shared, const Operand &a, const Operand &b, const Result &out, int depth) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  int side = gridDim.x == tiles(out.m, 64) * tiles(out.n, 64) ? 2 : 1;
  int tile = 32 * side, parts = side * side, shares = warps / parts;
  int part = warp % parts, share = warp / parts;
  int across = tiles(out.n, tile);
  int m0 = blockIdx.x / across * tile, n0 = blockIdx.x % across * tile;
  int m1 = m0 + part / side * 32, n1 = n0 + part % side * 32;

  float sum[2][4][4] = {};
  float fa[4][4], fb[4][4], na[4][4], nb[4][4];
  int units = tiles(depth, 16);
  if (share < units) {
    fragment<ta>(fa, a, m1, share * 16, lane);
    fragment<tb>(fb, b, n1, share * 16, lane);
  }
  for (int u = share; u < units; u += shares) {
    if (u + shares < units) {
      fragment<ta>(na, a, m1, (u + shares) * 16, lane);
      fragment<tb>(nb, b, n1, (u + shares) * 16, lane);
    }
    multiply(sum, fa, fb);
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
      for (int j = 0; j < 4; j++) fa[i][j] = na[i][j], fb[i][j] = nb[i][j];
  }

  // There are 8 slots: of 16 warps, the upper 8 hand theirs to the lower 8.
  if (warp >= 8) spill<ta, tb, false>(shared + (warp - 8) * slot, sum, lane);
  __syncthreads();
  if (warps > 8 && warp < 8) spill<ta, tb, true>(shared + warp * slot, sum, lane);
  __syncthreads();
  if (warp < 8) spill<ta, tb, false>(shared + warp * slot, sum, lane);
  __syncthreads();
  for (int e = threadIdx.x; e < tile * tile; e += blockDim.x) {
    int i = e / tile, j = e % tile;
    float s = 0;
    for (int w = i / 32 * side + j / 32; w < 8; w += parts) s += shared[w * slot + i % 32 * slot_ld + j % 32];
    out.put(m0 + i, n0 + j, s);
  }
}

// ---- entries ----

template <bool ta, bool tb, bool tensors>
__device__ inline void product(float *c, const float *a, const float *b, const float *bias, int m, int n, int k, int lda,
                               int ldb, int ldc, int relu, int accumulate) {
  __shared__ __align__(16) float shared[shared_words];
  Operand left(a, ta ? k : m, ta ? m : k, lda), right(b, tb ? k : n, tb ? n : k, ldb);
  Result out = {c, bias, m, n, ldc, relu != 0, accumulate != 0};
  if (tensors) tensor<ta, tb>(shared, left, right, out, k);
  else if (blockDim.x == 256) plain<ta, tb, 64, 1>(shared, left, right, out, k);
  else plain<ta, tb, 32, 8>(shared, left, right, out, k);
}

#define PRODUCT(name, ta, tb, tensors)                                                                                    \
  extern "C" __global__ void __launch_bounds__(512, tensors ? 1 : 2)                                                                       \
      name(float *c, const float *a, const float *b, const float *bias, int m, int n, int k, int lda, int ldb, int ldc,   \
           int relu, int accumulate) {                                                                                    \
    product<ta, tb, tensors>(c, a, b, bias, m, n, k, lda, ldb, ldc, relu, accumulate);                                    \
  }

PRODUCT(model_matmul_nn, false, true, false)
PRODUCT(model_matmul_nt, false, false, false)
PRODUCT(model_matmul_tn, true, true, false)
PRODUCT(model_matmul_nn_tf32, false, true, true)
PRODUCT(model_matmul_nt_tf32, false, false, true)
PRODUCT(model_matmul_tn_tf32, true, true, true)
