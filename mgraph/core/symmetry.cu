// The symmetry check of an undirected graph: the sum of the hashes of the arcs that lead to smaller
// vertices, minus the sum of the hashes of their mirrors. It is 0 if every arc has its mirror, and
// else with a probability of 2^-64; symmetry_cpu.py explains why.
//
// One block per tile of arcs, in a grid-stride loop: two threads find the rows of the tile's first
// and last arc by binary search, then each thread finds the row of each of its arcs among those.
// Threads add in registers; one atomic per warp adds to *sum. Cost: each arc is read once.
//   MGRAPH_VERTEX_T  int or long long, the type of a vertex id
//   MGRAPH_WEIGHT_T  int or long long: the word of a weight's bits
#include <mgraph/hash.cuh>

using namespace mgraph;
using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;

namespace {

constexpr long long tile = 4096;

// The row of an arc: the last one in [begin, end) that begins at the arc or before it.
__device__ long long row_of(const long long* indptr, long long begin, long long end,
                            long long arc) {
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

// words: the weights; null for an unweighted graph. sign: the word of -0.0, which counts as 0.0; or
// 0.
extern "C" __global__ void symmetry_sum(const long long* indptr, const vertex_t* indices,
                                        const weight_t* words, long long sign, long long n,
                                        long long num_arcs, u64* sum) {
  __shared__ long long first;
  __shared__ long long last;
  u64 partial = 0;
  for (long long base = blockIdx.x * tile; base < num_arcs; base += gridDim.x * tile) {
    const long long end = base + tile < num_arcs ? base + tile : num_arcs;
    __syncthreads();
    if (threadIdx.x == 0) first = row_of(indptr, 0, n, base);
    if (threadIdx.x == 1) last = row_of(indptr, 0, n, end - 1);
    __syncthreads();
    for (long long arc = base + threadIdx.x; arc < end; arc += blockDim.x) {
      const u64 u = u64(row_of(indptr, first, last + 1, arc)), v = u64(indices[arc]);
      if (u == v) continue;
      u64 word = u > v ? edge_hash(u, v) : edge_hash(v, u);
      if (words) word = mix64(word + (words[arc] == sign ? 0 : u64((long long)words[arc])));
      partial += u > v ? word : 0 - word;
    }
  }
  add_checksum(partial, sum);
}
