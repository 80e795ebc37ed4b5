// The path that a frontier search found between two partitions: from the least of its nearest targets,
// always on to the least vertex from which a shortest path comes. One block. And how long a search's arcs
// are, where weights are fractional.
#include "whole_lengths.cuh"

using namespace mgraph;
using u32 = unsigned int;

namespace {

constexpr int no_way_back = -1;  // as in star_frontier_gpu.py

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

extern "C" __global__ void star_frontier_lengths(const weight_t* weights, long long m, double factor,
                                                 double rest, arc_length_t* lengths) {
  const length_scale scale{factor, rest};
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < m; i += stride) {
    lengths[i] = whole(weights[i], scale);
  }
}

// size: of the path; 0 where no target is nearer than the bound. path: room for n vertices.
extern "C" __global__ void __launch_bounds__(1024, 1)
    star_frontier_walk(const long long* indptr, const int* indices, const weight_t* weights, int n,
                       double factor, double rest, const key_t* distance, const int* targets,
                       int target_count, key_t bound, path_step* path, int* size) {
  __shared__ key_t keys[32];
  __shared__ u32 ids[32];
  const length_scale scale{factor, rest};
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
  for (int length = 0; length < n && x < u32(n); ++length) {
    const key_t from = distance[x];
    if (threadIdx.x == 0) path[length].vertex = x;
    if (from == 0) {
      if (threadIdx.x == 0) *size = length + 1;
      return;
    }
    least = ~0u;
    key_t weight = no_key;
    for (long long arc = indptr[x] + threadIdx.x; arc < indptr[x + 1]; arc += blockDim.x) {
      const u32 u = indices[arc];
      if (u > least || distance[u] >= from) continue;
      const weight_t its = weights ? weights[arc] : weight_t(1);
      if (extended(distance[u], whole(its, scale)) != from) continue;
      weight = u == least ? min(weight, weight_key(its)) : weight_key(its);
      least = u;
    }
    x = block_min(least, ids);
    weight = block_min(least == x ? weight : no_key, keys);
    if (threadIdx.x == 0) path[length].weight = weight;
  }
  if (threadIdx.x == 0) *size = no_way_back;
}
