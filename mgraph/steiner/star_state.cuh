// What a group of blocks keeps of one of STAR's searches, and how its blocks agree on the next step.
#pragma once

#include "star_tree.cuh"

namespace mgraph {

constexpr int above = 0, below = 1;  // the sides

struct job {
  int slot;      // of the loose path
  u32 order;     // when it is tried
  key_t bound;   // shorter paths count
  length_scale scale;  // of fractional weights
};

// What a group's blocks tell each other of a search. A far list has two halves, one
// to be read and one to be written.
struct counters {
  u32 near[2];
  u32 far[2][2];
  u32 touched[2];  // the partitions' vertices first, on the side above
  u32 full;    // how often a bucket was too large
  u32 put_off, taken;  // vertices to be marked from, for which there was no room
  u32 target;  // the least vertex of the partition below that a shortest path ends at
  u32 job, abandoned;
  u64 arcs[2];  // of the partitions
  key_t least_far[2][2];
  key_t best;
};

enum class step { over, fill, expand };

// A row in ascending order of weight, and how many of its arcs weigh no more than some marks, of which
// the last is the largest weight of all: an arc that is too heavy to matter need not be looked at. It
// fills a memory sector.
constexpr int marks_a_row = 6;
struct sorted_row {
  long long begin;
  u32 counts[marks_a_row];
};

// Where a search stands; the same in all blocks of a group, in shared memory.
struct standing {
  counters seen;  // what was told up to the last barrier
  job its;
  step next;
  key_t radius[2], high[2], bucket[2];
  u32 seeds;       // the partitions' vertices
  bool started[2], goes_on[2];
  int written[2];  // the half of each far list
  int near_read;   // the half of near
  u32 filled[2];   // pieces in the last bucket
  u32 full;        // as told before the bucket
  key_t marks[marks_a_row];  // as long as such arcs are, or a little less
};

struct distances {
  key_t distance[2];  // from the partition above and from that below

  // What is read by a variable's index would stand in memory.
  __device__ key_t of(int side) const { return side == above ? distance[above] : distance[below]; }
};

// What a search knows of a vertex, in a memory sector, since most of these are far apart.
struct alignas(4 * sizeof(key_t)) label : distances {
  u32 flags, unused[sizeof(key_t) / 2 - 1];
};
constexpr u32 waits_above = 1, waits_below = 2, is_marked = 4;  // waits: in a side's far list

__device__ __forceinline__ distances load(const label* at) {
  distances it;
  if constexpr (sizeof(key_t) == 4) {
    const int2 both = __ldcg((const int2*)at);
    it.distance[0] = both.x, it.distance[1] = both.y;
  } else {
    const longlong2 both = __ldcg((const longlong2*)at);
    it.distance[0] = both.x, it.distance[1] = both.y;
  }
  return it;
}

__device__ __forceinline__ key_t added(key_t a, key_t b) {
  return a + b;
}

// a - b, but not below 0.
__device__ __forceinline__ key_t less(key_t a, key_t b) {
  return a > b ? a - b : key_t(0);
}

__device__ __forceinline__ key_t halved(key_t a) { return max(a / 2, key_t(1)); }

__device__ __forceinline__ key_t warp_min(key_t key) {
  if constexpr (sizeof(key_t) == 4) return __reduce_min_sync(all_lanes, u32(key));
  for (int apart = 16; apart; apart /= 2) key = min(key, __shfl_xor_sync(all_lanes, key, apart));
  return key;
}

struct star_state {
  group blocks;
  const long long* indptr;
  const int* indices;
  const weight_t* weights;  // null: every weight is 1
  size_t n;
  int tile;  // lanes to a piece of arcs
  const sorted_row* rows;  // [n]; null: not sorted
  const weight_t* row_marks;  // [marks_a_row], where rows are sorted
  label* labels;   // [n]
  shared_counters<counters>* told;  // in shared memory where the group is one block
  standing now;
  // lists: near [2][capacity], far [2 sides][2][n], touched [2 sides][n]
  int* near_vertex;
  u64* near_arcs;
  key_t* near_key;
  u32 near_capacity;
  int* far;
  int* touched;
  star_tree tree;  // the query's
  double first_bucket;  // so large a range of weights is searched first
  key_t bucket;         // as long as that is in this search

