// Rounds of Borůvka's algorithm on lists of edges, executed by all blocks of a launch together.
//
// A component is named by the root of its tree in `parent`. The current list holds edges between
// roots, and `min_edge[root]` the minimum of (key, id) over the listed edges of each root. A round:
//   hook    the minimum edge of each root joins the forest; the root becomes a child of the other
//           end (if both roots chose the same edge, the larger becomes the child)
//   filter  each listed edge looks up the roots of its ends again; if they still differ it is
//           appended to the other list and offered to both roots
// Rounds end when a list is empty. Edges come in bands of ascending keys: `choose_bound` estimates
// from a sample the key up to which about two edges per component remain, so that most edges are
// filtered before they are ever listed. After a band, `flatten_trees` lets every vertex point to
// its root.
//
// Path lookups are bounded: after max_hops a lookup gives up, and the pass is repeated after a
// barrier, since each lookup shortens the path (path splitting).
//
// Memory order. hook writes `parent` and clears `min_edge`, filter reads and shortens `parent` and
// writes `min_edge` by atomics; a barrier separates the two. Within filter, threads shorten paths
// without atomics: every value ever stored in parent[v] is an ancestor of v, so any order of these
// stores is correct. `min_edge[root] == packed(e)` holds for one edge only, so its two ends are
// cleared by the thread that holds the edge.
//
// Cost of a round: two barriers; about 40 bytes and four random reads per listed edge.
#pragma once

#include <mgraph/grid_barrier.cuh>
#include <mgraph/hash.cuh>
#include "chunked_list.cuh"

