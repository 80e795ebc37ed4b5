// STAR's initial tree: breadth-first searches from all terminals of a query until a vertex is
// reached by all of them, the meeting vertex, and the paths back to the terminals.
//
// Reading order: star_initial_tree_cpu.py has the method; group.cuh the groups of blocks and their
// barriers; arc_queue.cuh and star_memory.cuh the memory; star_levels.cuh one level of the
// searches; this file the search, the paths and the kernel.
//
// The paper's section 2 gives buildInitialTree in two sentences: a breadth-first search from each
// terminal until a single vertex is reached by all, then the paths are followed back. Here the
// searches of a query advance together, level by level, in bit sets of 32 terminals. Of the
// vertices that are reached by all at the first such level, the one of highest degree is the
// meeting vertex.
//
// Hubs, the vertices of highest degree, are not searched for: every vertex knows which hubs are
// within how many levels of it (star_hubs, once per graph), so that the level is known beforehand
// at which the first hub is reached by all terminals. The search stops before that level, which
// would be the largest.
//
// A group of blocks takes one query after another. Per query the group's blocks search
// (star_levels.cuh says who writes what), then walk the paths, one terminal per block, and reset
// the state of what was touched. Outcomes and paths are written once, behind a barrier of the
// group, and read by the host after the launch. The next query is taken by atomicAdd, and its index
// reaches all blocks with the counters at a barrier (group::sync_and_read).
#include "star_levels.cuh"

using namespace mgraph;

namespace {

static_assert(sizeof(shared_counters<level_counters>) <= shared_counters_bytes, "in group.cuh");

struct query {
  long long first_terminal, first_path;  // among those of all queries
  int terminal_count;
  int path_capacity;  // in vertices, of each terminal's path
};

struct outcome {
  int levels, meeting_vertex;  // -1: no vertex is reached by all terminals
};

// What changes from one launch to the next.
struct initial_tree_launch {
  const query* queries;  // [query_count]
  const int* terminals;  // of all queries
  outcome* outcomes;     // [query_count]
  int* sizes;            // of each terminal's path, in vertices
  path_step* paths;      // of all terminals
  u64* group_arrivals;   // [groups]: 0 at the launch, as the next two
  u32* next_query;
  void* counters;          // shared_counters of each group of several blocks
  const u32* cancel_flag;  // null: the launch cannot be cancelled
  u32 query_count;
  int blocks_per_group;
};

// The hubs within so many levels of a vertex, one bit per hub; in a memory sector.
constexpr int hub_levels = 4;
struct near_hubs {
  u64 bits[hub_levels];  // by the number of levels modulo hub_levels: 1 first, 4 last

  __device__ u64& within(int levels) { return bits[levels % hub_levels]; }
};

// A graph's hubs.
struct hub_table {
  const int* ids;         // those of highest degree first
  const near_hubs* near;  // [n]: of each vertex; null: there are no hubs
};

constexpr int no_path = -1, broken_path = -2;  // sizes: not written; it cannot be followed back

constexpr int no_level = 0x7FFFFFFF, no_vertex = 0x7FFFFFFF;

struct initial_tree_search : level_search {
  hub_table hubs;
  const int* terminals;  // of the query
  int last;              // the level that the search ended with

  // The first level at which a hub is reached by all terminals, and that hub.
  __device__ outcome find_hub() const {
    __shared__ near_hubs common;
    if (!hubs.near) return {no_level, -1};
    __syncthreads();
    if (threadIdx.x < hub_levels) common.bits[threadIdx.x] = ~0ULL;
    __syncthreads();
    for (int i = threadIdx.x; i < count * hub_levels; i += blockDim.x) {
      const u64 bits = hubs.near[terminals[i / hub_levels]].bits[i % hub_levels];
      if (~bits) atomicAnd(&common.bits[i % hub_levels], bits);
    }
    __syncthreads();
    for (int level = 1; level <= hub_levels; ++level) {
      const u64 reached = common.within(level);
      if (reached) return {level, hubs.ids[__ffsll(reached) - 1]};
    }
    return {no_level, -1};
  }

