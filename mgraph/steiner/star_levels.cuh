// Breadth-first search from all terminals of a query at once, level by level, for the initial tree.
//
// A vertex's state has two bits per terminal, `low` and `high`: together 0 before the terminal's
// search reaches it, then 1 to 3 by the level modulo 3, which tells a neighbour one level nearer
// from all others. What arrives at a vertex is collected apart from its state, one word of bits for
// even levels and one for odd ones, so that a level never reads what it writes. Of a level:
//
//   take     what arrived at a vertex becomes part of its state
//   spread   it arrives at the vertex's neighbours for the next level; large vertices are deferred
//   expand   the deferred vertices, in pieces of arcs
//
// Between two phases lies a barrier of the group (group.cuh). Bits arrive by atomicOr; who brings
// the first bit of the next level, or sets its flag in `listed`, lists the vertex, so that it is
// listed once.
//
// Cost: one barrier per level, and one more where vertices are deferred; per arc the state of its
// head, once per level and 32 terminals.
#pragma once

#include <mgraph/stop_watch.cuh>

#include "star_memory.cuh"

namespace mgraph {

// Words of a vertex, each of them one per 32 terminals: two of its state, and what arrives.
constexpr int low = 0, high = 1, arriving = 2, words_per_vertex = 4;
constexpr int large_degree = 128;  // vertices of more arcs are cut into pieces

struct level_counters {
  u32 deferred[3], arrived[3];  // pieces and vertices of this level, the next, and the one before
  u32 touched, query;           // touched: vertices reached; query: the index of the group's query
  u32 stopped;                  // whether the host has cancelled the launch
  u64 best;  // the degree of the best vertex reached by all terminals, and ~ of its id; or 0
};

// What the searches of a graph's initial trees need besides search_memory; 0 between searches.
struct level_memory {
  u32* state;   // [groups][n][words_per_vertex][words]
  u32* listed;  // [groups][(n + 15) / 16]: two bits per vertex: listed for an even, an odd level
  int words;    // one per 32 terminals
};

struct level_search {
  group blocks;
  star_graph graph;
  size_t n;
  search_memory memory;  // of this group, as the next two
  u32* state;
  u32* listed;
  shared_counters<level_counters>* counters;  // in shared memory where the group is one block
  level_counters& snapshot;                   // the counters at the last barrier; in shared memory
  stop_watch& watch;                          // of the first thread; in shared memory
  int words;                                  // one per 32 terminals
  int count;                                  // the number of the query's terminals

  __device__ u32* words_of(int v, int column) const {
    return state + (size_t(v) * words_per_vertex + column) * words;
  }
  __device__ u32 reached(int v, int word) const {
    return fresh(words_of(v, low) + word) | fresh(words_of(v, high) + word);
  }
  // The bits of all terminals in a word.
  __device__ u32 all_terminals(int word) const {
    const int rest = min(max(count - 32 * word, 0), 32);
    return rest == 32 ? ~0u : (1u << rest) - 1;
  }
  // The terminals whose search reached a vertex at this level, and perhaps three levels before,
  // which the vertex's neighbours have long known.
  __device__ u32 reached_at(int v, int word, int level) const {
    const int code = level % 3 + 1;
    const u32 is_low = fresh(words_of(v, low) + word), is_high = fresh(words_of(v, high) + word);
    return (code & 1 ? is_low : ~is_low) & (code & 2 ? is_high : ~is_high);
  }
  __device__ arc_queue deferred_queue(int level) const {
    return {memory.bucket_vertex,
            memory.bucket_arcs,
            memory.bucket_key,
            memory.bucket_capacity,
            &counters->deferred[level % 3],
            graph.tile};
  }
  // The vertices at which something arrived for a level.
  __device__ int* arrived_list(int level) const { return memory.far + (level & 1) * n; }
  __device__ int* touched_list() const { return memory.far + 2 * n; }
  __device__ static u32 listed_bit(int v, int level) { return 1u << (2 * (v & 15) + (level & 1)); }

  __device__ void sync_and_read() {
    blocks.sync_and_read(counters, snapshot);
    __syncthreads();
  }

