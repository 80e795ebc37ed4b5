// The state of group_search.cu and group_trace.cu, and how a state gets a label.
#pragma once

#include <mgraph/fresh.cuh>
#include <mgraph/hash.cuh>

namespace mgraph {

constexpr int threads_per_block = 256;
// A state with more arcs is left to all blocks.
constexpr int many_arcs = 1 << 13;
// A state is a number: its query, vertex and set, the query from this bit on.
constexpr int query_bit = 46;
constexpr u64 vertex_mask = (1ULL << query_bit) - 1;
// A word's bytes before its state has a label; even, and greater than all others.
constexpr int unreached_byte = 0x7e;
constexpr u64 unreached = 0x7e7e7e7e7e7e7e7eULL;

// What blocks count together; zeros at the launch.
struct search_counts {
  u64 near[2];  // entries of the queues
  u64 far[2];
  u64 hubs;
  u64 taken;                // of the near queue
  u64 arrived;              // at barriers
  u64 overflowed, stopped;  // whether a queue was too short, or the time was up
  u64 ended;                // either; written by one thread while all others wait
};

struct query_state {
  u64 upper;      // the length of the best tree; at first of the longest that counts
  u64 threshold;  // labels up to that are near
  u64 settled;    // labels below that do not change any more
  u64 least_far;  // label in the far queue; unreached at first
  u64 meeting;    // the state where two halves of the best tree meet; unreached if there is none
};

struct group_launch {
  const long long* indptr;   // [n + 1]
  const int* indices;        // [arcs]
  const long long* lengths;  // [arcs]
  const u64* origins;        // [origin_count]: states of one group that are there at first
  u64* words;                // [queries · n << k] by query, vertex and set: unreached
  query_state* states;       // [queries]
  u64* near;                 // [2][capacity]
  u64* far;                  // [2][capacity]
  u64* hubs;                 // [capacity]
  search_counts* counts;
  const u32* cancel_flag;             // null: the launch cannot be cancelled
  u64 deadline;                       // in nanoseconds of the device's clock from the launch on
  u64 origin_count, capacity, width;  // width: by how much thresholds rise
  long long n;
  int k, queries;
};

struct search {
  const group_launch& launch;
  u64 full = (1ULL << launch.k) - 1;  // the set of all groups
  int next = 0, far_queue = 0;        // which near queue and which far queue get states

  __device__ u64 query_of(u64 state) const { return state >> query_bit; }
  __device__ long long vertex_of(u64 state) const { return (state & vertex_mask) >> launch.k; }
  __device__ u64* word_of(u64 state) const {
    return launch.words + query_of(state) * (launch.n << launch.k) + (state & vertex_mask);
  }

  __device__ void append(u64* queue, u64* count, u64 state) const {
    const u64 at = atomicAdd(count, 1ULL);
    if (at < launch.capacity) {
      queue[at] = state;
    } else {
      launch.counts->overflowed = 1;
    }
  }

  // Give a state a label if that is an improvement, and queue it.
  __device__ void label(u64 state, u64 length) const {
    const u64 groups = state & full, rest = full ^ groups;
    query_state& query = launch.states[query_of(state)];
    const u64 upper = fresh(&query.upper);
    u64* row = word_of(state ^ groups);
    if (length >= upper || fresh(row + groups) >> 1 <= length) return;
    // The rest of a tree is no shorter than the way to any of its groups, nor, unless it is
    // settled, than what is settled.
    const u64 settled = fresh(&query.settled);
    u64 least = 0;
    for (int i = 0; i < launch.k; ++i) {
      if (rest >> i & 1) least = max(least, min(fresh(row + (1ULL << i)) >> 1, settled));
    }
    if (length + least >= upper) return;
    if (length + settled >= upper && fresh(row + rest) >> 1 > settled) return;
    const bool waits = 2 * length < upper;
    const u64 word = 2 * length + waits, old = atomicMin(row + groups, word);
    if (old <= word) return;
    const u64 other = fresh(row + rest);
    if (other < unreached && length + (other >> 1) < upper) {
      atomicMin(&query.upper, length + (other >> 1));
    }
    const u64 threshold = fresh(&query.threshold);
    const bool is_near = length <= threshold;
    if (!waits || (old & 1 && !(is_near && old >> 1 > threshold))) return;
    if (is_near) {
      append(launch.near + next * launch.capacity, &launch.counts->near[next], state);
    } else {
      far(state);
    }
  }

  __device__ void far(u64 state) const {
    append(launch.far + far_queue * launch.capacity, &launch.counts->far[far_queue], state);
  }

  // Unite a state with another of its vertex.
  __device__ void unite(u64 state, u64 length, u64 groups) const {
    const u64 other = fresh(word_of((state & ~full) | groups));
    if (other >= unreached) return;
    const u64 sum = length + (other >> 1);
    if (((state & full) | groups) == full) {
      atomicMin(&launch.states[query_of(state)].upper, sum);
    } else {
      label(state | groups, sum);
    }
  }

  // The state of another vertex with the same set.
  __device__ u64 beside(u64 state, int vertex) const {
    return (state & (~vertex_mask | full)) | u64(vertex) << launch.k;
  }

  __device__ void step(u64 state, u64 length, long long arc) const {
    label(beside(state, launch.indices[arc]), length + launch.lengths[arc]);
  }
};

}  // namespace mgraph
