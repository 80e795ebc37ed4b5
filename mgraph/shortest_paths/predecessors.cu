// Predecessors from distances; predecessors_cpu.py explains the choice. An arc a thread, and the
// least of all tails by atomicMin: -1 is the largest unsigned number.

#include <mgraph/path_length.cuh>

using namespace mgraph;
using u32 = unsigned int;

namespace {

__device__ bool tight(const weight_t* weights, long long arc, key_t from, key_t to) {
  return extended(from, weights ? weights[arc] : weight_t(1)) == to;
}

}  // namespace

// From arcs that lead farther away. predecessor: -1 everywhere.
extern "C" __global__ void predecessors_take_nearer(const int* tails, const int* indices,
                                                    const weight_t* weights, long long m,
                                                    const key_t* distance, key_t infinity,
                                                    u32* predecessor) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < m; i += stride) {
    const key_t from = distance[tails[i]], to = distance[indices[i]];
    if (from < to && to != infinity && tight(weights, i, from, to)) {
      atomicMin(&predecessor[indices[i]], u32(tails[i]));
    }
  }
}

// Mark the tight arcs to vertices without predecessor, which have no length.
extern "C" __global__ void predecessors_mark_arcs(const int* tails, const int* indices,
                                                  const weight_t* weights, long long m,
                                                  const key_t* distance, key_t infinity,
                                                  const u32* predecessor, bool* marked) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < m; i += stride) {
    const key_t from = distance[tails[i]];
    marked[i] = from != infinity && int(predecessor[indices[i]]) < 0 &&
                tight(weights, i, from, distance[indices[i]]);
  }
}