  // Propose a vertex that is reached by all terminals: the one of highest degree wins, of these the
  // smallest.
  __device__ void propose(int v) const {
    const u64 degree = u64(min(graph.indptr[v + 1] - graph.indptr[v], 0xFFFFFFFFLL));
    atomicMax(&counters->best, degree << 32 | u32(~v));
  }

  // Add what arrived at a vertex to its state, by the lanes of a tile. Each lane returns what
  // arrived in the first word that it handles. is_first: whether nothing had arrived before.
  __device__ u32 take(bool valid, int v, int level, bool& is_first) const {
    const int tile = graph.tile, code = level % 3 + 1, in_tile = threadIdx.x & (tile - 1);
    bool has_all = valid;
    u32 first_bits = 0;
    is_first = valid;
    for (int word = in_tile; valid && word < words; word += tile) {
      u32* const incoming = words_of(v, arriving + (level & 1)) + word;
      const u32 is_low = fresh(words_of(v, low) + word), is_high = fresh(words_of(v, high) + word);
      const u32 bits = fresh(incoming) & ~(is_low | is_high);
      if (word == in_tile) first_bits = bits;
      is_first = is_first && !(is_low | is_high);
      has_all = has_all && (is_low | is_high | bits) == all_terminals(word);
      if (code & 1) words_of(v, low)[word] = is_low | bits;
      if (code & 2) words_of(v, high)[word] = is_high | bits;
      *incoming = 0;
    }
    for (int distance = tile / 2; distance; distance /= 2) {
      is_first = __shfl_xor_sync(all_lanes, is_first, distance) && is_first;
      has_all = __shfl_xor_sync(all_lanes, has_all, distance) && has_all;
    }
    __syncwarp();
    if (has_all && in_tile == 0) propose(v);
    return first_bits;
  }

  // The vertices of a level take what arrived and, if the search goes on, spread it.
  __device__ void advance(int level, bool spreads) {
    const int tile = graph.tile;
    const int lane = threadIdx.x & 31, in_tile = lane & (tile - 1), leader = lane & ~(tile - 1);
    const u32 tiles = 32 / tile, all_tiles = blocks.threads() / tile;
    const u32 size = snapshot.arrived[level % 3];
    if (blocks.is_leader()) {
      counters->deferred[(level + 2) % 3] = counters->arrived[(level + 2) % 3] = 0;
    }
    for (u32 base = blocks.thread() / 32 * tiles; base < size; base += all_tiles) {
      const u32 i = base + lane / tile;
      const bool valid = i < size;
      const int v = valid ? fresh(&arrived_list(level)[i]) : 0;
      const long long begin = graph.indptr[v], end = graph.indptr[v + 1];
      bool is_first;
      const u32 taken = take(valid, v, level, is_first);
      if (words > 1 && valid && in_tile == 0) atomicAnd(&listed[v >> 4], ~listed_bit(v, level));
      const bool is_large = spreads && valid && in_tile == 0 && end - begin > large_degree;
      const bool fits =
          deferred_queue(level).push(is_large, v, false, 0, {begin, u32(end - begin)});
      const bool is_deferred = __shfl_sync(all_lanes, is_large && fits, leader);
      const u32 first_word = __shfl_sync(all_lanes, taken, leader);
      const long long arcs = spreads && valid && !is_deferred ? end - begin : 0;
      spread(v, begin, arcs, level, first_word, is_first && in_tile == 0);
      const int step = arcs_per_lane * tile;
      for (long long done = step; __any_sync(all_lanes, done < arcs); done += step) {
        spread(v, begin + done, arcs - done, level, first_word, false);
      }
    }
  }

