// What the paper's searches (shortest_paths/frontier.cu) leave to do for STAR: following the path
// that one of them found between two partitions, and integer lengths of fractional weights.
//
// The path begins at the smallest of the nearest targets, and goes on to the smallest vertex from
// which a shortest path comes, until it arrives at a vertex of distance 0. One block; nothing is
// handed over between blocks.
#include "whole_lengths.cuh"

using namespace mgraph;
using u32 = unsigned int;

namespace {

constexpr int broken_path = -1;  // the size of a path that cannot be followed back

// The minimum over the threads of a block, in all its threads.
template <class T> __device__ T block_min(T value, T* shared) {
  for (int distance = 16; distance; distance /= 2) {
    value = min(value, __shfl_xor_sync(0xFFFFFFFF, value, distance));
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
  for (int warp = 1; warp < blockDim.x / 32; ++warp) value = min(value, shared[warp]);
  return value;
}

}  // namespace

// Write the length of each arc, in units of factor * rest (length_scale).
extern "C" __global__ void star_frontier_lengths(const weight_t* weights, long long num_arcs,
                                                 double factor, double rest,
                                                 arc_length_t* lengths) {
  const length_scale scale{factor, rest};
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long arc = (long long)blockIdx.x * blockDim.x + threadIdx.x; arc < num_arcs;
       arc += stride) {
    lengths[arc] = whole_length(weights[arc], scale);
  }
}

// Follow the shortest path to the nearest target. size: the number of its vertices, at most n; 0
// where no target is nearer than the bound, or broken_path.
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
  u32 smallest = ~0u;
  for (int i = threadIdx.x; i < target_count; i += blockDim.x) {
    if (distance[targets[i]] == nearest) smallest = min(smallest, u32(targets[i]));
  }
  u32 x = block_min(smallest, ids);
  for (int length = 0; length < n && x < u32(n); ++length) {
    const key_t x_distance = distance[x];
    if (threadIdx.x == 0) path[length].vertex = x;
    if (x_distance == 0) {
      if (threadIdx.x == 0) *size = length + 1;
      return;
    }
    smallest = ~0u;
    key_t weight = no_key;
    for (long long arc = indptr[x] + threadIdx.x; arc < indptr[x + 1]; arc += blockDim.x) {
      const u32 u = indices[arc];
      if (u > smallest || distance[u] >= x_distance) continue;
      const weight_t arc_weight = weights ? weights[arc] : weight_t(1);
      if (extended(distance[u], whole_length(arc_weight, scale)) != x_distance) continue;
      weight = u == smallest ? min(weight, weight_key(arc_weight)) : weight_key(arc_weight);
      smallest = u;
    }
    x = block_min(smallest, ids);
    weight = block_min(smallest == x ? weight : no_key, keys);
    if (threadIdx.x == 0) path[length].weight = weight;
  }
  if (threadIdx.x == 0) *size = broken_path;
}