namespace mgraph {

constexpr u64 no_edge = ~0ULL;
constexpr int max_hops = 32;
constexpr u32 samples = 2048;    // edges in the sample
constexpr u32 min_samples = 64;  // with fewer between components, all edges are taken
constexpr u32 edges_per_component = 2;

// Weights as unsigned integers in the same order; of floats, -0.0 equals 0.0.
__device__ __forceinline__ u32 order_key(unsigned key) { return key; }
__device__ __forceinline__ u32 order_key(int weight) { return u32(weight) ^ 0x80000000u; }
__device__ __forceinline__ u32 order_key(float weight) {
  const u32 bits = __float_as_uint(weight);
  if (bits == 0x80000000u) return bits;
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Orders edges by key, and edges of equal keys by id.
__device__ __forceinline__ u64 packed(u32 key, u32 id) { return u64(key) << 32 | id; }

struct alignas(16) listed_edge {
  u32 a;  // the roots of both ends
  u32 b;
  u32 key;
  u32 id;
};

struct sampled_edge {
  u32 u;
  u32 v;
  u32 key;
};

// Counters that the blocks share; 0 at the launch.
struct forest_counters {
  u64 arrived;    // of the barrier
  u32 chunks[2];  // in use in each list
  u32 pieces;     // of long rows
  u32 joined;     // edges of the forest
  u32 gave_up;    // 1 if a lookup of a root gave up
  u32 bound;      // the key that choose_bound chose
  u32 isolated;   // vertices without an edge
  u32 unused;
};

// The forest under construction, and what each thread knows of it.
struct forest {
  u32 n;
  u32* parent;    // [n] towards the root of the component
  u64* min_edge;  // [n] for each root the minimum listed edge, else no_edge
  u32* bits;      // a bit per edge, set for those of the forest
  listed_edge* entries;
  u32* filled;
  u32 chunks_per_list;
  sampled_edge* sample;   // [samples]
  u64* remaining_sample;  // [samples] packed(key, index), or no_edge
  forest_counters* counters;
  grid_barrier barrier;
  u32 joined;    // edges that this thread added and has not published
  bool gave_up;  // whether a lookup of this thread gave up

  __device__ static u32 thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
  __device__ static u32 threads() { return gridDim.x * blockDim.x; }
  __device__ static u32 warp() { return thread() / 32; }
  __device__ static u32 warps() { return threads() / 32; }

  // One of the two lists.
  __device__ chunked_list<listed_edge> list(u32 which) const {
    return {entries + u64(which) * chunks_per_list * chunk_entries,
            filled + which * chunks_per_list, &counters->chunks[which]};
  }

  // Returns the root of v's component and shortens the path to it. After max_hops it gives up and
  // returns an ancestor.
  __device__ u32 find_root(u32 v) {
    u32 at = v, next = parent[v];
    if (next == v) return v;
    for (int hop = 0; hop < max_hops; ++hop) {
      const u32 after = parent[next];
      if (after == next) {
        if (at != v) parent[v] = next;
        return next;
      }
      parent[at] = after;
      at = next, next = after;
    }
    parent[v] = next;
    gave_up = true;
    return next;
  }

  // Repeats a pass that looks up roots until no lookup of any thread gave up; ends with a barrier.
  // undo: what one thread does before the pass is repeated.
  template <class Pass, class Undo> __device__ void repeat_until_complete(Pass pass, Undo undo) {
    while (true) {
      gave_up = false;
      pass();
      if (gave_up) counters->gave_up = 1;
      barrier.wait();
      if (!fresh(&counters->gave_up)) return;
      barrier.wait();
      if (thread() == 0) {
        counters->gave_up = 0;
        undo();
      }
      barrier.wait();
    }
  }

  // Lets every vertex point to its root. Only one thread writes a vertex's parent here: a late
  // store of another thread, as in find_root, could replace the root by an ancestor below it.
  __device__ void flatten_trees() {
    repeat_until_complete(
        [&] {
          for (u32 v = thread(); v < n; v += threads()) {
            const u32 first = parent[v];
            u32 at = first, next = parent[at];
            for (int hop = 0; hop < max_hops && next != at; ++hop) at = next, next = parent[at];
            gave_up |= next != at;
            if (at != first) parent[v] = at;
          }
        },
        [] {});
  }

  // Adds an edge to the forest.
  __device__ void add_edge(u32 id) {
    atomicOr(&bits[id / 32], 1u << (id & 31));
    ++joined;
  }

  // Offers an edge between two roots to both as their minimum.
  __device__ void offer(const listed_edge& e) {
    const u64 mine = packed(e.key, e.id);
    if (mine < min_edge[e.a]) atomicMin(&min_edge[e.a], mine);
    if (mine < min_edge[e.b]) atomicMin(&min_edge[e.b], mine);
  }

  // Hooks each root to the other end of its minimum edge.
  __device__ void hook(u32 which) {
    for_each_entry(list(which), warp(), warps(), [&](bool has_edge, listed_edge e) {
      if (!has_edge) return;
      const u64 mine = packed(e.key, e.id);
      const bool is_min_of_a = fresh(&min_edge[e.a]) == mine;
      const bool is_min_of_b = fresh(&min_edge[e.b]) == mine;
      if (!is_min_of_a && !is_min_of_b) return;
      const u32 child = is_min_of_a && is_min_of_b ? max(e.a, e.b) : is_min_of_a ? e.a : e.b;
      parent[child] = e.a ^ e.b ^ child;
      add_edge(e.id);
      // No other thread compares with this edge, and no_edge equals no listed edge.
      if (is_min_of_a) min_edge[e.a] = no_edge;
      if (is_min_of_b) min_edge[e.b] = no_edge;
    });
  }

  // Appends the edges that still connect two components to the other list, and offers them.
  __device__ void filter(u32 which) {
    list_writer<listed_edge> writer(list(1 - which));
    for_each_entry(list(which), warp(), warps(), [&](bool has_edge, listed_edge e) {
      bool connects = false;
      if (has_edge) {
        const bool gave_up_before = gave_up;
        gave_up = false;
        e.a = find_root(e.a), e.b = find_root(e.b);
        connects = !gave_up && e.a != e.b;
        gave_up |= gave_up_before;
      }
      writer.append(connects, e);
      if (connects) offer(e);
    });
    writer.finish();
  }

  // Executes rounds until no edge is left. The edges of the first list have been offered.
  __device__ void contract() {
    u32 which = 0;
    while (fresh(&counters->chunks[which])) {
      hook(which);
      barrier.wait();
      repeat_until_complete([&] { filter(which); }, [&] { counters->chunks[1 - which] = 0; });
      if (thread() == 0) counters->chunks[which] = 0;
      which = 1 - which;
    }
  }

  __device__ void publish_joined() {
    const u32 of_warp = __reduce_add_sync(~0u, joined);
    if ((threadIdx.x & 31) == 0 && of_warp) atomicAdd(&counters->joined, of_warp);
    joined = 0;
  }

  // Chooses the largest key of the next band, which begins at min_key. Every vertex must point to
  // its root. edges: in the source, all bands together.
  __device__ u32 choose_bound(u32 min_key, u32 edges) {
    const u32 lane = threadIdx.x & 31;
    publish_joined();
    for (u32 i = thread(); i < samples; i += threads()) {
      const sampled_edge s = sample[i];
      const bool remains = s.key >= min_key && parent[s.u] != parent[s.v];
      remaining_sample[i] = remains ? packed(s.key, i) : no_edge;
    }
    if (thread() == 0) counters->bound = ~0u;
    barrier.wait();
    const u32 components = n - fresh(&counters->isolated) - fresh(&counters->joined);
    const double target = double(edges_per_component) * components;
    for (u32 i = warp(); i < samples; i += warps()) {
      const u64 mine = remaining_sample[i];
      u32 remaining = 0, below = 0;
      for (u32 j = lane; j < samples; j += 32) {
        remaining += remaining_sample[j] != no_edge;
        below += remaining_sample[j] < mine;
      }
      remaining = __reduce_add_sync(~0u, remaining), below = __reduce_add_sync(~0u, below);
      const double estimate = double(remaining) / samples * edges;
      const bool is_enough = remaining >= min_samples && estimate >= 2 * target;
      if (lane == 0 && is_enough && below == u32(remaining * target / estimate))
        counters->bound = u32(mine >> 32);
    }
    barrier.wait();
    return fresh(&counters->bound);
  }

  // Adds the minimum spanning forest of a source's edges, band after band. Every vertex must point
  // to its root.
  template <class Source> __device__ void span(const Source& source) {
    for (u32 min_key = 0, bound;; min_key = bound + 1) {
      bound = choose_bound(min_key, source.edges());
      list_writer<listed_edge> writer(list(0));
      source.for_each_edge(*this, min_key, bound, [&](bool has_edge, listed_edge e) {
        writer.append(has_edge, e);
        if (has_edge) offer(e);
      });
      writer.finish();
      barrier.wait();
      contract();
      if (bound == ~0u) return;
      barrier.wait();  // all threads have read gave_up == 0 before one may set it again
      flatten_trees();
    }
  }

  // Writes the ids of the edges whose bits are set, ascending. counts: a word per block.
  __device__ void write_ids(u32 edges, u32* counts, u32* ids) {
    __shared__ u32 sums[33];
    const u32 lane = threadIdx.x & 31, warp_of_block = threadIdx.x / 32;
    // An exclusive scan over the block's threads; the total goes to sums[32].
    const auto sum_before = [&](u32 value) {
      u32 sum = value;
      for (int step = 1; step < 32; step *= 2) {
        const u32 other = __shfl_up_sync(~0u, sum, step);
        if (lane >= step) sum += other;
      }
      __syncthreads();
      if (lane == 31) sums[warp_of_block] = sum;
      __syncthreads();
      if (warp_of_block == 0) {
        const u32 own = lane < blockDim.x / 32 ? sums[lane] : 0;
        u32 all = own;
        for (int step = 1; step < 32; step *= 2) {
          const u32 other = __shfl_up_sync(~0u, all, step);
          if (lane >= step) all += other;
        }
        sums[lane] = all - own;
        if (lane == 31) sums[32] = all;
      }
      __syncthreads();
      return sums[warp_of_block] + sum - value;
    };
    const u32 words = u32((u64(edges) + 31) / 32), share = (words + gridDim.x - 1) / gridDim.x;
    const u32 begin = min(words, blockIdx.x * share), end = min(words, begin + share);
    u32 count = 0;
    for (u32 w = begin + threadIdx.x; w < end; w += blockDim.x) count += __popc(fresh(&bits[w]));
    sum_before(count);
    if (threadIdx.x == 0) counts[blockIdx.x] = sums[32];
    barrier.wait();
    count = 0;
    for (u32 b = threadIdx.x; b < blockIdx.x; b += blockDim.x) count += fresh(&counts[b]);
    sum_before(count);
    u32 place = sums[32];
    for (u32 tile = begin; tile < end; tile += blockDim.x) {
      const u32 w = tile + threadIdx.x;
      u32 word = w < end ? fresh(&bits[w]) : 0;
      u32 at = place + sum_before(__popc(word));
      place += sums[32];
      for (; word; word &= word - 1) ids[at++] = 32 * w + __ffs(word) - 1;
    }
  }
};

}  // namespace mgraph
