// STAR's first tree: breadth-first search from all terminals of a query until a vertex is reached by
// all, and the paths from it. star_centre_cpu.py explains the method.
//
// A group of blocks does one query after another. Of a level:
//
//   take     what arrived at a vertex becomes part of its state
//   spread   and arrives at its neighbours, for the next level; vertices of many arcs are put off
//   hubs     whether that would reach one of the vertices of most arcs from all terminals
//   expand   the vertices of many arcs; and all of them, where they are so many that hubs come first
//
// After the last one the paths are walked, a terminal a block, and the state of what was touched is reset.
//
// Cost: a step a level, and one where vertices are put off; an arc its head's state once a level
// and 32 terminals.
#include "mgraph/arc_queue.cuh"

using namespace mgraph;

namespace {

// A vertex's words, of each as many as 32 terminals. What arrives for the next level stands apart from
// what arrived for this one.
constexpr int low = 0, high = 1, arriving = 2, words_a_vertex = 4;
constexpr int large = 128;  // arcs; such vertices are cut into pieces

struct query {
  long long terminals, paths;  // where its own begin
  int count;                   // of terminals
  int room;                    // for path vertices, of each terminal
};

struct outcome {
  int levels, centre;  // -1: no vertex is reached by all
};

struct counters {
  u32 near[3], arrived[3];  // of a level, the next, and the one before
  u32 touched, job;
  u64 best;  // the arcs of the best vertex reached by all, and the complement of its id
};

static_assert(sizeof(counters) * 3 <= 384, "as star_memory_gpu.py has it");

struct centre_search {
  group blocks;
  const long long* indptr;
  const int* indices;
  const weight_t* weights;
  u32* state;   // [n][words_a_vertex][words]
  u32* listed;  // two bits a vertex: it is among those of a level, of even and of odd ones
  counters* told;
  counters& seen;  // what was told up to the last barrier; in shared memory
  int tile;
  int* near_vertex;  // pieces of large vertices, [capacity]
  u64* near_arcs;
  key_t* near_key;
  u32 near_capacity;
  int* arrived;  // [2][n]; vertices that are put off to be expanded in pieces stand as complements
  int* touched;  // [n]
  size_t n;
  const int* hubs;
  u32* hub_words;  // [hubs][words]
  int hub_count;
  long long hub_arcs;
  float mean_degree;
  // the query
  const int* terminals;
  int count, words;
  int last;  // level of the search

  __device__ u32* words_of(int v, int which) const { return state + (size_t(v) * words_a_vertex + which) * words; }
  __device__ u32 reached(int v, int word) const {
    return fresh(words_of(v, low) + word) | fresh(words_of(v, high) + word);
  }
  __device__ u32 all_of(int word) const {
    const int rest = min(max(count - 32 * word, 0), 32);
    return rest == 32 ? ~0u : (1u << rest) - 1;
  }
  // What a level's search brought to a vertex; and perhaps what came three levels before, which its
  // neighbours have long had.
  __device__ u32 news(int v, int word, int level) const {
    const int code = level % 3 + 1;
    const u32 is_low = fresh(words_of(v, low) + word), is_high = fresh(words_of(v, high) + word);
    return (code & 1 ? is_low : ~is_low) & (code & 2 ? is_high : ~is_high);
  }
  __device__ arc_queue near(int level) const {
    return {near_vertex, near_arcs, near_key, near_capacity, &told->near[level % 3]};
  }
  __device__ int* list(int level) const { return arrived + (level & 1) * n; }
  __device__ static u32 listed_bit(int v, int level) { return 1u << (2 * (v & 15) + (level & 1)); }

  __device__ void look() {
    blocks.see(told, seen);
    blocks.resume();
  }

  // A vertex reached by all stands for the centre.
  __device__ void propose(int v) const {
    const u64 degree = u64(min(indptr[v + 1] - indptr[v], 0xFFFFFFFFLL));
    atomicMax(&told->best, degree << 32 | u32(~v));
  }

