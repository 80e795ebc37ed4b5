// Rounds of Borůvka's algorithm on lists of edges, by all blocks of a launch together.
//
// A component is named by its root. A list holds edges between components that are there at the time of
// a round, which hooks components together along the lightest edge of each, and then passes the list on,
// with the roots there are now, and without the edges whose ends have met. A round takes two barriers.
#pragma once

#include "chunked_list.cuh"
#include <mgraph/grid_barrier.cuh>
#include <mgraph/hash.cuh>

namespace mgraph {

constexpr u64 no_choice = ~0ULL;
constexpr int most_hops = 32;  // on the way to a root, before others are let to shorten it
constexpr u32 samples = 2048, few_samples = 64, edges_a_component = 2;

// Weights as unsigned integers in the same order; of floats -0.0 is 0.0.
__device__ __forceinline__ u32 order_key(unsigned key) { return key; }
__device__ __forceinline__ u32 order_key(int weight) { return u32(weight) ^ 0x80000000u; }
__device__ __forceinline__ u32 order_key(float weight) {
  const u32 bits = __float_as_uint(weight);
  if (bits == 0x80000000u) return bits;
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Among edges of one weight the one of the lower id is lighter.
__device__ __forceinline__ u64 lightness(u32 key, u32 id) { return u64(key) << 32 | id; }

struct __align__(16) listed_edge {
  u32 a, b, key, id;
};

struct sampled_edge {
  u32 u, v, key;
};

// What the blocks tell each other; 0 at the launch.
struct forest_progress {
  u64 arrived;
  u32 chunks[2], pieces, joined, deep, bound, isolated, unused;
};

struct forest {
  u32 n;
  u32* parent;           // towards the root of a component
  u64* best;             // a root's lightest edge in the list; else none
  u32* bits;             // an edge's is set when it is of the forest
  listed_edge* entries;  // of two lists
  u32* filled;
  u32 chunks;  // that each has room for
  sampled_edge* sample;
  u64* drawn;
  forest_progress* progress;
  grid_barrier barrier;
  u32 joined;  // by this thread, not told yet
  bool deep;   // it gave a way to a root up

  __device__ static u32 thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
  __device__ static u32 threads() { return gridDim.x * blockDim.x; }
  __device__ static u32 warp() { return thread() / 32; }
  __device__ static u32 warps() { return threads() / 32; }

  // The first or the second list.
  __device__ chunked_list<listed_edge> list(u32 which) const {
    return {entries + u64(which) * chunks * chunk_entries, filled + which * chunks,
            &progress->chunks[which]};
  }

  // The root of v's component, and a shorter way to it. After many hops it gives up, and says so.
  __device__ u32 root(u32 v) {
    u32 at = v, next = parent[v];
    if (next == v) return v;
    for (int hop = 0; hop < most_hops; ++hop) {
      const u32 after = parent[next];
      if (after == next) {
        if (at != v) parent[v] = next;
        return next;
      }
      parent[at] = after;
      at = next, next = after;
    }
    parent[v] = next;
    deep = true;
    return next;
  }

  // Do something that looks for roots, again and again until nobody gave up.
  template <class Work, class Undo> __device__ void until_shallow(Work work, Undo undo) {
    while (true) {
      deep = false;
      work();
      if (deep) progress->deep = 1;
      barrier.wait();
      if (!fresh(&progress->deep)) return;
      barrier.wait();
      if (thread() == 0) {
        progress->deep = 0;
        undo();
      }
      barrier.wait();
    }
  }

  // Let every vertex know its root. Each is seen to by one thread alone: one that is late, as in root(), would
  // undo what others found.
  __device__ void flatten() {
    until_shallow(
        [&] {
          for (u32 v = thread(); v < n; v += threads()) {
            const u32 first = parent[v];
            u32 at = first, next = parent[at];
            for (int hop = 0; hop < most_hops && next != at; ++hop) at = next, next = parent[at];
            deep |= next != at;
            if (at != first) parent[v] = at;
          }
        },
        [] {});
  }

  // An edge is of the forest.
  __device__ void join(u32 id) {
    atomicOr(&bits[id / 32], 1u << (id & 31));
    ++joined;
  }

  // An edge between two roots offers itself to both.
  __device__ void offer(const listed_edge& e) {
    const u64 mine = lightness(e.key, e.id);
    if (mine < best[e.a]) atomicMin(&best[e.a], mine);
    if (mine < best[e.b]) atomicMin(&best[e.b], mine);
  }

  // Join each root to the other end of its lightest edge; of two that chose the same, the larger.
  __device__ void hook(u32 which) {
    for_each_entry(list(which), warp(), warps(), [&](bool there, listed_edge e) {
      if (!there) return;
      const u64 mine = lightness(e.key, e.id);
      const bool of_a = fresh(&best[e.a]) == mine, of_b = fresh(&best[e.b]) == mine;
      if (!of_a && !of_b) return;
      const u32 child = of_a && of_b ? max(e.a, e.b) : of_a ? e.a : e.b;
      parent[child] = e.a ^ e.b ^ child;
      join(e.id);
      // Nobody else asks for this edge, and to others no choice is as good as that of another edge.
      if (of_a) best[e.a] = no_choice;
      if (of_b) best[e.b] = no_choice;
    });
  }

  // Pass the edges whose ends are still apart on to the other list, and offer them.
  __device__ void filter(u32 which) {
    list_writer<listed_edge> writer(list(1 - which));
    for_each_entry(list(which), warp(), warps(), [&](bool there, listed_edge e) {
      bool apart = false;
      if (there) {
        const bool before = deep;
        deep = false;
        e.a = root(e.a), e.b = root(e.b);
        apart = !deep && e.a != e.b;
        deep |= before;
      }
      writer.append(apart, e);
      if (apart) offer(e);
    });
    writer.finish();
  }

  // Rounds until the first list, whose edges have been offered, is empty.
  __device__ void contract() {
    u32 which = 0;
    while (fresh(&progress->chunks[which])) {
      hook(which);
      barrier.wait();
      until_shallow([&] { filter(which); }, [&] { progress->chunks[1 - which] = 0; });
      if (thread() == 0) progress->chunks[which] = 0;
      which = 1 - which;
    }
  }

  __device__ void tell_joined() {
    const u32 told = __reduce_add_sync(~0u, joined);
    if ((threadIdx.x & 31) == 0 && told) atomicAdd(&progress->joined, told);
    joined = 0;
  }

  // The key up to which edges should be taken next, of those from `low` on; roots must be known. edges: in all.
  __device__ u32 next_bound(u32 low, u32 edges) {
    const u32 lane = threadIdx.x & 31;
    tell_joined();
    for (u32 i = thread(); i < samples; i += threads()) {
      const sampled_edge s = sample[i];
      const bool left = s.key >= low && parent[s.u] != parent[s.v];
      drawn[i] = left ? lightness(s.key, i) : no_choice;
    }
    if (thread() == 0) progress->bound = ~0u;
    barrier.wait();
    const u32 components = n - fresh(&progress->isolated) - fresh(&progress->joined);
    const double wanted = double(edges_a_component) * components;
    for (u32 i = warp(); i < samples; i += warps()) {
      const u64 mine = drawn[i];
      u32 left = 0, below = 0;
      for (u32 j = lane; j < samples; j += 32) {
        left += drawn[j] != no_choice;
        below += drawn[j] < mine;
      }
      left = __reduce_add_sync(~0u, left), below = __reduce_add_sync(~0u, below);
      const double there = double(left) / samples * edges;
      const bool enough = left >= few_samples && there >= 2 * wanted;
      if (lane == 0 && enough && below == u32(left * wanted / there)) progress->bound = u32(mine >> 32);
    }
    barrier.wait();
    return fresh(&progress->bound);
  }

  // The forest of a source's edges, lightest first, between what is joined already; roots must be known.
  template <class Source> __device__ void span(const Source& source) {
    for (u32 low = 0, bound;; low = bound + 1) {
      bound = next_bound(low, source.edges());
      list_writer<listed_edge> writer(list(0));
      source.for_each_edge(*this, low, bound, [&](bool there, listed_edge e) {
        writer.append(there, e);
        if (there) offer(e);
      });
      writer.finish();
      barrier.wait();
      contract();
      if (bound == ~0u) return;
      barrier.wait();  // all have seen that nobody gave up, before somebody may again
      flatten();
    }
  }

  // The edges whose bits are set, of so many, in ascending order. counts: a word a block.
  __device__ void write_ids(u32 edges, u32* counts, u32* ids) {
    __shared__ u32 sums[33];
    const u32 lane = threadIdx.x & 31, warp_of_block = threadIdx.x / 32;
    // The sum of the values of the block's threads before this one; their total into sums[32].
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
