// The route-cost kernels. The Go body beside each symbol is the reference; all
// sums run in its order, so the results are the same bits.

extern "C" __global__ void cost_zero(float *cost) {
  if (threadIdx.x == 0) cost[0] = 0.0f;
}

extern "C" __global__ void cost_add_edge(float *cost, const float *dist, int edge) {
  if (threadIdx.x == 0) cost[0] += dist[edge];
}

// One warp a route, and four routes of a warp at once. Routes are in the host's
// memory, a microsecond away, so where one block does it all it first brings
// them near in one go. Sums run in the loop's order.
extern "C" __global__ void cost_routes(float *__restrict__ costs, const float *__restrict__ dist, const int *__restrict__ routes, int count, int batch,
                                       int nodes, int words) {
  extern __shared__ int4 near[];
  const int *text = routes;
  if (gridDim.x == 1) { // words are a multiple of four
    for (int i = threadIdx.x; i < words / 4; i += blockDim.x) near[i] = ((const int4 *)routes)[i];
    __syncthreads();
    text = (const int *)near;
  }
  int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, warps = gridDim.x * blockDim.x / 32;
  for (int first = warp; first < count; first += 4 * warps) {
    float edge[4];
    const int *row[4];
    int length[4];
    for (int k = 0; k < 4; k++) {
      int i = first + k * warps;
      row[k] = text + count + 1;
      length[k] = 0;
      if (i < count) row[k] += text[i], length[k] = text[i + 1] - text[i];
      edge[k] = 0.0f;
      if (lane > 0 && lane < length[k]) edge[k] = dist[((long long)(i % batch) * nodes + row[k][lane - 1]) * nodes + row[k][lane]];
    }
    for (int k = 0; k < 4; k++) {
      int i = first + k * warps;
      if (i >= count) break;
      float sum = 0.0f;
      for (int j = 1; j < min(length[k], 32); j++) sum += __shfl_sync(0xffffffffu, edge[k], j);
      for (int from = 32; from < length[k]; from += 32) { // the rest of a long route
        int j = from + lane;
        float e = j < length[k] ? dist[((long long)(i % batch) * nodes + row[k][j - 1]) * nodes + row[k][j]] : 0.0f;
        for (int l = 0; l < min(length[k] - from, 32); l++) sum += __shfl_sync(0xffffffffu, e, l);
      }
      if (lane == 0) costs[i] = sum;
    }
  }
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
