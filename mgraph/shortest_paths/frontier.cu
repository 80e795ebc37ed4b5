// Frontier Dijkstra in one launch; frontier_cpu.py explains the method and names its source (STAR
// on GPUs, algorithms 3 to 5). U are the vertices that are reached and not settled, d_min is the
// least tentative distance among them, w_min the least weight in the graph. A round is
//
//   minimum  d_min, by a parallel reduction
//   F        the vertices of U with d <= d_min + w_min, which are final; with a bound by vertex,
//            those with d <= the least d + w of U, w being the least weight of a vertex's arcs
//   settle   relax the arcs of F by atomicMin; improved vertices join U
//
// MGRAPH_BY_ARC is 0 for CUDA_N, which gives a vertex to a thread, and 1 for CUDA_E, which gives an
// arc to a thread; then F is marked first, in flags of its own, and a barrier follows.
//
// Why no barrier is missing. A vertex of F cannot be improved, so its distance may be read while
// others relax. A vertex that is improved to the bound exactly is final as well; without marks it
// may be expanded in this round, in the next one, or in both: its flag is set after its distance
// has fallen, and cleared before its arcs are relaxed, so that it is never left out. Minima have
// three words in turn: round r + 1's is cleared after the barrier at which round r's was complete,
// when all have read round r - 2's, and before the barrier that ends round r.
//
// Cost: a round reads n flags, and the tails of all arcs if by arc; two barriers, or three.

#include <mgraph/grid_barrier.cuh>
#include <mgraph/path_length.cuh>
#include <mgraph/stop_watch.cuh>

using namespace mgraph;
using u8 = unsigned char;
using u64 = unsigned long long;

constexpr int threads = 1024;  // per block

// The kernel's arguments, which frontier_gpu.py packs.

struct graph {
  const long long* indptr;
  const int* indices;
  const weight_t* weights;  // null: every weight is 1
  const int* tails;         // of the arcs, if by arc
  long long n;
  long long num_arcs;
};

struct search_request {
  const int* targets;
  int target_count;
  bool stop_at_first;           // one settled target ends the search, else all must be settled
  key_t cutoff;                 // longer paths are dropped
  weight_t min_weight;          // w_min
  const unsigned* cancel_flag;  // not 0: the search ends early; null: it cannot be cancelled
};

struct search_memory {
  key_t* distance;       // [n], infinity but for the sources, which have 0
  u8* in_u;              // [n] flags, set for the sources
  u8* in_f;              // [n] flags, if by arc
  weight_t* row_minima;  // [n], of the rows with arcs, for a bound by vertex, else null
  key_t* min_distance;   // [3], no_key
  u64* arrived;          // 0; of the barrier
  u64* rounds;           // 0
  u64* cancelled_round;  // the largest number
};