  // What reached u at this level arrives at the heads of its next arcs, `arcs_per_lane` per lane,
  // by the lanes of a tile. No load waits for another. first_word: what reached u, in word 0.
  // is_first: whether u is reached for the first time.
  __device__ void spread(int u, long long begin, long long arcs, int level, u32 first_word,
                         bool is_first) {
    const int tile = graph.tile, lane = threadIdx.x & 31, in_tile = lane & (tile - 1);
    bool valid[arcs_per_lane], is_listed[arcs_per_lane];
    int v[arcs_per_lane];
#pragma unroll
    for (int i = 0; i < arcs_per_lane; ++i) {
      const int arc = i * tile + in_tile;
      valid[i] = arc < arcs;
      is_listed[i] = false;
      v[i] = valid[i] ? graph.indices[begin + arc] : 0;
    }
    const int arriving_next = arriving + (level + 1 & 1);
    for (int word = 0; word < words; ++word) {
      const u32 spreading = word == 0 ? first_word : reached_at(u, word, level);
      u32 is_low[arcs_per_lane], is_high[arcs_per_lane], arrived[arcs_per_lane];
      u32 previous[arcs_per_lane];
#pragma unroll
      for (int i = 0; i < arcs_per_lane; ++i) {
        is_low[i] = fresh(words_of(v[i], low) + word);
        is_high[i] = fresh(words_of(v[i], high) + word);
        arrived[i] = fresh(words_of(v[i], arriving_next) + word);
      }
#pragma unroll
      for (int i = 0; i < arcs_per_lane; ++i) {
        const u32 bits = valid[i] ? spreading & ~(is_low[i] | is_high[i] | arrived[i]) : 0;
        previous[i] = ~0u;
        if (bits) previous[i] = atomicOr(words_of(v[i], arriving_next) + word, bits);
        if (bits && words > 1) is_listed[i] = true;
      }
#pragma unroll
      for (int i = 0; i < arcs_per_lane; ++i) {
        is_listed[i] = is_listed[i] || previous[i] == 0;
      }
    }
    if (words > 1) {  // otherwise the thread that brought the first bit lists the vertex
#pragma unroll
      for (int i = 0; i < arcs_per_lane; ++i) {
        const u32 bit = listed_bit(v[i], level + 1);
        if (is_listed[i]) is_listed[i] = !(atomicOr(&listed[v[i] >> 4], bit) & bit);
      }
    }
    u32 counts = is_first << 16;  // above bit 16 touched vertices, below it listed ones
#pragma unroll
    for (int i = 0; i < arcs_per_lane; ++i) counts += is_listed[i];
    if (!__any_sync(all_lanes, counts)) return;
    const u32 sums = prefix_sum(counts), total = __shfl_sync(all_lanes, sums, 31);
    u32 place = 0;
    if (lane < 2) {
      const u32 amount = lane == 0 ? total & 0xFFFF : total >> 16;
      u32* const list = lane == 0 ? &counters->arrived[(level + 1) % 3] : &counters->touched;
      if (amount) place = atomicAdd(list, amount);
    }
    u32 arrived_place = __shfl_sync(all_lanes, place, 0) + (sums & 0xFFFF) - (counts & 0xFFFF);
    const u32 touched_place = __shfl_sync(all_lanes, place, 1) + (sums >> 16) - (counts >> 16);
    if (is_first) touched_list()[touched_place] = u;
#pragma unroll
    for (int i = 0; i < arcs_per_lane; ++i) {
      if (is_listed[i]) arrived_list(level + 1)[arrived_place++] = v[i];
    }
  }

  // Spread what reached the deferred vertices.
  __device__ void expand(int level) {
    const int tile = graph.tile, lane = threadIdx.x & 31;
    const u32 pieces = min(snapshot.deferred[level % 3], memory.bucket_capacity);
    for (u32 base = blocks.thread() / 32 * (32 / tile); base < pieces;
         base += blocks.threads() / tile) {
      const u32 i = base + lane / tile;
      const arc_piece piece = i < pieces ? deferred_queue(level).at(i) : arc_piece{0, 0, 0, 0};
      const u32 first_word = reached_at(piece.vertex, 0, level);
      spread(piece.vertex, piece.begin, piece.count, level, first_word, false);
    }
  }

  // Reset the state of what was reached, and of what would have been reached next. last: the level
  // that the search ended with.
  __device__ void reset(int last) {
    for (u32 i = blocks.thread(); i < snapshot.touched; i += blocks.threads()) {
      u32* const vertex_words = words_of(fresh(&touched_list()[i]), low);
      for (int word = 0; word < 2 * words; ++word) vertex_words[word] = 0;
    }
    for (u32 i = blocks.thread(); i < snapshot.arrived[(last + 1) % 3]; i += blocks.threads()) {
      const int v = fresh(&arrived_list(last + 1)[i]);
      for (int word = 0; word < words; ++word) {
        words_of(v, arriving + (last + 1 & 1))[word] = 0;
      }
      listed[v >> 4] = 0;
    }
  }
};

}  // namespace mgraph
