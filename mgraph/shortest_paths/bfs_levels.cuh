// The steps of a level of a breadth-first search; bfs.cu explains the search.
#pragma once

#include <mgraph/fresh.cuh>
#include <mgraph/warp.cuh>

using namespace mgraph;
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr int threads = 1024;  // per block
constexpr int infinity = 0x7FFFFFFF;
constexpr int piece_arcs = 256;         // longer rows are read in pieces, top-down
constexpr int lane_arcs = 64;           // that a lane reads bottom-up before its warp helps
constexpr u64 solo_arcs = 4 * threads;  // at most, of a level that one block expands
// An arc takes so many times as long top-down, where it may need three atomic operations.
constexpr double top_down_cost = 16;
// From bottom-up the search turns back when a level has less than this share of all vertices.
constexpr u64 top_down_share = 24;

// The kernel's arguments, which bfs_gpu.py packs.

struct graph {
  const long long* indptr;
  const int* indices;
  long long n;
  long long num_arcs;
  bool has_mirrors;  // rows ascend and hold the mirror of every arc: bottom-up is possible
};

struct search_request {
  const int* sources;
  int source_count;
  const int* targets;
  int target_count;
  bool stop_at_first;           // one reached target ends the search, else all must be reached
  int cutoff;                   // the last level
  const unsigned* cancel_flag;  // not 0: the search ends early; null: it cannot be cancelled
  double patience, min_reached_per_nanosecond;  // see progress_watch.cuh
};

// What a level consists of.
struct level_sums {
  u64 arcs;  // of its vertices' rows
  u32 vertices;
  u32 pieces;  // of the longer rows
};

// piece_arcs of a row, or those left.
struct row_piece {
  int v;
  u32 number;
};

// What solo hands on to the other blocks.
struct search_state {
  int level;
  level_sums found;
  u64 visited_arcs;
};

struct search_memory {
  int* distance;      // [n], infinity
  u32* predecessor;   // [n], -1; null: none are recorded
  u32* visited;       // [2][words], 0: bitmaps
  int* queue;         // [2][n]
  row_piece* pieces;  // [2][2 * num_arcs / piece_arcs + 1]
  level_sums* sums;   // [4], 0: of three levels in turn, and of a level that is collected
  search_state* state;
  u64* arrived;        // 0; of the barrier
  int* stopped_level;  // infinity; the level after which the search was cancelled or gave up
  int* gave_up;        // 0
};

namespace {

// The warps that work on a level: of the grid, or of one block.
struct team {
  long long warp, warps;
};

// One level, as the threads see it. odd: which of the two queues and lists of pieces it has.
struct level_view {
  const graph& graph_;
  const search_memory& memory;
  u32* visited;      // the bitmap in use
  level_sums* sums;  // of the next level
  int level;
  bool odd;

  __device__ const int* queue() const { return memory.queue + (odd ? graph_.n : 0); }
  __device__ int* next_queue() const { return memory.queue + (odd ? 0 : graph_.n); }
  __device__ row_piece* pieces(bool second) const {
    return memory.pieces + (second ? 2 * graph_.num_arcs / piece_arcs + 1 : 0);
  }

  // Queues new vertices of the lanes of a warp, and returns the arcs of this lane's.
  __device__ u64 append(bool is_new, int v) const {
    const u32 lanes = __ballot_sync(~0u, is_new);
    if (!lanes) return 0;
    const int lane = threadIdx.x & 31, leader = __ffs(lanes) - 1;
    u32 place = 0;
    if (lane == leader) place = atomicAdd(&sums->vertices, u32(__popc(lanes)));
    place = __shfl_sync(~0u, place, leader) + __popc(lanes & lanes_below());
    if (is_new) next_queue()[place] = v;
    const long long arcs = is_new ? graph_.indptr[v + 1] - graph_.indptr[v] : 0;
    for (u32 rows = __ballot_sync(~0u, arcs > piece_arcs); rows; rows &= rows - 1) {
      const int owner = __ffs(rows) - 1;
      const int row = __shfl_sync(~0u, v, owner);
      const long long row_arcs = __shfl_sync(~0u, arcs, owner);
      const u32 count = u32((row_arcs + piece_arcs - 1) / piece_arcs);
      if (lane == owner) place = atomicAdd(&sums->pieces, count);
      const u32 first = __shfl_sync(~0u, place, owner);
      for (u32 i = lane; i < count; i += 32) pieces(!odd)[first + i] = {row, i};
    }
    return u64(arcs);
  }

  // The arc of a vertex of this level, top-down, by all lanes of a warp.
  __device__ u64 visit(bool is_arc, int from, int to) const {
    bool is_new = false;
    if (is_arc) {
      u32* word = &visited[to / 32];
      const u32 bit = 1u << (to & 31);
      if (!(fresh(word) & bit)) is_new = !(atomicOr(word, bit) & bit);
      if (is_new) memory.distance[to] = level + 1;
      if (memory.predecessor && (is_new || fresh(&memory.distance[to]) > level))
        atomicMin(&memory.predecessor[to], u32(from));
    }
    return append(is_new, to);
  }

  __device__ void add_arcs(u64 arcs) const {
    for (int step = 16; step; step /= 2) arcs += __shfl_down_sync(~0u, arcs, step);
    if ((threadIdx.x & 31) == 0 && arcs) atomicAdd(&sums->arcs, arcs);
  }

