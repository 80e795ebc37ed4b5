// Whether a graph on a GPU holds both arcs of every edge: the sum of the hashes of all arcs that lead
// down, less that of those that lead up; symmetry_cpu.py explains it.
//   MGRAPH_VERTEX_T  int or long long, the type of a vertex id
//   MGRAPH_WEIGHT_T  int or long long: a word of a weight's bits
//
// A block takes the arcs of a tile, whose rows it looks for among those between the first and the last.
#include <mgraph/hash.cuh>

using namespace mgraph;
using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;

namespace {

constexpr long long tile = 4096;

// The row that an arc is in: the last one from begin to end - 1 that does not begin behind it.
__device__ long long row_of(const long long* indptr, long long begin, long long end, long long arc) {
  while (end - begin > 1) {
    const long long middle = begin + (end - begin) / 2;
    if (indptr[middle] <= arc) {
      begin = middle;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace

// words: of the weights; null where there are none. sign: the word of -0.0, which counts as 0.0; or 0.
extern "C" __global__ void symmetry_sum(const long long* indptr, const vertex_t* indices,
                                        const weight_t* words, long long sign, long long n,
                                        long long m, u64* sum) {
  __shared__ long long first;
  __shared__ long long last;
  u64 mine = 0;
  for (long long base = blockIdx.x * tile; base < m; base += gridDim.x * tile) {
    const long long end = base + tile < m ? base + tile : m;
    __syncthreads();
    if (threadIdx.x == 0) first = row_of(indptr, 0, n, base);
    if (threadIdx.x == 1) last = row_of(indptr, 0, n, end - 1);
    __syncthreads();
    for (long long arc = base + threadIdx.x; arc < end; arc += blockDim.x) {
      const u64 u = u64(row_of(indptr, first, last + 1, arc)), v = u64(indices[arc]);
      if (u == v) continue;
      u64 word = u > v ? edge_hash(u, v) : edge_hash(v, u);
      if (words) word = mix64(word + (words[arc] == sign ? 0 : u64((long long)words[arc])));
      mine += u > v ? word : 0 - word;
    }
  }
  add_checksum(mine, sum);
}
