// The route-cost kernels. The Go body beside each symbol is the reference; all
// sums run in its order, so the results are the same bits.

extern "C" __global__ void cost_zero(float *cost) {
  if (threadIdx.x == 0) cost[0] = 0.0f;
}

extern "C" __global__ void cost_add_edge(float *cost, const float *dist, int edge) {
  if (threadIdx.x == 0) cost[0] += dist[edge];
}

// One warp a route. Rows may be in host memory, a microsecond away, so a warp
// reads 32 nodes at once; the sum runs in the loop's order.
extern "C" __global__ void cost_routes(float *costs, const float *dist, const int *routes, int count, int batch, int nodes, int stride) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (i >= count) return;
  const int *row = routes + (long long)i * stride;
  const float *d = dist + (long long)(i % batch) * nodes * nodes;
  float sum = 0.0f;
  int last = -1; // the node before this lot of 32
  for (int first = 0; first < stride; first += 32) {
    int node = first + lane < stride ? row[first + lane] : -1;
    int before = __shfl_up_sync(0xffffffffu, node, 1);
    if (lane == 0) before = last;
    unsigned ends = __ballot_sync(0xffffffffu, node < 0); // what comes after the first is not the route's
    int nodes_here = ends ? __ffs(ends) - 1 : 32;
    float edge = lane < nodes_here && before >= 0 ? d[before * nodes + node] : 0.0f;
    for (int k = 0; k < nodes_here; k++) sum += __shfl_sync(0xffffffffu, edge, k);
    if (ends) break;
    last = __shfl_sync(0xffffffffu, node, 31);
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