  // Top-down: each arc of the queued vertices, but for rows in pieces.
  __device__ void expand_short(team team_, u32 size) const {
    const int lane = threadIdx.x & 31;
    u64 arcs = 0;
    for (long long first = 32 * team_.warp; first < size; first += 32 * team_.warps) {
      int v = 0;
      u32 count = 0;
      long long begin = 0;
      if (first + lane < size) {
        v = fresh(&queue()[first + lane]);
        begin = graph_.indptr[v];
        const long long row = graph_.indptr[v + 1] - begin;
        count = row <= piece_arcs ? u32(row) : 0;
      }
      u32 end = count;  // where this lane's arcs end among those of the warp
      for (int step = 1; step < 32; step *= 2) {
        const u32 other = __shfl_up_sync(~0u, end, step);
        if (lane >= step) end += other;
      }
      const u32 total = __shfl_sync(~0u, end, 31);
      const long long offset = begin - (end - count);
      for (u32 base = 0; base < total; base += 32) {
        const u32 place = base + lane;
        u32 owner = 0;
        for (u32 step = 16; step; step /= 2) {
          if (__shfl_sync(~0u, end, owner + step - 1) <= place) owner += step;
        }
        const int from = __shfl_sync(~0u, v, owner);
        const long long arc = __shfl_sync(~0u, offset, owner) + place;
        const bool is_arc = place < total;
        arcs += visit(is_arc, from, is_arc ? graph_.indices[arc] : 0);
      }
    }
    add_arcs(arcs);
  }

  // Top-down: the level's pieces of rows, each by a warp.
  __device__ void expand_pieces(team team_, u32 count) const {
    const int lane = threadIdx.x & 31;
    u64 arcs = 0;
    for (long long i = team_.warp; i < count; i += team_.warps) {
      const row_piece* piece = &pieces(odd)[i];
      const int v = fresh(&piece->v);
      const long long begin = graph_.indptr[v] + (long long)piece_arcs * fresh(&piece->number);
      const long long stop = min(begin + piece_arcs, graph_.indptr[v + 1]);
      for (long long base = begin; base < stop; base += 32) {
        const bool is_arc = base + lane < stop;
        arcs += visit(is_arc, v, is_arc ? graph_.indices[base + lane] : 0);
      }
    }
    add_arcs(arcs);
  }

  __device__ void expand(team team_, const level_sums& found) const {
    expand_short(team_, found.vertices);
    expand_pieces(team_, found.pieces);
  }

  __device__ bool is_visited(int v) const { return visited[v / 32] >> (v & 31) & 1; }

  // Bottom-up: the vertices without a bit in `visited` that have a visited one in their rows get
  // one in `next`, which is written whole.
  __device__ void search_rows(team team_, u32* next) const {
    const int lane = threadIdx.x & 31;
    const long long words = (graph_.n + 31) / 32;
    u64 arcs = 0;
    u32 vertices = 0;
    for (long long word = team_.warp; word < words; word += team_.warps) {
      const u32 before = visited[word];
      const int v = int(32 * word + lane);
      long long arc = 0, stop = 0;
      if (32 * word + lane < graph_.n && !(before >> lane & 1)) {
        arc = graph_.indptr[v], stop = graph_.indptr[v + 1];
      }
      int parent = -1;
      // Two arcs at a time, so that their reads are on the way together.
      for (int i = 0; i < lane_arcs && arc < stop && parent < 0; i += 2, arc += 2) {
        const int u = graph_.indices[arc], w = arc + 1 < stop ? graph_.indices[arc + 1] : u;
        const bool has_u = is_visited(u), has_w = is_visited(w);
        if (has_u || has_w) parent = has_u ? u : w;
      }
      u32 unfinished = __ballot_sync(~0u, parent < 0 && arc < stop);
      for (; unfinished; unfinished &= unfinished - 1) {
        const int owner = __ffs(unfinished) - 1;
        const long long row_stop = __shfl_sync(~0u, stop, owner);
        for (long long base = __shfl_sync(~0u, arc, owner); base < row_stop; base += 32) {
          const int u = base + lane < row_stop ? graph_.indices[base + lane] : -1;
          const u32 hits = __ballot_sync(~0u, u >= 0 && is_visited(u));
          if (!hits) continue;
          const int first = __shfl_sync(~0u, u, __ffs(hits) - 1);
          if (lane == owner) parent = first;
          break;
        }
      }
      if (parent >= 0) {
        memory.distance[v] = level + 1;
        if (memory.predecessor) memory.predecessor[v] = u32(parent);
      }
      const u32 found = __ballot_sync(~0u, parent >= 0);
      if (lane == 0) next[word] = before | found;
      vertices += __popc(found);
      if (parent >= 0) arcs += u64(graph_.indptr[v + 1] - graph_.indptr[v]);
    }
    add_arcs(arcs);
    if (lane == 0 && vertices) atomicAdd(&sums->vertices, vertices);
  }

  // Queues the vertices of the next level, which was found bottom-up.
  __device__ void collect(team team_, const u32* next) const {
    const int lane = threadIdx.x & 31;
    const long long words = (graph_.n + 31) / 32;
    for (long long word = team_.warp; word < words; word += team_.warps) {
      const u32 found = next[word] & ~visited[word];
      append(found >> lane & 1, int(32 * word + lane));
    }
  }
};

}  // namespace
