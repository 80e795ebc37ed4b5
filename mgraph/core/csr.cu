// Edges to compressed sparse rows; csr_gpu.py has the plan.
//   MGRAPH_VERTEX_T  int or long long, the type of a vertex id
//   MGRAPH_WEIGHT_T  int or long long: 32 or 64 bits of weight, whatever they mean

using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;
using u64 = unsigned long long;

// degree[v] += the arcs that leave v. back: each edge stands for both directions.
extern "C" __global__ void csr_count(const vertex_t* src, const vertex_t* dst, long long count,
                                     int back, int drop_loops, u64* degree) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const vertex_t u = src[i], v = dst[i];
    if (u != v || !drop_loops) atomicAdd(&degree[u], 1ULL);
    if (u != v && back) atomicAdd(&degree[v], 1ULL);
  }
}

// Put each arc into its row, in any order. cursor[v]: where the next arc of v goes. weight may be
// null.
extern "C" __global__ void csr_scatter(const vertex_t* src, const vertex_t* dst,
                                       const weight_t* weight, long long count, int back,
                                       int drop_loops, u64* cursor, int* indices,
                                       weight_t* weights) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const vertex_t u = src[i], v = dst[i];
    if (u != v || !drop_loops) {
      const u64 at = atomicAdd(&cursor[u], 1ULL);
      indices[at] = int(v);
      if (weight) weights[at] = weight[i];
    }
    if (u != v && back) {
      const u64 at = atomicAdd(&cursor[v], 1ULL);
      indices[at] = int(u);
      if (weight) weights[at] = weight[i];
    }
  }
}
