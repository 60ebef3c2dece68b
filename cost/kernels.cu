// The route-cost kernels. The Go body beside each symbol is the reference; all
// sums run in its order, so the results are the same bits.

extern "C" __global__ void cost_zero(float *cost) {
  if (threadIdx.x == 0) cost[0] = 0.0f;
}

extern "C" __global__ void cost_add_edge(float *cost, const float *dist, int edge) {
  if (threadIdx.x == 0) cost[0] += dist[edge];
}

// One block a group of routes, one warp a route. Groups are in the host's
// memory, a microsecond away, so a block reads its own in one go. Sums run in
// the loop's order.
extern "C" __global__ void cost_routes(float *__restrict__ costs, const float *__restrict__ dist, const int *__restrict__ routes, int count, int batch,
                                       int nodes, int group, int stride) {
  extern __shared__ int text[];
  for (int k = threadIdx.x; k < stride; k += blockDim.x) text[k] = routes[(long long)blockIdx.x * stride + k];
  __syncthreads();
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32, i = blockIdx.x * group + warp;
  if (i >= count) return;
  const int *row = text + group + 1 + text[warp];
  const float *d = dist + (long long)(i % batch) * nodes * nodes;
  int length = text[warp + 1] - text[warp];
  float sum = 0.0f;
  for (int first = 1; first < length; first += 32) {
    int j = first + lane;
    float edge = 0.0f;
    if (j < length && (unsigned)row[j - 1] < nodes && (unsigned)row[j] < nodes) edge = d[row[j - 1] * nodes + row[j]];
    for (int k = 0; k < min(32, length - first); k++) sum += __shfl_sync(0xffffffffu, edge, k);
  }
  if (lane == 0) costs[i] = sum;
}

extern "C" __global__ void cost_zero_ints(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 0;
}

extern "C" __global__ void cost_copy(int *to, const int *from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}

extern "C" __global__ void cost_mask_edges(float *mask, const int *lengths, int count, int edges) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * edges) mask[i] = i % edges + 1 < lengths[i / edges] ? 1.0f : 0.0f;
}

extern "C" __global__ void cost_index_edges(int *index, const int *routes, int count, int edges, int nodes, int batch) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count * edges) return;
  int route = i / edges;
  const int *at = routes + route * (edges + 1) + i % edges;
  index[i] = (route % batch * nodes + at[0]) * nodes + at[1];
}

extern "C" __global__ void cost_gather(float *out, const float *from, const int *index, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = from[index[i]];
}

extern "C" __global__ void cost_mask_values(float *x, const float *mask, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= mask[i];
}

// One thread a row: rows are short, and the order of the sum is the loop's.
extern "C" __global__ void cost_sum_rows(float *out, const float *x, int rows, int width) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float sum = 0.0f;
  for (int j = 0; j < width; j++) sum += x[(long long)i * width + j];
  out[i] = sum;
}
