// Edges to compressed sparse rows: the two passes over the edges that csr_gpu.py launches.
//
//   csr_count    degree[v] is the number of arcs that leave v; the host turns it into indptr
//   csr_scatter  each arc takes the next free position of its row; the host then sorts
//                every row, so that the order of the atomics does not show
//
// One thread per edge, in a grid-stride loop. The atomics on degree and cursor need no order among
// each other; the kernels' ends order them before the host reads. Cost: see csr_gpu.py.
//   MGRAPH_VERTEX_T  int or long long, the type of a vertex id
//   MGRAPH_WEIGHT_T  int or long long: 32 or 64 bits of a weight of any type

using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;
using u64 = unsigned long long;

// Add to degree[v] the number of arcs that leave v. mirror: each edge stands for both directions.
extern "C" __global__ void csr_count(const vertex_t* src, const vertex_t* dst, long long count,
                                     int mirror, int drop_loops, u64* degree) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const vertex_t u = src[i], v = dst[i];
    if (u != v || !drop_loops) atomicAdd(&degree[u], 1ULL);
    if (u != v && mirror) atomicAdd(&degree[v], 1ULL);
  }
}

// Put each arc into its row, in any order. cursor[v]: the position of the next arc of v. weight may
// be null.
extern "C" __global__ void csr_scatter(const vertex_t* src, const vertex_t* dst,
                                       const weight_t* weight, long long count, int mirror,
                                       int drop_loops, u64* cursor, int* indices,
                                       weight_t* weights) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const vertex_t u = src[i], v = dst[i];
    if (u != v || !drop_loops) {
      const u64 position = atomicAdd(&cursor[u], 1ULL);
      indices[position] = int(v);
      if (weight) weights[position] = weight[i];
    }
    if (u != v && mirror) {
      const u64 position = atomicAdd(&cursor[v], 1ULL);
      indices[position] = int(u);
      if (weight) weights[position] = weight[i];
    }
  }
}
