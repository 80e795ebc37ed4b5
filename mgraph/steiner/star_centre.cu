// STAR's first tree: breadth-first search from all terminals of a query until a vertex is reached by
// all, and the paths from it. star_centre_cpu.py explains the method.
//
// A group of blocks does one query after another. Of a level:
//
//   take     what arrived at a vertex becomes part of its state
//   spread   and arrives at its neighbours, for the next level; vertices of many arcs are put off
//   expand   the vertices of many arcs
//
// Hubs, the vertices of most arcs, are not searched for: every vertex knows which are within how many
// levels of it, so that the level is known at which the first one is reached from all terminals. The
// search stops before that level, which would be the largest. Then the paths are walked, a terminal a
// block, and the state of what was touched is reset.
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

// Which hubs are within so many levels of a vertex, a bit a hub; in a memory sector.
constexpr int hub_levels = 4;
struct near_hubs {
  u64 bits[hub_levels];  // by the number of levels modulo hub_levels: 1 first, 4 last

  __device__ u64& within(int levels) { return bits[levels % hub_levels]; }
};

struct counters {
  u32 near[3], arrived[3];  // of a level, the next, and the one before
  u32 touched, job;
  u64 best;  // the arcs of the best vertex reached by all, and the complement of its id
};

static_assert(sizeof(board<counters>) == 640, "as star_memory_gpu.py has it");

