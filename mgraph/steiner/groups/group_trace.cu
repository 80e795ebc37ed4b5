// The trees that group_search.cu has found, from the labels of their states: each label that is not
// 0 comes from a step along an arc or from a union of two sets.
#include "group_search.cuh"

using namespace mgraph;

namespace {

constexpr int max_depth = 64;  // of unions, of which there are fewer than groups

struct trace_launch {
  int* tails;                 // [queries][capacity]: of the tree's arcs
  int* heads;                 // [queries][capacity]
  u64* weights;               // [queries][capacity]: the bits of each weight
  int* counts;                // [queries]: of arcs, which may be more than there is room for
  int* chosen;                // [queries][k]: a vertex of each group
  u32* is_broken;             // whether a state's label could not be explained
  const void* graph_weights;  // [arcs]; null if each is 1
  int weight_bytes, capacity;
};

__device__ u64 weight_of(const trace_launch& trees, long long arc) {
  if (!trees.graph_weights) return 1;
  return trees.weight_bytes == 4 ? ((const u32*)trees.graph_weights)[arc]
                                 : ((const u64*)trees.graph_weights)[arc];
}

}  // namespace

// Find for each query the least state where two halves of its best tree meet.
extern "C" __global__ void group_meet(__grid_constant__ const group_launch launch) {
  const search its{launch};
  const long long all = (long long)gridDim.x * blockDim.x;
  for (int query = 0; query < launch.queries; ++query) {
    query_state& its_query = launch.states[query];
    const u64 upper = its_query.upper;
    for (long long v = (long long)blockIdx.x * blockDim.x + threadIdx.x; v < launch.n; v += all) {
      const u64 state = u64(query) << query_bit | u64(v) << launch.k;
      const u64* row = its.word_of(state);
      for (u64 half = 1; half < its.full; half += 2) {
        if (row[half] >= unreached || row[its.full ^ half] >= unreached) continue;
        if ((row[half] >> 1) + (row[its.full ^ half] >> 1) == upper) {
          atomicMin(&its_query.meeting, state | half);
        }
      }
    }
  }
}

// Write the arcs of each query's tree, a block per query.
extern "C" __global__ void group_trace(__grid_constant__ const group_launch launch,
                                       __grid_constant__ const trace_launch trees) {
  const search its{launch};
  __shared__ u64 waiting[max_depth];
  __shared__ unsigned long long found;
  for (int query = blockIdx.x; query < launch.queries; query += gridDim.x) {
    int count = 0, depth = 0;
    const u64 meeting = launch.states[query].meeting;
    __syncthreads();
    if (meeting < unreached) {
      if (threadIdx.x == 0) waiting[0] = meeting, waiting[1] = meeting ^ its.full;
      depth = 2;
    }
    while (depth) {
      __syncthreads();
      u64 state = waiting[--depth];
      while (true) {
        const u64 groups = state & its.full, row = state ^ groups;
        const u64 length = *its.word_of(state) >> 1;
        if (length == 0 && !(groups & (groups - 1))) {
          if (threadIdx.x == 0) {
            trees.chosen[query * launch.k + __popc(unsigned(groups - 1))] = its.vertex_of(state);
          }
          break;
        }
        // The first arc that a step may have taken; else the least half of a union.
        __syncthreads();
        if (threadIdx.x == 0) found = unreached;
        __syncthreads();
        const long long v = its.vertex_of(state);
        for (long long arc = launch.indptr[v] + threadIdx.x; arc < launch.indptr[v + 1];
             arc += blockDim.x) {
          const u64 before = *its.word_of(its.beside(state, launch.indices[arc]));
          if (before < unreached && (before >> 1) + launch.lengths[arc] == length) {
            atomicMin(&found, (unsigned long long)arc);
          }
        }
        __syncthreads();
        const u64 arc = found;
        if (arc < unreached) {
          if (threadIdx.x == 0 && count < trees.capacity) {
            const long long at = query * (long long)trees.capacity + count;
            trees.tails[at] = v;
            trees.heads[at] = launch.indices[arc];
            trees.weights[at] = weight_of(trees, arc);
          }
          ++count;
          state = its.beside(state, launch.indices[arc]);
          continue;
        }
        __syncthreads();
        for (u64 half = threadIdx.x + 1; half < groups; half += blockDim.x) {
          if (half & ~groups) continue;
          const u64 one = *its.word_of(row | half), other = *its.word_of(row | (groups ^ half));
          if (one < unreached && other < unreached && (one >> 1) + (other >> 1) == length) {
            atomicMin(&found, half);
          }
        }
        __syncthreads();
        const u64 half = found;
        if (half >= unreached) {
          if (threadIdx.x == 0) *trees.is_broken = 1;
          break;
        }
        if (threadIdx.x == 0) waiting[depth] = row | half;
        ++depth;
        state = row | (groups ^ half);
      }
    }
    if (threadIdx.x == 0) trees.counts[query] = count;
  }
}