  // Search until a vertex is reached by all terminals; the outcome is the same in all threads.
  __device__ outcome search() {
    if (blocks.is_leader()) {
      for (int i = 0; i < 3; ++i) counters->deferred[i] = counters->arrived[i] = 0;
      counters->touched = 0;
      counters->best = 0;
      counters->stopped = watch.stopped();
      counters->arrived[0] = count;
    }
    for (u32 i = blocks.thread(); i < count; i += blocks.threads()) {
      words_of(terminals[i], arriving)[i / 32] = 1u << (i % 32);
      arrived_list(0)[i] = terminals[i];
    }
    const outcome at_hub = find_hub();
    sync_and_read();
    for (int level = 0;; ++level) {
      last = level;
      if (snapshot.arrived[level % 3] == 0) return {-1, -1};
      advance(level, level + 1 < at_hub.levels);
      if (blocks.is_leader() && watch.stopped()) counters->stopped = 1;
      sync_and_read();
      if (snapshot.best) return {level, int(~u32(snapshot.best))};
      if (snapshot.stopped) return {-1, -1};
      if (level + 1 == at_hub.levels) {
        reach_hub(at_hub.meeting_vertex, level + 1);
        return at_hub;
      }
      if (snapshot.deferred[level % 3]) {
        expand(level);
        sync_and_read();
      }
    }
  }

  // Write the state of a hub that the next level reaches from all terminals.
  __device__ void reach_hub(int hub, int level) {
    const int code = level % 3 + 1;
    for (u32 word = blocks.thread(); word < words; word += blocks.threads()) {
      const u32 bits = all_terminals(word) & ~reached(hub, word);
      if (code & 1) words_of(hub, low)[word] |= bits;
      if (code & 2) words_of(hub, high)[word] |= bits;
    }
    if (blocks.is_leader()) touched_list()[counters->touched++] = hub;
    sync_and_read();
  }

  // 0, or 1 to 3 by the level at which a terminal's search reached a vertex.
  __device__ int code(int v, int terminal) const {
    const int word = terminal / 32, bit = terminal % 32;
    return (fresh(words_of(v, low) + word) >> bit & 1) +
           2 * (fresh(words_of(v, high) + word) >> bit & 1);
  }

  // Begin all paths at the meeting vertex. A path goes on to the smallest neighbour that is one
  // level nearer to its terminal; the first step is found for all terminals at once, since meeting
  // vertices have many arcs.
  __device__ void begin_paths(int meeting_vertex, path_step* paths, int capacity) {
    for (u32 i = blocks.thread(); i < count; i += blocks.threads()) {
      paths[size_t(i) * capacity] = {0, meeting_vertex};
      paths[size_t(i) * capacity + 1].vertex = no_vertex;
    }
    sync_and_read();
    const long long begin = graph.indptr[meeting_vertex], end = graph.indptr[meeting_vertex + 1];
    for (long long arc = begin + blocks.thread(); arc < end; arc += blocks.threads()) {
      const int u = graph.indices[arc];
      for (int word = 0; word < words; ++word) {
        const u32 is_low = fresh(words_of(meeting_vertex, low) + word);
        const u32 is_high = fresh(words_of(meeting_vertex, high) + word);
        // The level before 1 is 3, that before 2 is 1, that before 3 is 2.
        const u32 differs = (fresh(words_of(u, low) + word) ^ ~(is_low & is_high)) |
                            (fresh(words_of(u, high) + word) ^ is_low);
        for (u32 bits = ~differs & all_terminals(word); bits; bits &= bits - 1) {
          const size_t terminal = 32 * word + __ffs(bits) - 1;
          int* const smallest = &paths[terminal * capacity + 1].vertex;
          if (u < fresh(smallest)) atomicMin(smallest, u);
        }
      }
    }
    sync_and_read();
  }

  // Follow the path from the meeting vertex to a terminal, after its first step; by one block.
  // Returns the number of its vertices, or broken_path.
  __device__ int walk(int meeting_vertex, int terminal, path_step* path, int capacity) {
    __shared__ u32 next[2];
    if (meeting_vertex == terminals[terminal]) return 1;
    int previous = meeting_vertex, x = fresh(&path[1].vertex);
    if (u32(x) >= n) return broken_path;
    int nearer = code(x, terminal);
    for (int length = 1; length < capacity; ++length) {
      const bool is_last = x == terminals[terminal];
      nearer = (nearer + 1) % 3 + 1;  // the level before
      if (threadIdx.x == 0) {
        path[length] = {no_key, x};
        next[length & 1] = ~0u;
      }
      __syncthreads();
      u32 smallest = ~0u;
      key_t weight = no_key;
      for (long long arc = graph.indptr[x] + threadIdx.x; arc < graph.indptr[x + 1];
           arc += blockDim.x) {
        const u32 u = graph.indices[arc];
        if (u == previous) {
          weight = min(weight, weight_key(graph.weights ? graph.weights[arc] : weight_t(1)));
        }
        if (u < smallest && !is_last && code(u, terminal) == nearer) smallest = u;
      }
      if (weight < no_key) atomicMin(&path[length].weight, weight);
      const u32 best = __reduce_min_sync(all_lanes, smallest);
      if ((threadIdx.x & 31) == 0 && best < ~0u) atomicMin(&next[length & 1], best);
      __syncthreads();
      if (is_last) return length + 1;
      if (next[length & 1] == ~0u) return broken_path;
      previous = x;
      x = next[length & 1];
    }
    return broken_path;
  }
};

}  // namespace

