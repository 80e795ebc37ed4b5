// Group Steiner trees of many queries in one launch: group_search_cpu.py explains the method.
//
// A state is a vertex and a set of groups, for each query; its label is the length of a tree that
// holds both. All states are an array, by query, vertex and set, so that the labels of a vertex lie
// together. A word is twice its label, plus 1 while the state waits in a queue: whoever takes it
// from there clears that bit first, so that later improvements queue it again.
//
// Where the CPU settles states in ascending order, here all states up to a threshold of their query
// are near, and are taken in any order until none is left; those that improve are taken again. Then
// the threshold rises. The labels do not depend on the order.
//
// Division of work: a block takes as many near states as it has threads, and shares out all their
// arcs and unions among its threads. States with many arcs are left to all blocks together.
// Hand-overs: words of states by atomicMin and atomicAnd; queues by barriers of the whole grid.
// A pair of complements that two threads label at the same time, neither seeing the other, is found
// when the lesser of them is taken: it is less than half of the tree, so it waits in a queue.
//
// Cost: a random access of 8 bytes per arc of a state that is taken and one per group of the vertex
// that it leads to; two barriers of the grid per round, and four more per threshold.
#include <mgraph/grid_barrier.cuh>
#include <mgraph/stop_watch.cuh>

#include "group_search.cuh"

using namespace mgraph;

namespace {

// The number-th nonempty subset of a set, counted from 0.
__device__ u64 subset(u64 set, u64 number) {
  u64 result = 0;
  for (++number; number; number >>= 1, set &= set - 1) {
    if (number & 1) result |= set & -set;
  }
  return result;
}

__device__ int members(u64 set) { return __popc(unsigned(set)); }

// Take near states, a block's worth at a time.
__device__ void take_states(const search& its, u64 count, const u64* queue) {
  const group_launch& launch = its.launch;
  __shared__ u64 states[threads_per_block], lengths[threads_per_block], first;
  __shared__ long long begins[threads_per_block];
  __shared__ int arcs[threads_per_block], ends[threads_per_block];
  const int me = threadIdx.x, size = blockDim.x;
  while (true) {
    __syncthreads();
    if (me == 0) first = atomicAdd(&launch.counts->taken, u64(size));
    __syncthreads();
    if (first >= count) return;
    int work = 0;
    if (first + me < count) {
      const u64 state = fresh(queue + first + me);
      const u64 word = atomicAnd(its.word_of(state), ~1ULL), length = word >> 1;
      if (word & 1 && 2 * length < fresh(&launch.states[its.query_of(state)].upper)) {
        const long long v = its.vertex_of(state), begin = launch.indptr[v];
        const long long degree = launch.indptr[v + 1] - begin;
        states[me] = state, lengths[me] = length, begins[me] = begin;
        arcs[me] = degree;
        if (degree > many_arcs) {
          arcs[me] = 0;
          its.append(launch.hubs, &launch.counts->hubs, state);
        }
        work = arcs[me] + (1 << members(its.full & ~state)) - 1;
      }
    }
    ends[me] = work;
    for (int by = 1; by < size; by *= 2) {
      __syncthreads();
      const int before = me >= by ? ends[me - by] : 0;
      __syncthreads();
      ends[me] += before;
    }
    __syncthreads();
    for (int i = me; i < ends[size - 1]; i += size) {
      int low = 0, high = size - 1;  // the first whose end is beyond i
      while (low < high) {
        const int middle = (low + high) / 2;
        if (ends[middle] > i) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      const int own = i - (low ? ends[low - 1] : 0);
      if (own < arcs[low]) {
        its.step(states[low], lengths[low], begins[low] + own);
      } else {
        const u64 others = its.full & ~states[low];
        its.unite(states[low], lengths[low], subset(others, own - arcs[low]));
      }
    }
  }
}

__device__ void take_hubs(const search& its, u64 count) {
  const group_launch& launch = its.launch;
  const long long me = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (u64 i = 0; i < count; ++i) {
    const u64 state = fresh(launch.hubs + i), length = fresh(its.word_of(state)) >> 1;
    const long long v = its.vertex_of(state);
    for (long long arc = launch.indptr[v] + me; arc < launch.indptr[v + 1];
         arc += (long long)gridDim.x * blockDim.x) {
      its.step(state, length, arc);
    }
  }
}

}  // namespace

extern "C" __global__ void group_search(__grid_constant__ const group_launch launch) {
  search its{launch};
  search_counts* counts = launch.counts;
  grid_barrier barrier{&counts->arrived, 0};
  const u64 me = (u64)blockIdx.x * blockDim.x + threadIdx.x, all = (u64)gridDim.x * blockDim.x;
  const bool leads = me == 0;
  stop_watch watch{launch.cancel_flag, 0, false};
  const u64 start = nanoseconds();
  for (u64 i = me; i < launch.origin_count; i += all) its.label(launch.origins[i], 0);
  barrier.wait();
  while (true) {
    if (leads) counts->ended = fresh(&counts->overflowed);
    barrier.wait();
    if (fresh(&counts->ended)) return;
    for (u64 count; (count = fresh(&counts->near[its.next]));) {
      const int current = its.next;
      its.next ^= 1;
      take_states(its, count, launch.near + current * launch.capacity);
      barrier.wait();
      const u64 hubs = fresh(&counts->hubs);
      if (hubs) {
        take_hubs(its, min(hubs, launch.capacity));
        barrier.wait();
      }
      if (leads) {
        counts->near[current] = counts->taken = counts->hubs = 0;
        if (watch.stopped() || nanoseconds() - start > launch.deadline) counts->stopped = 1;
        counts->ended = counts->stopped || fresh(&counts->overflowed);
      }
      barrier.wait();
      if (fresh(&counts->ended)) return;
    }
    // No state is near any more: raise the thresholds, and sort the others by them.
    const u64* queue = launch.far + its.far_queue * launch.capacity;
    const u64 count = fresh(&counts->far[its.far_queue]);
    if (!count) return;
    for (u64 i = me; i < count; i += all) {
      const u64 state = fresh(queue + i), word = fresh(its.word_of(state));
      query_state& query = launch.states[its.query_of(state)];
      if (word & 1 && (word & ~1ULL) < fresh(&query.upper)) atomicMin(&query.least_far, word >> 1);
    }
    barrier.wait();
    for (u64 i = me; i < launch.queries; i += all) {
      query_state& query = launch.states[i];
      const u64 least = fresh(&query.least_far);
      // Without a far state the rest has no label below half of the best tree's length.
      query.settled = least < unreached ? least : (fresh(&query.upper) + 1) / 2;
      query.threshold = query.settled + launch.width;
      query.least_far = unreached;
    }
    if (leads) counts->far[its.far_queue ^ 1] = 0;
    barrier.wait();
    its.far_queue ^= 1;
    for (u64 i = me; i < count; i += all) {
      const u64 state = fresh(queue + i), word = fresh(its.word_of(state));
      const query_state& query = launch.states[its.query_of(state)];
      if (!(word & 1)) continue;
      if (word >= fresh(&query.upper)) {  // waits no more, unless its label improves
        *its.word_of(state) = word & ~1ULL;
      } else if (word >> 1 <= fresh(&query.threshold)) {
        its.append(launch.near + its.next * launch.capacity, &counts->near[its.next], state);
      } else {
        its.far(state);
      }
    }
    barrier.wait();
  }
}
