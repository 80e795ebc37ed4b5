// STAR's breadth-first search from all terminals of a query at once, a level after another.
//
// Of a level:
//
//   take     what arrived at a vertex becomes part of its state
//   spread   and arrives at its neighbours, for the next level; vertices of many arcs are put off
//   expand   the vertices of many arcs
//
// Cost: a step a level, and one where vertices are put off; an arc its head's state once a level
// and 32 terminals.
#pragma once

#include "arc_queue.cuh"
#include <mgraph/stop_watch.cuh>

namespace mgraph {

// A vertex's words, of each as many as 32 terminals. What arrives for the next level stands apart from
// what arrived for this one.
constexpr int low = 0, high = 1, arriving = 2, words_a_vertex = 4;
constexpr int large = 128;  // arcs; such vertices are cut into pieces

struct counters {
  u32 near[3], arrived[3];  // of a level, the next, and the one before
  u32 touched, job;
  u32 stopped;  // whether the host wants the searches to end
  u64 best;  // the arcs of the best vertex reached by all, and the complement of its id
};

struct star_levels {
  group blocks;
  const long long* indptr;
  const int* indices;
  const weight_t* weights;
  u32* state;   // [n][words_a_vertex][words]
  u32* listed;  // two bits a vertex: it is among those of a level, of even and of odd ones
  shared_counters<counters>* told;  // in shared memory where the group is one block
  counters& seen;  // what was told up to the last barrier; in shared memory
  stop_watch& watch;  // of the first thread; in shared memory
  int tile;
  int* near_vertex;  // pieces of large vertices, [capacity]
  u64* near_arcs;
  key_t* near_key;
  u32 near_capacity;
  int* arrived;  // [2][n]
  int* touched;  // [n]
  size_t n;
  int words;  // of 32 terminals
  int count;  // the query's terminals

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
    blocks.see(told, seen);
    __syncthreads();
  }

  // A vertex reached by all stands for the meeting vertex.
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

  // The state as it was before the search: of what was reached, and of what was to be next. last: its
  // level.
  __device__ void reset(int last) {
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

}  // namespace mgraph
