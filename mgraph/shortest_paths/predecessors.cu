// Predecessors from distances; predecessors_cpu.py explains the choice. One thread per arc. An arc
// (u, v) is tight if d(u) + w = d(v): then a shortest path to v may come from u. Among several
// tails the smallest is taken by atomicMin on unsigned words, of which -1, for none, is the
// largest.
//
//   find_nearer  tight arcs from strictly nearer vertices
//   count_missing  the reached vertices that have no predecessor yet
//   mark_arcs    the other tight arcs, to such vertices

#include <mgraph/path_length.cuh>

using namespace mgraph;
using u32 = unsigned int;

namespace {

__device__ bool is_tight(const weight_t* weights, long long arc, key_t tail, key_t head) {
  return extended(tail, weights ? weights[arc] : weight_t(1)) == head;
}

}  // namespace

// Take predecessors along arcs to vertices strictly farther away. predecessor: -1 everywhere.
extern "C" __global__ void predecessors_find_nearer(const int* tails, const int* indices,
                                                    const weight_t* weights, long long num_arcs,
                                                    const key_t* distance, key_t infinity,
                                                    u32* predecessor) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < num_arcs; i += stride) {
    const key_t tail = distance[tails[i]], head = distance[indices[i]];
    if (tail < head && head != infinity && is_tight(weights, i, tail, head)) {
      atomicMin(&predecessor[indices[i]], u32(tails[i]));
    }
  }
}

// Add to `missing` the number of reached vertices without a predecessor.
extern "C" __global__ void predecessors_count_missing(const key_t* distance, key_t infinity,
                                                      const u32* predecessor, long long n,
                                                      u32* missing) {
  u32 count = 0;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long v = (long long)blockIdx.x * blockDim.x + threadIdx.x; v < n; v += stride) {
    count += distance[v] != infinity && int(predecessor[v]) < 0;
  }
  if (count) atomicAdd(missing, count);
}

// Mark the tight arcs to vertices without a predecessor; these arcs add nothing to a length.
extern "C" __global__ void predecessors_mark_arcs(const int* tails, const int* indices,
                                                  const weight_t* weights, long long num_arcs,
                                                  const key_t* distance, key_t infinity,
                                                  const u32* predecessor, bool* marked) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < num_arcs; i += stride) {
    const key_t tail = distance[tails[i]];
    marked[i] = tail != infinity && int(predecessor[indices[i]]) < 0 &&
                is_tight(weights, i, tail, distance[indices[i]]);
  }
}
