// Degrees of edges that pass by in blocks: endpoints are counted, and then the counts.
//
//   degrees_count      a counter per vertex of a range: one atomicAdd per endpoint in the range
//   degrees_histogram  how often each count below `table_size` occurs, and a list of larger counts
//
// The atomics need no order; a kernel's end orders them. Most degrees are small and occur often, so
// a block counts the smallest in shared memory first.
//   MGRAPH_VERTEX_T  int or long long, the type of a vertex id
using vertex_t = MGRAPH_VERTEX_T;
using u32 = unsigned;
using u64 = unsigned long long;

constexpr u32 table_size = 65536;
constexpr u32 shared_size = 1024;  // of the table

extern "C" __global__ void degrees_count(const vertex_t* ids, long long count, long long first,
                                         long long vertices, u32* counters) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const long long index = (long long)ids[i] - first;
    if (index >= 0 && index < vertices) atomicAdd(&counters[index], 1u);
  }
}

// table[d] is increased by the number of counters that are d; larger ones are listed, in any order.
extern "C" __global__ void degrees_histogram(const u32* counters, long long vertices, u64* table,
                                             u64* large_count, u32* large) {
  __shared__ u32 counts[shared_size];
  for (u32 i = threadIdx.x; i < shared_size; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long v = (long long)blockIdx.x * blockDim.x + threadIdx.x; v < vertices; v += stride) {
    const u32 degree = counters[v];
    if (degree < shared_size) {
      atomicAdd(&counts[degree], 1u);
    } else if (degree < table_size) {
      atomicAdd(&table[degree], 1ULL);
    } else {
      large[atomicAdd(large_count, 1ULL)] = degree;
    }
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < shared_size; i += blockDim.x) {
    if (counts[i]) atomicAdd(&table[i], u64(counts[i]));
  }
}