  __device__ weight_t weight(long long arc) const { return weights ? weights[arc] : weight_t(1); }
  __device__ arc_length_t length(long long arc) const { return whole(weight(arc), now.its.scale); }

  // Some vertices' arcs of weights up to a limit each, and perhaps some more; none of those that are not
  // mine. No load waits for another.
  template <int some>
  __device__ void rows_of(const bool (&mine)[some], const int (&v)[some], const key_t (&limit)[some],
                          arc_range (&its)[some]) const {
    if (rows) {
#pragma unroll
      for (int i = 0; i < some; ++i) {
        const sorted_row& row = rows[mine[i] ? v[i] : 0];
        int mark = 0;
        for (int k = 0; k < marks_a_row - 1; ++k) mark += now.marks[k] < limit[i];
        its[i] = {row.begin, row.counts[mark]};
      }
    } else {
      long long end[some];
#pragma unroll
      for (int i = 0; i < some; ++i) {
        const long long* const at = indptr + (mine[i] ? v[i] : 0);
        its[i].begin = at[0];
        end[i] = at[1];
      }
#pragma unroll
      for (int i = 0; i < some; ++i) its[i].count = u32(end[i] - its[i].begin);
    }
#pragma unroll
    for (int i = 0; i < some; ++i) {
      if (!mine[i]) its[i].count = 0;
    }
  }
  __device__ arc_range row(bool mine, int v, key_t limit) const {
    arc_range its[1];
    rows_of<1>({mine}, {v}, {limit}, its);
    return its[0];
  }

  // What ``rows_of`` will read, so that it is nearer by then.
  __device__ void prefetch_row(int v) const {
    const void* const at = rows ? (const void*)(rows + v) : (const void*)(indptr + v);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
  }

  __device__ arc_queue near(int half) const {
    const size_t at = size_t(half) * near_capacity;
    return {near_vertex + at, near_arcs + at, near_key + at, near_capacity, &told->near[half],
            tile};
  }
  __device__ int* far_list(int side, int half) const { return far + size_t(2 * side + half) * n; }

  // The partition that a path and its lower end are in, when the job's path is left out.
  __device__ int side_of(int slot) const {
    while (slot >= 0 && slot != now.its.slot) slot = tree.paths[slot].up;
    return slot < 0 ? above : below;
  }

  // A barrier, at which all see what all have told, and one thread of each block decides on it.
  template <class Decide> __device__ void look(Decide decide) {
    blocks.see(told, now.seen);
    if (threadIdx.x == 0) decide();
    __syncthreads();
  }

  // What is told at the beginning of a search. By one thread, before the others begin.
  __device__ void restart(key_t bound) {
    for (int i = 0; i < 2; ++i) {
      told->near[i] = told->far[0][i] = told->far[1][i] = told->touched[i] = 0;
      told->least_far[0][i] = told->least_far[1][i] = no_key;
      told->arcs[i] = 0;
    }
    told->full = told->abandoned = told->put_off = told->taken = 0;
    told->target = ~0u;
    told->best = bound;
  }