// Find the hubs within `level` levels of each vertex, where those within one level less are known.
// One warp per vertex.
extern "C" __global__ void star_hubs(__grid_constant__ const star_graph graph, int level,
                                     near_hubs* near) {
  const u32 lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x / 32;
  for (u32 v = (blockIdx.x * blockDim.x + threadIdx.x) / 32; v < u32(graph.n); v += warps) {
    u64 bits = near[v].within(level - 1);
    for (long long arc = graph.indptr[v] + lane; arc < graph.indptr[v + 1]; arc += 32) {
      bits |= near[graph.indices[arc]].within(level - 1);
    }
    const u32 low_bits = __reduce_or_sync(all_lanes, u32(bits));
    const u32 high_bits = __reduce_or_sync(all_lanes, u32(bits >> 32));
    if (lane == 0) near[v].within(level) = u64(high_bits) << 32 | low_bits;
  }
}

// Build the initial trees of all queries: their outcomes, and for each terminal the size of its
// path, and the path. A size is no_path where the path's memory does not suffice. Where there is no
// meeting vertex, it says whether the first terminal's search has reached the terminal. A launch
// that is cancelled ends early, with outcomes that are not complete.
extern "C" __global__ void __launch_bounds__(threads_per_block, 1)
    star_initial_tree(__grid_constant__ const star_graph graph,
                      __grid_constant__ const search_memory memory,
                      __grid_constant__ const level_memory levels,
                      __grid_constant__ const hub_table hubs,
                      __grid_constant__ const initial_tree_launch launch) {
  __shared__ level_counters snapshot;
  __shared__ stop_watch watch;
  __shared__ shared_counters<level_counters> block_counters;
  const int blocks = launch.blocks_per_group;
  const size_t group_index = blockIdx.x / blocks, n = size_t(graph.n);
  auto* const group_counters = (shared_counters<level_counters>*)launch.counters + group_index;
  initial_tree_search tree{
      {group_of_block(blocks, launch.group_arrivals), graph, n,
       memory_of_group(memory, group_index, n),
       levels.state + group_index * n * words_per_vertex * levels.words,
       levels.listed + group_index * ((n + 15) / 16), blocks > 1 ? group_counters : &block_counters,
       snapshot, watch, levels.words},
      hubs};
  if (threadIdx.x == 0) watch = {launch.cancel_flag, 0, false};
  while (true) {
    if (tree.blocks.is_leader()) {
      tree.counters->query = watch.stopped() ? ~0u : atomicAdd(launch.next_query, 1u);
    }
    tree.sync_and_read();
    const u32 query_index = snapshot.query;
    if (query_index >= launch.query_count) return;
    const query current = launch.queries[query_index];
    const int capacity = current.path_capacity;
    path_step* const paths = launch.paths + current.first_path;
    tree.terminals = launch.terminals + current.first_terminal;
    tree.count = current.terminal_count;
    const outcome result = tree.search();
    if (tree.blocks.is_leader()) launch.outcomes[query_index] = result;
    const bool has_tree = result.levels >= 0, fits = result.levels < capacity;
    if (has_tree && fits) tree.begin_paths(result.meeting_vertex, paths, capacity);
    for (int i = tree.blocks.rank; i < tree.count; i += blocks) {
      int size = no_path;
      if (!has_tree) {
        size = tree.reached(tree.terminals[i], 0) & 1;
      } else if (fits) {
        size = tree.walk(result.meeting_vertex, i, paths + (long long)i * capacity, capacity);
      }
      if (threadIdx.x == 0) launch.sizes[current.first_terminal + i] = size;
      __syncthreads();
    }
    tree.sync_and_read();
    tree.reset(tree.last);
  }
}
