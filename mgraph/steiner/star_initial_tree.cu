// STAR's first tree: breadth-first search from all terminals of a query until a vertex is reached by
// all, and the paths from it. star_initial_tree_cpu.py explains the method, star_levels.cuh a level.
//
// A group of blocks does one query after another. Hubs, the vertices of most arcs, are not searched for:
// every vertex knows which are within how many levels of it, so that the level is known at which the first
// one is reached from all terminals. The search stops before that level, which would be the largest. Then
// the paths are walked, a terminal a block, and the state of what was touched is reset.
#include "star_levels.cuh"

using namespace mgraph;

namespace {

struct query {
  long long terminals, paths;  // where its own begin
  int count;                   // of terminals
  int room;                    // for path vertices, of each terminal
};

struct outcome {
  int levels, meeting_vertex;  // -1: no vertex is reached by all
};

// Which hubs are within so many levels of a vertex, a bit a hub; in a memory sector.
constexpr int hub_levels = 4;
struct near_hubs {
  u64 bits[hub_levels];  // by the number of levels modulo hub_levels: 1 first, 4 last

  __device__ u64& within(int levels) { return bits[levels % hub_levels]; }
};

static_assert(sizeof(shared_counters<counters>) <= 640, "as star_memory_gpu.py has it");

constexpr int no_way_back = -2;  // as in star_initial_tree_gpu.py

struct initial_tree_search : star_levels {
  const int* hubs;          // those of most arcs first
  const near_hubs* within;  // [n]; null: no hubs
  // the query
  const int* terminals;
  int last;  // level of the search

  // The first level at which a hub is reached from all terminals, and which hub.
  __device__ outcome first_hub() const {
    __shared__ near_hubs common;
    if (!within) return {0x7FFFFFFF, -1};
    __syncthreads();
    if (threadIdx.x < hub_levels) common.bits[threadIdx.x] = ~0ULL;
    __syncthreads();
    for (int i = threadIdx.x; i < count * hub_levels; i += blockDim.x) {
      const u64 its = within[terminals[i / hub_levels]].bits[i % hub_levels];
      if (~its) atomicAnd(&common.bits[i % hub_levels], its);
    }
    __syncthreads();
    for (int level = 1; level <= hub_levels; ++level) {
      const u64 reached = common.within(level);
      if (reached) return {level, hubs[__ffsll(reached) - 1]};
    }
    return {0x7FFFFFFF, -1};
  }

  // Search; the outcome is the same in all threads.
  __device__ outcome meet() {
    if (blocks.leads()) {
      for (int i = 0; i < 3; ++i) told->near[i] = told->arrived[i] = 0;
      told->touched = 0;
      told->best = 0;
      told->stopped = watch.stopped();
      told->arrived[0] = count;
    }
    for (u32 i = blocks.thread(); i < count; i += blocks.threads()) {
      words_of(terminals[i], arriving)[i / 32] = 1u << (i % 32);
      arrived[i] = terminals[i];
    }
    const outcome at_hub = first_hub();
    look();
    for (int level = 0;; ++level) {
      last = level;
      if (seen.arrived[level % 3] == 0) return {-1, -1};
      advance(level, level + 1 < at_hub.levels);
      if (blocks.leads() && watch.stopped()) told->stopped = 1;
      look();
      if (seen.best) return {level, int(~u32(seen.best))};
      if (seen.stopped) return {-1, -1};
      if (level + 1 == at_hub.levels) {
        settle(at_hub.meeting_vertex, level + 1);
        return at_hub;
      }
      if (seen.near[level % 3]) {
        expand(level);
        look();
      }
    }
  }

  // The next level reaches a hub from all terminals.
  __device__ void settle(int hub, int level) {
    const int code = level % 3 + 1;
    for (u32 word = blocks.thread(); word < words; word += blocks.threads()) {
      const u32 bits = all_of(word) & ~reached(hub, word);
      if (code & 1) words_of(hub, low)[word] |= bits;
      if (code & 2) words_of(hub, high)[word] |= bits;
    }
    if (blocks.leads()) touched[told->touched++] = hub;
    look();
  }

  // 0, or 1 to 3 by the level at which a terminal's search reached a vertex.
  __device__ int code(int v, int terminal) const {
    const int word = terminal / 32, bit = terminal % 32;
    return (fresh(words_of(v, low) + word) >> bit & 1) +
           2 * (fresh(words_of(v, high) + word) >> bit & 1);
  }

  // Paths begin at the meeting vertex, and go on to the least neighbour that is a level nearer; the first step
  // is found for all terminals at once, since meeting vertices have many arcs.
  __device__ void leave(int meeting_vertex, path_step* paths, int room) {
    for (u32 i = blocks.thread(); i < count; i += blocks.threads()) {
      paths[size_t(i) * room] = {0, meeting_vertex};
      paths[size_t(i) * room + 1].vertex = 0x7FFFFFFF;
    }
    look();
    for (long long arc = indptr[meeting_vertex] + blocks.thread(); arc < indptr[meeting_vertex + 1];
         arc += blocks.threads()) {
      const int u = indices[arc];
      for (int word = 0; word < words; ++word) {
        const u32 is_low = fresh(words_of(meeting_vertex, low) + word);
        const u32 is_high = fresh(words_of(meeting_vertex, high) + word);
        // The level before 1 is 3, that before 2 is 1, that before 3 is 2.
        const u32 differs = (fresh(words_of(u, low) + word) ^ ~(is_low & is_high)) |
                            (fresh(words_of(u, high) + word) ^ is_low);
        for (u32 bits = ~differs & all_of(word); bits; bits &= bits - 1) {
          int* const least = &paths[size_t(32 * word + __ffs(bits) - 1) * room + 1].vertex;
          if (u < fresh(least)) atomicMin(least, u);
        }
      }
    }
    look();
  }