  // The partitions' vertices have distance 0: those of each path, a warp a path, and the root.
  __device__ void begin() {
    const path_step* const steps = tree.steps();
    const int lane = threadIdx.x & 31;
    for (int slot = int(blocks.thread() / 32) - 1; slot < tree.slots; slot += blocks.threads() / 32) {
      if (slot < 0) {
        seed(lane == 0, tree.state->root, above);
        continue;
      }
      const loose_path path = tree.paths[slot];
      if (path.vertex < 0) continue;
      const bool removed = slot == now.its.slot;
      const int size = removed ? 1 : path.size - 1, side = side_of(slot);
      const int first = tree.upward(path) || removed ? path.start : path.start + 1;
      for (int base = 0; base < size; base += 32) {
        const int i = base + lane;
        seed(i < size, removed ? path.vertex : i < size ? steps[first + i].vertex : 0, side);
      }
    }
    // Arcs of a mark's length may weigh more than it, where lengths are rounded up.
    if (rows && threadIdx.x < marks_a_row) {
      now.marks[threadIdx.x] = key_t(whole(row_marks[threadIdx.x], now.its.scale)) - (whole_weights ? 0 : 1);
    }
    if (threadIdx.x > 0) return;
    double width = first_bucket;
    if constexpr (!whole_weights) width = now.its.scale.scaled(width);
    bucket = key_t(fmax(1.0, fmin(width, double(now.its.bound))));
    now.near_read = 0;
    now.full = 0;
    for (int side = 0; side < 2; ++side) {
      now.radius[side] = 0;
      now.bucket[side] = bucket;
      now.filled[side] = 1;
      now.started[side] = now.goes_on[side] = false;
      now.written[side] = 0;
    }
  }

  // A vertex a lane belongs to a partition. By all lanes of a warp.
  __device__ void seed(bool mine, int v, int side) {
    const u32 mask = __ballot_sync(all_lanes, mine), lane = threadIdx.x & 31;
    const u32 arcs = __reduce_add_sync(all_lanes, mine ? u32(indptr[v + 1] - indptr[v]) : 0);
    u32 place = 0;
    if (lane == 0) {
      place = atomicAdd(&told->touched[above], __popc(mask));
      atomicAdd(&told->arcs[side], u64(arcs));
    }
    place = __shfl_sync(all_lanes, place, 0) + __popc(mask & ((1u << lane) - 1));
    if (!mine) return;
    touched[place] = v;
    labels[v].distance[side] = 0;
  }

  // Labels as they were before the search.
  __device__ void reset() {
    for (int side = 0; side < 2; ++side) {
      const u32 count = now.seen.touched[side];
      for (u32 i = blocks.thread(); i < count; i += blocks.threads()) {
        const int v = fresh(&touched[side * n + i]);
        labels[v] = {{{no_key, no_key}}};
      }
    }
  }

  // Call f(mine, head, length, label, side, key of the tail) for the arcs of the vertices near,
  // `steps` a lane, by all lanes of a warp. Heads that are farther than a side's limit are passed over.
  template <class F> __device__ void for_each_arc(const distances& limits, F f) {
    const int half = now.near_read;
    const arc_queue from = near(half);
    const u32 count = min(now.seen.near[half], near_capacity);
    const int lane = threadIdx.x & 31, in_tile = lane & (tile - 1);
    if (blocks.leads()) told->near[half] = 0;  // all know how many there are
    for (u32 base = blocks.thread() / 32 * (32 / tile); base < count;
         base += blocks.threads() / tile) {
      const u32 i = base + lane / tile;
      const arc_piece piece = i < count ? from.at(i) : arc_piece{0, 0, 0, 0};
      const int side = piece.vertex < 0 ? below : above;
      const int tail = piece.vertex < 0 ? ~piece.vertex : piece.vertex;
      const key_t now_there = piece.count ? load(&labels[tail]).of(side) : piece.key;
      bool mine[steps];
      int head[steps];
      arc_length_t its_length[steps];
      distances there[steps];
#pragma unroll
      for (int k = 0; k < steps; ++k) {
        const int arc = k * tile + in_tile;
        mine[k] = arc < piece.count;
        head[k] = mine[k] ? indices[piece.begin + arc] : 0;
        its_length[k] = mine[k] ? length(piece.begin + arc) : arc_length_t(0);
      }
#pragma unroll
      for (int k = 0; k < steps; ++k) {
        mine[k] = mine[k] && now_there == piece.key &&
                  extended(piece.key, its_length[k]) <= limits.of(side);
        there[k] = mine[k] ? load(&labels[head[k]]) : distances{{no_key, no_key}};
      }
      f(mine, head, its_length, there, side, piece.key);
    }
  }
};

}  // namespace mgraph
