// The path that a frontier search found between two partitions: from the least of its nearest targets,
// always on to the least vertex from which a shortest path comes. One block.
#include "mgraph/path_length.cuh"

using namespace mgraph;
using u32 = unsigned int;

namespace {

// The least of a block's values, in all its threads.
template <class T> __device__ T block_min(T value, T* shared) {
  for (int apart = 16; apart; apart /= 2) {
    value = min(value, __shfl_xor_sync(0xFFFFFFFF, value, apart));
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int warp = 1; warp < blockDim.x / 32; ++warp) value = min(value, shared[warp]);
  return value;
}

}  // namespace

// size: of the path; 0 where no target is nearer than the bound. path: room for n vertices.
extern "C" __global__ void __launch_bounds__(1024, 1)
    star_frontier_walk(const long long* indptr, const int* indices, const weight_t* weights,
                       const key_t* distance, const int* targets, int target_count, key_t bound,
                       path_step* path, int* size) {
  __shared__ key_t keys[32];
  __shared__ u32 ids[32];
  key_t nearest = bound;
  for (int i = threadIdx.x; i < target_count; i += blockDim.x) {
    nearest = min(nearest, distance[targets[i]]);
  }
  nearest = block_min(nearest, keys);
  if (threadIdx.x == 0) *size = 0;
  if (nearest >= bound) return;
  u32 least = ~0u;
  for (int i = threadIdx.x; i < target_count; i += blockDim.x) {
    if (distance[targets[i]] == nearest) least = min(least, u32(targets[i]));
  }
  u32 x = block_min(least, ids);
  for (int length = 0;; ++length) {
    const key_t from = distance[x];
    if (threadIdx.x == 0) path[length].vertex = x;
    if (from == 0) {
      if (threadIdx.x == 0) *size = length + 1;
      return;
    }
    least = ~0u;
    weight_t weight = 0;
    for (long long arc = indptr[x] + threadIdx.x; arc < indptr[x + 1]; arc += blockDim.x) {
      const u32 u = indices[arc];
      const weight_t its = weights ? weights[arc] : weight_t(1);
      if (u < least && distance[u] < from && extended(distance[u], its) == from) {
        least = u;
        weight = its;
      }
    }
    x = block_min(least, ids);
    if (least == x) path[length].weight = as_key(length_t(weight));
  }
}