namespace {

__device__ void relax(const graph& graph_, const search_memory& memory, key_t cutoff, key_t tail,
                      long long arc) {
  const int head = graph_.indices[arc];
  const key_t key = extended(tail, graph_.weights ? graph_.weights[arc] : weight_t(1));
  if (key > cutoff || key >= fresh(&memory.distance[head])) return;
  if (key < atomicMin(&memory.distance[head], key)) memory.in_u[head] = 1;
}

// What a vertex of U contributes to the minimum: its distance or, for a bound by vertex, that of
// its nearest head.
__device__ key_t contribution(const graph& graph_, const search_memory& memory, long long v) {
  const key_t key = fresh(&memory.distance[v]);
  if (!memory.row_minima) return key;
  const bool has_arcs = graph_.indptr[v] < graph_.indptr[v + 1];
  return has_arcs ? extended(key, memory.row_minima[v]) : key_t(no_key - 1);
}

// The minimum of all blocks' keys, into *minimum.
__device__ void reduce_minimum(key_t key, key_t* minimum) {
  __shared__ key_t block_minimum;
  if (threadIdx.x == 0) block_minimum = no_key;
  __syncthreads();
  for (int step = 16; step; step /= 2) key = min(key, __shfl_xor_sync(0xFFFFFFFF, key, step));
  if (threadIdx.x % 32 == 0 && key < no_key) atomicMin(&block_minimum, key);
  __syncthreads();
  if (threadIdx.x == 0 && block_minimum < no_key) atomicMin(minimum, block_minimum);
}

// Whether all targets, or the first of them, are nearer than the bound.
__device__ bool targets_are_settled(const search_request& request, const key_t* distance,
                                    key_t bound) {
  int settled = 0;
  for (int base = 0; base < request.target_count; base += blockDim.x) {
    const int i = base + threadIdx.x;
    settled += __syncthreads_count(i < request.target_count &&
                                   fresh(&distance[request.targets[i]]) < bound);
  }
  return request.target_count > 0 &&
         (request.stop_at_first ? settled > 0 : settled == request.target_count);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 1)
    frontier_search(__grid_constant__ const graph graph_,
                    __grid_constant__ const search_request request,
                    __grid_constant__ const search_memory memory) {
  __shared__ stop_watch cancel_watch;
  if (threadIdx.x == 0) cancel_watch = {request.cancel_flag, 0, false};
  grid_barrier barrier{memory.arrived, 0};
  const long long stride = (long long)gridDim.x * blockDim.x;
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long n = graph_.n;
  key_t* const distance = memory.distance;
  for (u64 round = 0;; ++round) {
    key_t nearest = no_key;
    for (long long v = thread; v < n; v += stride) {
      if (fresh(&memory.in_u[v])) nearest = min(nearest, contribution(graph_, memory, v));
    }
    reduce_minimum(nearest, &memory.min_distance[round % 3]);
    if (thread == 0 && cancel_watch.stopped()) *memory.cancelled_round = round;
    barrier.wait();
    if (fresh(memory.cancelled_round) <= round) return;
    nearest = fresh(&memory.min_distance[round % 3]);
    if (thread == 0) {
      memory.min_distance[(round + 1) % 3] = no_key;
      *memory.rounds = round;
    }
    if (nearest == no_key) return;
    const key_t bound = memory.row_minima ? nearest : extended(nearest, request.min_weight);
    if (targets_are_settled(request, distance, bound)) return;
#if MGRAPH_BY_ARC
    for (long long v = thread; v < n; v += stride) {
      const bool in_f = fresh(&memory.in_u[v]) && fresh(&distance[v]) <= bound;
      memory.in_f[v] = in_f;
      if (in_f) memory.in_u[v] = 0;
    }
    barrier.wait();
    for (long long arc = thread; arc < graph_.num_arcs; arc += stride) {
      const int u = graph_.tails[arc];
      if (fresh(&memory.in_f[u])) relax(graph_, memory, request.cutoff, fresh(&distance[u]), arc);
    }
#else
    for (long long v = thread; v < n; v += stride) {
      if (!fresh(&memory.in_u[v])) continue;
      const key_t key = fresh(&distance[v]);
      if (key > bound) continue;
      memory.in_u[v] = 0;
      for (long long arc = graph_.indptr[v]; arc < graph_.indptr[v + 1]; ++arc) {
        relax(graph_, memory, request.cutoff, key, arc);
      }
    }
#endif
    barrier.wait();
  }
}

// The least weight of each row with arcs.
extern "C" __global__ void frontier_row_minima(__grid_constant__ const graph graph_,
                                               weight_t* minima) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (long long v = thread; v < graph_.n; v += stride) {
    const long long first = graph_.indptr[v], end = graph_.indptr[v + 1];
    if (first == end) continue;
    weight_t least = graph_.weights ? graph_.weights[first] : weight_t(1);
    for (long long arc = first + 1; graph_.weights && arc < end; ++arc) {
      least = min(least, graph_.weights[arc]);
    }
    minima[v] = least;
  }
}