struct centre_search {
  group blocks;
  const long long* indptr;
  const int* indices;
  const weight_t* weights;
  u32* state;   // [n][words_a_vertex][words]
  u32* listed;  // two bits a vertex: it is among those of a level, of even and of odd ones
  board<counters>* board_of_group;  // in shared memory where the group is one block
  counters* told;                   // what stands there
  counters& seen;  // what was told up to the last barrier; in shared memory
  int tile;
  int* near_vertex;  // pieces of large vertices, [capacity]
  u64* near_arcs;
  key_t* near_key;
  u32 near_capacity;
  int* arrived;  // [2][n]
  int* touched;  // [n]
  size_t n;
  const int* hubs;   // those of most arcs first
  const near_hubs* within;  // [n]; null: no hubs
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
    return {near_vertex, near_arcs, near_key, near_capacity, &told->near[level % 3],
            tile};
  }
  __device__ int* list(int level) const { return arrived + (level & 1) * n; }
  __device__ static u32 listed_bit(int v, int level) { return 1u << (2 * (v & 15) + (level & 1)); }

  __device__ void look() {
    blocks.see(board_of_group, seen);
    blocks.resume();
  }

  // A vertex reached by all stands for the centre.
  __device__ void propose(int v) const {
    const u64 degree = u64(min(indptr[v + 1] - indptr[v], 0xFFFFFFFFLL));
    atomicMax(&told->best, degree << 32 | u32(~v));
  }

  // What arrived at a vertex is its state now; by the lanes of a tile together, of which each returns what
  // arrived in the first word that it looks at. first: whether nothing had arrived before.
  __device__ u32 take(bool mine, int v, int level, bool& first) const {
    const int code = level % 3 + 1, in_tile = threadIdx.x & (tile - 1);
    bool all = mine;
    u32 first_bits = 0;
    first = mine;
    for (int word = in_tile; mine && word < words; word += tile) {
      u32* const coming = words_of(v, arriving + (level & 1)) + word;
      const u32 is_low = fresh(words_of(v, low) + word), is_high = fresh(words_of(v, high) + word);
      const u32 bits = fresh(coming) & ~(is_low | is_high);
      if (word == in_tile) first_bits = bits;
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
    if (all && in_tile == 0) propose(v);
    return first_bits;
  }

  // The vertices of a level take what arrived, and may spread it.
  __device__ void advance(int level, bool spreads) {
    const int lane = threadIdx.x & 31, in_tile = lane & (tile - 1), leader = lane & ~(tile - 1);
    const u32 tiles = 32 / tile, all = blocks.threads() / tile;
    const u32 size = seen.arrived[level % 3];
    if (blocks.leads()) told->near[(level + 2) % 3] = told->arrived[(level + 2) % 3] = 0;
    for (u32 base = blocks.thread() / 32 * tiles; base < size; base += all) {
      const u32 i = base + lane / tile;
      const bool mine = i < size;
      const int v = mine ? fresh(&list(level)[i]) : 0;
      const long long begin = indptr[v], end = indptr[v + 1];
      bool first;
      const u32 taken = take(mine, v, level, first);
      if (words > 1 && mine && in_tile == 0) atomicAnd(&listed[v >> 4], ~listed_bit(v, level));
      const bool put_off = spreads && mine && in_tile == 0 && end - begin > large;
      const bool fits = near(level).put(put_off, v, false, 0, {begin, u32(end - begin)});
      const bool in_pieces = __shfl_sync(all_lanes, put_off && fits, leader);
      const u32 first_word = __shfl_sync(all_lanes, taken, leader);
      const long long count = spreads && mine && !in_pieces ? end - begin : 0;
      spread(v, begin, count, level, first_word, first && in_tile == 0);
      for (long long at = steps * tile; __any_sync(all_lanes, at < count); at += steps * tile) {
        spread(v, begin + at, count - at, level, first_word, false);
      }
    }
  }

  // What is new at u arrives at the heads of its next arcs, `steps` a lane; by the lanes of a tile
  // together, in a warp. No load waits for another. first_word: of what is new. first: whether u is
  // touched for the first time.
  __device__ void spread(int u, long long begin, long long count, int level, u32 first_word,
                         bool first) {
    const int lane = threadIdx.x & 31, in_tile = lane & (tile - 1);
    bool mine[steps], comes[steps];
    int v[steps];
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      const int arc = i * tile + in_tile;
      mine[i] = arc < count;
      comes[i] = false;
      v[i] = mine[i] ? indices[begin + arc] : 0;
    }
    for (int word = 0; word < words; ++word) {
      const u32 new_here = word == 0 ? first_word : news(u, word, level);
      u32 is_low[steps], is_high[steps], is_coming[steps], before[steps];
#pragma unroll
      for (int i = 0; i < steps; ++i) {
        is_low[i] = fresh(words_of(v[i], low) + word);
        is_high[i] = fresh(words_of(v[i], high) + word);
        is_coming[i] = fresh(words_of(v[i], arriving + (level + 1 & 1)) + word);
      }
#pragma unroll
      for (int i = 0; i < steps; ++i) {
        const u32 bits = mine[i] ? new_here & ~(is_low[i] | is_high[i] | is_coming[i]) : 0;
        before[i] = ~0u;
        if (bits) before[i] = atomicOr(words_of(v[i], arriving + (level + 1 & 1)) + word, bits);
        if (bits && words > 1) comes[i] = true;
      }
#pragma unroll
      for (int i = 0; i < steps; ++i) comes[i] = comes[i] || before[i] == 0;
    }
    if (words > 1) {  // else who brought the first bit lists the vertex
#pragma unroll
      for (int i = 0; i < steps; ++i) {
        const u32 bit = listed_bit(v[i], level + 1);
        if (comes[i]) comes[i] = !(atomicOr(&listed[v[i] >> 4], bit) & bit);
      }
    }
    u32 counts = first << 16;  // of those that are touched, and below of those that arrive
#pragma unroll
    for (int i = 0; i < steps; ++i) counts += comes[i];
    if (!__any_sync(all_lanes, counts)) return;
    const u32 sums = prefix_sum(counts), total = __shfl_sync(all_lanes, sums, 31);
    u32 place = 0;
    if (lane < 2) {
      const u32 amount = lane == 0 ? total & 0xFFFF : total >> 16;
      u32* const to = lane == 0 ? &told->arrived[(level + 1) % 3] : &told->touched;
      if (amount) place = atomicAdd(to, amount);
    }
    u32 at = __shfl_sync(all_lanes, place, 0) + (sums & 0xFFFF) - (counts & 0xFFFF);
    const u32 touched_at = __shfl_sync(all_lanes, place, 1) + (sums >> 16) - (counts >> 16);
    if (first) touched[touched_at] = u;
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      if (comes[i]) list(level + 1)[at++] = v[i];
    }
  }

  // Spread what was put off: the pieces of large vertices.
  __device__ void expand(int level) {
    const int lane = threadIdx.x & 31;
    const u32 pieces = min(seen.near[level % 3], near_capacity);
    for (u32 base = blocks.thread() / 32 * (32 / tile); base < pieces;
         base += blocks.threads() / tile) {
      const u32 i = base + lane / tile;
      const arc_piece piece = i < pieces ? near(level).at(i) : arc_piece{0, 0, 0, 0};
      spread(piece.vertex, piece.begin, piece.count, level, news(piece.vertex, 0, level), false);
    }
  }

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
      look();
      if (seen.best) return {level, int(~u32(seen.best))};
      if (level + 1 == at_hub.levels) {
        settle(at_hub.centre, level + 1);
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

  // Paths begin at the centre, and go on to the least neighbour that is a level nearer; the first step
  // is found for all terminals at once, since centres have many arcs.
  __device__ void leave(int centre, path_step* paths, int room) {
    for (u32 i = blocks.thread(); i < count; i += blocks.threads()) {
      paths[size_t(i) * room] = {0, centre};
      paths[size_t(i) * room + 1].vertex = 0x7FFFFFFF;
    }
    look();
    for (long long arc = indptr[centre] + blocks.thread(); arc < indptr[centre + 1];
         arc += blocks.threads()) {
      const int u = indices[arc];
      for (int word = 0; word < words; ++word) {
        const u32 is_low = fresh(words_of(centre, low) + word);
        const u32 is_high = fresh(words_of(centre, high) + word);
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

  // The path from the centre to a terminal, after its first step; by a block. Returns how many vertices
  // it has.
  __device__ int walk(int centre, int terminal, path_step* path) {
    __shared__ u32 least[2];
    if (centre == terminals[terminal]) return 1;
    int before = centre, x = fresh(&path[1].vertex), nearer = code(x, terminal);
    for (int length = 1;; ++length) {
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
        if (u == before) weight = min(weight, as_key(length_t(weights ? weights[arc] : weight_t(1))));
        if (u < mine && !ends && code(u, terminal) == nearer) mine = u;
      }
      if (weight < no_key) atomicMin(&path[length].weight, weight);
      const u32 best = __reduce_min_sync(all_lanes, mine);
      if ((threadIdx.x & 31) == 0 && best < ~0u) atomicMin(&least[length & 1], best);
      __syncthreads();
      if (ends) return length + 1;
      before = x;
      x = least[length & 1];
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

// Which hubs are within so many levels, where it is known for one level less. By a warp a vertex.
extern "C" __global__ void star_hubs(const long long* indptr, const int* indices, int n, int level,
                                     near_hubs* hubs) {
  const int lane = threadIdx.x & 31, warps = gridDim.x * blockDim.x / 32;
  for (int v = (blockIdx.x * blockDim.x + threadIdx.x) / 32; v < n; v += warps) {
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
// path has; or -1 where there is no room for them; or, where no centre is, whether the first terminal
// reaches it.
extern "C" __global__ void __launch_bounds__(512, 1)
    star_centre(const long long* indptr, const int* indices, const weight_t* weights, int n,
                int tile, const query* queries, int query_count, u32* next_query,
                const int* terminals, int words, const int* hubs, const near_hubs* within,
                outcome* outcomes, int* sizes, path_step* pool, int blocks, u64* counts,
                board<counters>* boards, u32* state, u32* listed, int* near_vertex, u64* near_arcs,
                key_t* near_key, u32 near_capacity, int* lists) {
  __shared__ counters seen;
  __shared__ board<counters> board_here;
  const size_t index = blockIdx.x / blocks, vertices = size_t(n), near_at = 2 * index * near_capacity;
  int* const mine = lists + 4 * index * vertices;
  board<counters>* const board_of_group = blocks > 1 ? boards + index : &board_here;
  centre_search it{this_group(blocks, counts),
                   indptr,
                   indices,
                   weights,
                   state + index * vertices * words_a_vertex * words,
                   listed + index * ((vertices + 15) / 16),
                   board_of_group,
                   &board_of_group->now,
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
                   within};
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
    const bool there = found.levels >= 0, fits = found.levels < its.room;
    if (there && fits) it.leave(found.centre, pool + its.paths, its.room);
    for (int i = it.blocks.rank; i < its.count; i += blocks) {
      int size = -1;
      if (!there) {
        size = it.reached(it.terminals[i], 0) & 1;
      } else if (fits) {
        size = it.walk(found.centre, i, pool + its.paths + (long long)i * its.room);
      }
      if (threadIdx.x == 0) sizes[its.terminals + i] = size;
      __syncthreads();
    }
    it.look();
    it.reset();
  }
}