  // What arrived at a vertex is its state now; by the lanes of a tile together.
  __device__ void take(bool mine, int v, int level) const {
    const int code = level % 3 + 1, in_tile = threadIdx.x & (tile - 1);
    bool first = true, all = true;
    for (int word = in_tile; mine && word < words; word += tile) {
      u32* const coming = words_of(v, arriving + (level & 1)) + word;
      const u32 is_low = fresh(words_of(v, low) + word), is_high = fresh(words_of(v, high) + word);
      const u32 bits = fresh(coming) & ~(is_low | is_high);
      first = first && !(is_low | is_high);
      all = all && (is_low | is_high | bits) == all_of(word);
      if (code & 1) words_of(v, low)[word] = is_low | bits;
      if (code & 2) words_of(v, high)[word] = is_high | bits;
      *coming = 0;
    }
    for (int apart = tile / 2; apart; apart /= 2) {
      first = __shfl_xor_sync(all_lanes, first, apart) && first;
      all = __shfl_xor_sync(all_lanes, all, apart) && all;
    }
    __syncwarp();
    if (!mine || in_tile > 0) return;
    if (all) propose(v);
    if (first) touched[atomicAdd(&told->touched, 1u)] = v;
  }

  // The vertices of a level take what arrived, and spread it or, if later, wait until it is asked for.
  __device__ void advance(int level, bool later) {
    const int lane = threadIdx.x & 31, in_tile = lane & (tile - 1);
    const u32 tiles = 32 / tile, all = blocks.threads() / tile;
    const u32 size = seen.arrived[level % 3];
    if (blocks.leads()) told->near[(level + 2) % 3] = told->arrived[(level + 2) % 3] = 0;
    for (u32 base = blocks.thread() / 32 * tiles; base < size; base += all) {
      const u32 i = base + lane / tile;
      const bool mine = i < size;
      const int v = mine ? fresh(&list(level)[i]) : 0;
      take(mine, v, level);
      const long long begin = mine ? indptr[v] : 0, end = mine ? indptr[v + 1] : 0;
      const bool first = mine && in_tile == 0, put_off = first && end - begin > large;
      if (first) atomicAnd(&listed[v >> 4], ~listed_bit(v, level));
      const bool fits = near(level).put(put_off, v, false, 0, begin, end, tile);
      if (put_off && fits) list(level)[i] = ~v;
      const bool in_pieces = __shfl_sync(all_lanes, put_off && fits, lane & ~(tile - 1));
      if (!later) spread_row(v, begin, mine && !in_pieces ? end : begin, level);
    }
  }

  // What is new at u arrives at the heads of its arcs; by the lanes of a tile together.
  __device__ void spread_row(int u, long long begin, long long end, int level) {
    for (long long arc = begin + (threadIdx.x & (tile - 1)); __any_sync(all_lanes, arc < end);
         arc += tile) {
      spread(arc < end, u, arc, level);
    }
  }

  // The same for one arc. By all lanes of a warp.
  __device__ void spread(bool mine, int u, long long arc, int level) {
    int v = 0;
    bool any = false;
    if (mine) {
      v = indices[arc];
      for (int word = 0; word < words; ++word) {
        u32* const coming = words_of(v, arriving + (level + 1 & 1)) + word;
        const u32 bits = news(u, word, level) & ~reached(v, word);
        if (!bits || !(bits & ~fresh(coming))) continue;
        atomicOr(coming, bits);
        any = true;
      }
    }
    const u32 bit = listed_bit(v, level + 1);
    if (any) any = !(atomicOr(&listed[v >> 4], bit) & bit);
    const u32 mask = __ballot_sync(all_lanes, any);
    if (!mask) return;
    const int lane = threadIdx.x & 31, leader = __ffs(mask) - 1;
    u32 place = 0;
    if (lane == leader) place = atomicAdd(&told->arrived[(level + 1) % 3], __popc(mask));
    place = __shfl_sync(all_lanes, place, leader) + __popc(mask & ((1u << lane) - 1));
    if (any) list(level + 1)[place] = v;
  }