  // The path from the meeting vertex to a terminal, after its first step; by a block. room: for its vertices.
  // Returns how many it has, or no_way_back.
  __device__ int walk(int meeting_vertex, int terminal, path_step* path, int room) {
    __shared__ u32 least[2];
    if (meeting_vertex == terminals[terminal]) return 1;
    int before = meeting_vertex, x = fresh(&path[1].vertex);
    if (u32(x) >= n) return no_way_back;
    int nearer = code(x, terminal);
    for (int length = 1; length < room; ++length) {
      const bool ends = x == terminals[terminal];
      nearer = (nearer + 1) % 3 + 1;  // the level before
      if (threadIdx.x == 0) {
        path[length] = {no_key, x};
        least[length & 1] = ~0u;
      }
      __syncthreads();
      u32 mine = ~0u;
      key_t weight = no_key;
      for (long long arc = indptr[x] + threadIdx.x; arc < indptr[x + 1]; arc += blockDim.x) {
        const u32 u = indices[arc];
        if (u == before) weight = min(weight, weight_key(weights ? weights[arc] : weight_t(1)));
        if (u < mine && !ends && code(u, terminal) == nearer) mine = u;
      }
      if (weight < no_key) atomicMin(&path[length].weight, weight);
      const u32 best = __reduce_min_sync(all_lanes, mine);
      if ((threadIdx.x & 31) == 0 && best < ~0u) atomicMin(&least[length & 1], best);
      __syncthreads();
      if (ends) return length + 1;
      if (least[length & 1] == ~0u) return no_way_back;
      before = x;
      x = least[length & 1];
    }
    return no_way_back;
  }
};

}  // namespace

// Which hubs are within so many levels, where it is known for one level less. By a warp a vertex.
extern "C" __global__ void star_hubs(const long long* indptr, const int* indices, int n, int level,
                                     near_hubs* hubs) {
  const u32 lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x / 32;
  for (u32 v = (blockIdx.x * blockDim.x + threadIdx.x) / 32; v < u32(n); v += warps) {
    u64 mine = hubs[v].within(level - 1);
    for (long long arc = indptr[v] + lane; arc < indptr[v + 1]; arc += 32) {
      mine |= hubs[indices[arc]].within(level - 1);
    }
    const u32 least = __reduce_or_sync(all_lanes, u32(mine));
    const u32 most = __reduce_or_sync(all_lanes, u32(mine >> 32));
    if (lane == 0) hubs[v].within(level) = u64(most) << 32 | least;
  }
}

// state, listed, counts, boards: 0; of each group. sizes: of each terminal how many vertices its
// path has; or -1 where there is no room for them, -2 where the levels lead nowhere; or, where no meeting vertex
// is, whether the first terminal reaches it. stop: not 0: end early, whatever is there.
extern "C" __global__ void __launch_bounds__(512, 1)
    star_initial_tree(const long long* indptr, const int* indices, const weight_t* weights, int n,
                int tile, const query* queries, int query_count, u32* next_query,
                const int* terminals, int words, const int* hubs, const near_hubs* within,
                outcome* outcomes, int* sizes, path_step* pool, int blocks, u64* counts,
                shared_counters<counters>* boards, u32* state, u32* listed, int* near_vertex, u64* near_arcs,
                key_t* near_key, u32 near_capacity, int* lists, const u32* stop) {
  __shared__ counters seen;
  __shared__ stop_watch watch;
  __shared__ shared_counters<counters> counters_here;
  const size_t index = blockIdx.x / blocks, vertices = size_t(n), near_at = 2 * index * near_capacity;
  int* const mine = lists + 4 * index * vertices;
  initial_tree_search it{{this_group(blocks, counts),
                    indptr,
                    indices,
                    weights,
                    state + index * vertices * words_a_vertex * words,
                    listed + index * ((vertices + 15) / 16),
                    blocks > 1 ? boards + index : &counters_here,
                    seen,
                    watch,
                    tile,
                    near_vertex + near_at,
                    near_arcs + near_at,
                    near_key + near_at,
                    near_capacity,
                    mine,
                    mine + 2 * vertices,
                    vertices,
                    words},
                   hubs,
                   within};
  if (threadIdx.x == 0) watch = {stop, 0, false};
  while (true) {
    if (it.blocks.leads()) it.told->job = watch.stopped() ? ~0u : atomicAdd(next_query, 1u);
    it.look();
    const u32 at = seen.job;
    if (at >= query_count) return;
    const query its = queries[at];
    it.terminals = terminals + its.terminals;
    it.count = its.count;
    const outcome found = it.meet();
    if (it.blocks.leads()) outcomes[at] = found;
    const bool there = found.levels >= 0, fits = found.levels < its.room;
    if (there && fits) it.leave(found.meeting_vertex, pool + its.paths, its.room);
    for (int i = it.blocks.rank; i < its.count; i += blocks) {
      int size = -1;
      if (!there) {
        size = it.reached(it.terminals[i], 0) & 1;
      } else if (fits) {
        size = it.walk(found.meeting_vertex, i, pool + its.paths + (long long)i * its.room, its.room);
      }
      if (threadIdx.x == 0) sizes[its.terminals + i] = size;
      __syncthreads();
    }
    it.look();
    it.reset(it.last);
  }
}
