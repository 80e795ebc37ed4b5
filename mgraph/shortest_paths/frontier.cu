// Frontier Dijkstra in one launch; frontier_cpu.py explains the method. A round is
//
//   minimum  the least distance among the vertices that wait
//   relax    the arcs of those within that distance plus the least weight, which are final
//
// MGRAPH_BY_ARC is 0 to give a vertex to a thread (CUDA_N), 1 to give it an arc (CUDA_E): then the
// frontier is marked first. A vertex that is improved exactly to the bound is final too; it may be
// expanded in this round, or in the next, or in both, which changes no distance.
// Cost: a round reads n flags, and m arcs' tails if by arc; two barriers, or three.

#include <mgraph/grid_barrier.cuh>
#include <mgraph/path_length.cuh>
#include <mgraph/stop_watch.cuh>

using namespace mgraph;
using u8 = unsigned char;

namespace {

struct search {
  const int* indices;
  const weight_t* weights;  // null: every weight is 1
  key_t* distance;
  u8* waiting;
  key_t cutoff;

  __device__ void relax(key_t from, long long arc) const {
    const int v = indices[arc];
    const key_t key = extended(from, weights ? weights[arc] : weight_t(1));
    if (key > cutoff || key >= fresh(&distance[v])) return;
    if (key < atomicMin(&distance[v], key)) waiting[v] = 1;
  }
};

// The least of a block's keys, to *least of all blocks.
__device__ void take_minimum(key_t key, key_t* least) {
  __shared__ key_t block_least;
  if (threadIdx.x == 0) block_least = no_key;
  __syncthreads();
  for (int step = 16; step; step /= 2) key = min(key, __shfl_xor_sync(0xFFFFFFFF, key, step));
  if (threadIdx.x % 32 == 0 && key < no_key) atomicMin(&block_least, key);
  __syncthreads();
  if (threadIdx.x == 0 && block_least < no_key) atomicMin(least, block_least);
}

// Whether all targets, or one of them, are nearer than the bound.
__device__ bool settled(const key_t* distance, const int* targets, int count, bool first,
                        key_t bound) {
  int found = 0;
  for (int base = 0; base < count; base += blockDim.x) {
    const int i = base + threadIdx.x;
    found += __syncthreads_count(i < count && fresh(&distance[targets[i]]) < bound);
  }
  return count > 0 && (first ? found > 0 : found == count);
}

}  // namespace

// waiting, frontier: n flags; the sources wait at distance 0. tails: by arc, the arcs' beginnings.
// least: three keys, no_key. arrived: 0. stop: not 0: end early. stopped_at: the round of that, first
// the largest number.
extern "C" __global__ void __launch_bounds__(1024, 1) frontier_search(
    const long long* indptr, const int* indices, const weight_t* weights, const int* tails,
    long long n, long long m, key_t* distance, u8* waiting, u8* frontier, const int* targets,
    int target_count, int first_target, key_t cutoff, weight_t least_weight, key_t* least,
    unsigned long long* arrived, unsigned long long* rounds, const unsigned* stop,
    unsigned long long* stopped_at) {
  __shared__ stop_watch watch;
  if (threadIdx.x == 0) watch = {stop, 0, false};
  const search it{indices, weights, distance, waiting, cutoff};
  grid_barrier barrier{arrived, 0};
  const long long stride = (long long)gridDim.x * blockDim.x;
  const long long mine = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned long long round = 0;; ++round) {
    key_t nearest = no_key;
    for (long long v = mine; v < n; v += stride) {
      if (fresh(&waiting[v])) nearest = min(nearest, fresh(&distance[v]));
    }
    take_minimum(nearest, &least[round % 3]);
    if (mine == 0 && watch.stopped()) *stopped_at = round;
    barrier.wait();
    if (fresh(stopped_at) <= round) return;  // what is written later is larger
    nearest = fresh(&least[round % 3]);
    if (mine == 0) {
      least[(round + 1) % 3] = no_key;
      *rounds = round;
    }
    if (nearest == no_key) return;
    const key_t bound = extended(nearest, least_weight);
    if (settled(distance, targets, target_count, first_target, bound)) return;
#if MGRAPH_BY_ARC
    for (long long v = mine; v < n; v += stride) {
      const bool in = fresh(&waiting[v]) && fresh(&distance[v]) <= bound;
      frontier[v] = in;
      if (in) waiting[v] = 0;
    }
    barrier.wait();
    for (long long arc = mine; arc < m; arc += stride) {
      const int u = tails[arc];
      if (fresh(&frontier[u])) it.relax(fresh(&distance[u]), arc);
    }
#else
    for (long long v = mine; v < n; v += stride) {
      if (!fresh(&waiting[v])) continue;
      const key_t from = fresh(&distance[v]);
      if (from > bound) continue;
      waiting[v] = 0;
      for (long long arc = indptr[v]; arc < indptr[v + 1]; ++arc) it.relax(from, arc);
    }
#endif
    barrier.wait();
  }
}