  // Spread what was put off: the pieces of large vertices, and if all waited, the others.
  __device__ void expand(int level, bool all_waited) {
    const int lane = threadIdx.x & 31, in_tile = lane & (tile - 1);
    const u32 first = blocks.thread() / 32 * (32 / tile), all = blocks.threads() / tile;
    const u32 pieces = min(seen.near[level % 3], near_capacity);
    for (u32 base = first; base < pieces; base += all) {
      const u32 i = base + lane / tile;
      const arc_piece piece = i < pieces ? near(level).at(i) : arc_piece{0, 0, 0, 0};
      for (int step = 0; step < steps; ++step) {
        const int arc = step * tile + in_tile;
        spread(arc < piece.count, piece.vertex, piece.begin + arc, level);
      }
    }
    const u32 size = all_waited ? seen.arrived[level % 3] : 0;
    for (u32 base = first; base < size; base += all) {
      const u32 i = base + lane / tile;
      const int u = i < size ? fresh(&list(level)[i]) : -1;
      spread_row(u, u < 0 ? 0 : indptr[u], u < 0 ? 0 : indptr[u + 1], level);
    }
  }

  // Propose the hubs that the next level would reach from all terminals; what arrives there does so.
  __device__ void try_hubs() {
    for (u32 i = blocks.thread(); i < hub_count * words; i += blocks.threads()) {
      hub_words[i] = reached(hubs[i / words], i % words);
    }
    look();
    const u32 warps = blocks.threads() / 32, warp = blocks.thread() / 32;
    for (int hub = 0; hub < hub_count; ++hub) {
      const long long end = indptr[hubs[hub] + 1];
      for (long long base = indptr[hubs[hub]] + 32 * warp; base < end; base += 32 * warps) {
        const long long arc = base + (threadIdx.x & 31);
        for (int word = 0; word < words; ++word) {
          const u32 mine = arc < end ? reached(indices[arc], word) : 0;
          const u32 bits = __reduce_or_sync(all_lanes, mine);
          u32* const to = hub_words + hub * words + word;
          if ((threadIdx.x & 31) == 0 && (bits & ~fresh(to))) atomicOr(to, bits);
        }
      }
    }
    look();
    for (u32 hub = blocks.thread(); hub < hub_count; hub += blocks.threads()) {
      bool all = true;
      for (int word = 0; word < words; ++word) {
        all = all && fresh(hub_words + hub * words + word) == all_of(word);
      }
      if (all) propose(hubs[hub]);
    }
    look();
  }

  // Search; the outcome is the same in all threads.
  __device__ outcome meet() {
    if (blocks.leads()) {
      for (int i = 0; i < 3; ++i) told->near[i] = told->arrived[i] = 0;
      told->touched = 0;
      told->best = 0;
      told->arrived[0] = count;
    }
    for (u32 i = blocks.thread(); i < count; i += blocks.threads()) {
      words_of(terminals[i], arriving)[i / 32] = 1u << (i % 32);
      arrived[i] = terminals[i];
    }
    look();
    for (int level = 0;; ++level) {
      last = level;
      const u32 size = seen.arrived[level % 3];
      if (size == 0) return {-1, -1};
      const bool later = hub_count && mean_degree * size > hub_arcs;
      advance(level, later);
      look();
      if (seen.best) return {level, int(~u32(seen.best))};
      const u64 put_off = u64(seen.near[level % 3]) * steps * tile;
      if (hub_count && (later || put_off > hub_arcs)) {
        try_hubs();
        if (seen.best) {
          settle(int(~u32(seen.best)), level + 1);
          return {level + 1, int(~u32(seen.best))};
        }
      }
      if (later || put_off) {
        expand(level, later);
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

  // The path from the centre to a terminal; by a block. Returns how many vertices it has.
  __device__ int walk(int centre, int terminal, path_step* path) {
    __shared__ u32 least[2];
    int x = centre, nearer = code(x, terminal);
    for (int length = 0;; ++length) {
      if (threadIdx.x == 0) {
        path[length].vertex = x;
        if (length == 0) path[0].weight = 0;
      }
      if (x == terminals[terminal]) return length + 1;
      if (threadIdx.x == 0) {
        least[length & 1] = ~0u;
        path[length + 1].weight = no_key;
      }
      __syncthreads();
      nearer = (nearer + 1) % 3 + 1;  // the level before
      u32 mine = ~0u;
      weight_t its = 0;
      for (long long arc = indptr[x] + threadIdx.x; arc < indptr[x + 1]; arc += blockDim.x) {
        const u32 u = indices[arc];
        if (u > mine || code(u, terminal) != nearer) continue;
        const weight_t w = weights ? weights[arc] : weight_t(1);
        if (u < mine || w < its) its = w;
        mine = u;
      }
      const u32 best = __reduce_min_sync(all_lanes, mine);
      if ((threadIdx.x & 31) == 0 && best < ~0u) atomicMin(&least[length & 1], best);
      __syncthreads();
      x = least[length & 1];
      if (mine == u32(x)) atomicMin(&path[length + 1].weight, as_key(length_t(its)));
    }
  }

  // The state as it was before the search: of what was reached, and of what was to be next.
  __device__ void reset() {
    for (u32 i = blocks.thread(); i < seen.touched; i += blocks.threads()) {
      u32* const words_here = words_of(fresh(&touched[i]), low);
      for (int word = 0; word < 2 * words; ++word) words_here[word] = 0;
    }
    for (u32 i = blocks.thread(); i < seen.arrived[(last + 1) % 3]; i += blocks.threads()) {
      const int v = fresh(&list(last + 1)[i]);
      for (int word = 0; word < words; ++word) words_of(v, arriving + (last + 1 & 1))[word] = 0;
      listed[v >> 4] = 0;
    }
  }
};

}  // namespace

// state, listed: 0; of each group. sizes: of each terminal how many vertices its
// path has; or -1 where there is no room for them; or, where no centre is, whether the first terminal
// reaches it.
extern "C" __global__ void __launch_bounds__(1024, 1)
#if MGRAPH_CLUSTER > 1 && __CUDA_ARCH__ >= 900
    __cluster_dims__(MGRAPH_CLUSTER, 1, 1)
#endif
        star_centre(const long long* indptr, const int* indices, const weight_t* weights, int n,
                    int tile, const query* queries, int query_count, u32* next_query,
                    const int* terminals, int words, const int* hubs, int hub_count,
                    long long hub_arcs, float mean_degree, outcome* outcomes, int* sizes,
                    path_step* pool, int blocks, u64* counts, counters* told, u32* state,
                    u32* listed, u32* hub_words, int* near_vertex, u64* near_arcs, key_t* near_key,
                    u32 near_capacity, int* lists) {
  __shared__ counters seen, told_here;
  const group all = this_group<group>(blocks, counts);
  const size_t index = blockIdx.x / blocks, vertices = size_t(n), near_at = 2 * index * near_capacity;
  int* const mine = lists + 4 * index * vertices;
  centre_search it{all,
                   indptr,
                   indices,
                   weights,
                   state + index * vertices * words_a_vertex * words,
                   listed + index * ((vertices + 15) / 16),
                   MGRAPH_CLUSTER == 1 && blocks > 1 ? told + 3 * index : of_first_block(&told_here),
                   seen,
                   tile,
                   near_vertex + near_at,
                   near_arcs + near_at,
                   near_key + near_at,
                   near_capacity,
                   mine,
                   mine + 2 * vertices,
                   vertices,
                   hubs,
                   hub_words + index * hub_count * words,
                   hub_count,
                   hub_arcs,
                   mean_degree};
  it.words = words;
  while (true) {
    if (it.blocks.leads()) it.told->job = atomicAdd(next_query, 1u);
    it.look();
    const u32 at = seen.job;
    if (at >= query_count) return;
    const query its = queries[at];
    it.terminals = terminals + its.terminals;
    it.count = its.count;
    const outcome found = it.meet();
    if (it.blocks.leads()) outcomes[at] = found;
    for (int i = it.blocks.rank; i < its.count; i += blocks) {
      const long long path = its.paths + (long long)i * its.room;
      int size = -1;
      if (found.levels < 0) {
        size = it.reached(it.terminals[i], 0) & 1;
      } else if (found.levels < its.room) {
        size = it.walk(found.centre, i, pool + path);
      }
      if (threadIdx.x == 0) sizes[its.terminals + i] = size;
      __syncthreads();
    }
    it.look();
    it.reset();
  }
}
