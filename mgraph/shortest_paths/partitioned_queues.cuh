// The queues of a rank's search, and what is done with an improved length;
// partitioned_delta_stepping.cu explains them.
#pragma once

#include <mgraph/fresh.cuh>
#include <mgraph/ordered.cuh>
#include <mgraph/path_length.cuh>
#include <mgraph/warp.cuh>

using namespace mgraph;
using u32 = unsigned int;
using u64 = unsigned long long;
using unsigned_key = unsigned_of<sizeof(length_t)>::type;

constexpr int threads = 1024;           // per block
constexpr int piece_arcs = 256;         // longer rows are read in pieces
constexpr u64 solo_arcs = 4 * threads;  // at most, of an iteration that one block does

// The rank's rows: indptr[row], of the own vertex below + row.
struct rank_rows {
  const long long* indptr;
  const u32* heads;
  const weight_t* weights;  // null: each arc counts 1
  u32 below;
  u32 owned;
  long long num_arcs;
};

struct search_limits {
  key_t threshold;
  key_t cutoff;                 // the greatest length that is kept
  const unsigned* cancel_flag;  // not 0: the search ends early; null: it cannot be cancelled
};

// What a near queue consists of.
struct queue_sums {
  u64 arcs;  // of its vertices' rows
  u32 vertices;
  u32 pieces;  // of the longer rows
};

// piece_arcs of a row, or those left.
struct row_piece {
  u32 number;
  u32 index;
};

// What one block hands on to the others.
struct search_state {
  queue_sums found;
  int odd;
};

struct search_memory {
  key_t* distance;    // [locals]
  u32* is_near;       // [words] bits
  u32* is_far;        // [words] bits
  u32* near;          // [2][owned]
  row_piece* pieces;  // [2][2 * num_arcs / piece_arcs + 1]
  u32* far;           // [locals]
  u32* to_send;       // [ghosts]
  u64* far_count;
  u64* to_send_count;
  queue_sums* sums;  // [3]
  search_state* state;
  u64* arrived;  // 0; of the barrier
  int* stopped;  // 0; 1: cancelled
};

namespace {

__device__ long long first_item() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long stride() { return (long long)gridDim.x * blockDim.x; }

// Calls visit(i, is_item) for i below count, and more, all lanes of a warp together.
template <class Visit> __device__ void for_each_item(long long count, Visit visit) {
  const long long rounded = (count + 31) / 32 * 32;
  for (long long i = first_item(); i < rounded; i += stride()) visit(i, i < count);
}

// A place after cursors[which] for each lane that asks, all lanes of a warp together.
__device__ u64 take_place(u64* cursors, int which, bool asks) {
  const u32 lanes = __match_any_sync(~0u, asks ? which : -1);
  const int leader = __ffs(lanes) - 1;
  u64 place = 0;
  if (asks && (threadIdx.x & 31) == leader) {
    place = atomicAdd(&cursors[which], u64(__popc(lanes)));
  }
  return __shfl_sync(~0u, place, leader) + __popc(lanes & lanes_below());
}

// The owner of a ghost: the last one whose ghosts begin at or before the number.
__device__ int owner_of(u32 number, const u32* starts, int size) {
  int low = 0, high = size - 1;
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (number >= starts[middle]) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

__device__ queue_sums read_sums(const queue_sums* sums) {
  return {fresh(&sums->arcs), fresh(&sums->vertices), fresh(&sums->pieces)};
}

// The warps that work on an iteration: of the grid, or of one block.
struct team {
  long long warp, warps;
};

// The queues as the threads see them. odd: which of the two near queues is read; the other one is
// appended to, and `sums` are that one's.
struct queues {
  const rank_rows& rows;
  const search_memory& memory;
  const search_limits& limits;
  queue_sums* sums;
  bool odd;

  __device__ const u32* near() const { return memory.near + (odd ? rows.owned : 0); }
  __device__ u32* next_near() const { return memory.near + (odd ? 0 : rows.owned); }
  __device__ row_piece* pieces(bool second) const {
    return memory.pieces + (second ? 2 * rows.num_arcs / piece_arcs + 1 : 0);
  }
  __device__ bool is_own(u32 number) const { return number - rows.below < rows.owned; }

  __device__ void add_arcs(u64 arcs) const {
    for (int step = 16; step; step /= 2) arcs += __shfl_down_sync(~0u, arcs, step);
    if ((threadIdx.x & 31) == 0 && arcs) atomicAdd(&sums->arcs, arcs);
  }

  // Queues own vertices, and returns the arcs of this lane's. Here and below, all lanes of a warp
  // call together.
  __device__ u64 append(bool is_new, u32 number) const {
    const u32 lanes = __ballot_sync(~0u, is_new);
    if (!lanes) return 0;
    const int lane = threadIdx.x & 31, leader = __ffs(lanes) - 1;
    u32 place = 0;
    if (lane == leader) place = atomicAdd(&sums->vertices, u32(__popc(lanes)));
    place = __shfl_sync(~0u, place, leader) + __popc(lanes & lanes_below());
    if (is_new) next_near()[place] = number;
    const long long* row = rows.indptr + (number - rows.below);
    const long long arcs = is_new ? row[1] - row[0] : 0;
    for (u32 long_rows = __ballot_sync(~0u, arcs > piece_arcs); long_rows;
         long_rows &= long_rows - 1) {
      const int owner = __ffs(long_rows) - 1;
      const u32 of = __shfl_sync(~0u, number, owner);
      const u32 count = u32((__shfl_sync(~0u, arcs, owner) + piece_arcs - 1) / piece_arcs);
      if (lane == owner) place = atomicAdd(&sums->pieces, count);
      const u32 first = __shfl_sync(~0u, place, owner);
      for (u32 i = lane; i < count; i += 32) pieces(!odd)[first + i] = {of, i};
    }
    return u64(arcs);
  }

  // Lists numbers whose near bit is not set: own vertices in the queue, ghosts to be sent.
  __device__ u64 queue_near(bool is_near, u32 number) const {
    bool is_new = false;
    if (is_near) {
      const u32 bit = 1u << (number & 31);
      fence();
      is_new = !(atomicOr(&memory.is_near[number / 32], bit) & bit);
    }
    const bool own = is_own(number);
    if (__any_sync(~0u, is_new && !own)) {
      const u64 place = take_place(memory.to_send_count, 0, is_new && !own);
      if (is_new && !own) memory.to_send[place] = number;
    }
    return append(is_new && own, number);
  }

  // Takes a length of a number if it is better than the one known; returns the arcs to be relaxed.
  __device__ u64 update(bool is_length, u32 number, key_t length) const {
    bool is_better =
        is_length && length <= limits.cutoff && length < fresh(&memory.distance[number]);
    if (is_better) {
      const auto known = atomicMin((unsigned_key*)&memory.distance[number], unsigned_key(length));
      is_better = unsigned_key(length) < known;
    }
    if (!__any_sync(~0u, is_better)) return 0;
    const bool is_near = is_better && length < limits.threshold;
    bool is_new_far = false;
    if (is_better && !is_near) {
      u32* word = &memory.is_far[number / 32];
      const u32 bit = 1u << (number & 31);
      is_new_far = !(fresh(word) & bit) && !(atomicOr(word, bit) & bit);
    }
    if (__any_sync(~0u, is_new_far)) {
      const u64 place = take_place(memory.far_count, 0, is_new_far);
      if (is_new_far) memory.far[place] = number;
    }
    return queue_near(is_near, number);
  }

  // Relaxes an arc of a vertex at a length.
  __device__ u64 relax(bool is_arc, key_t length, long long arc) const {
    u32 head = 0;
    key_t candidate = 0;
    if (is_arc) {
      head = rows.heads[arc];
      candidate = extended(length, rows.weights ? rows.weights[arc] : weight_t(1));
    }
    return update(is_arc, head, candidate);
  }

  // Takes a vertex from the queue: its length is read after its bit is cleared.
  __device__ key_t take(u32 number) const {
    atomicAnd(&memory.is_near[number / 32], ~(1u << (number & 31)));
    fence();
    return fresh(&memory.distance[number]);
  }

  // Relaxes each arc of the queued vertices, but for rows in pieces.
  __device__ void expand_short(team team_, u32 size) const {
    const int lane = threadIdx.x & 31;
    u64 arcs = 0;
    for (long long first = 32 * team_.warp; first < size; first += 32 * team_.warps) {
      u32 count = 0;
      long long begin = 0;
      key_t length = 0;
      if (first + lane < size) {
        const u32 number = fresh(&near()[first + lane]);
        const long long* row = rows.indptr + (number - rows.below);
        begin = row[0];
        length = take(number);
        if (row[1] - begin <= piece_arcs) count = u32(row[1] - begin);
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
        const key_t from = __shfl_sync(~0u, length, owner);
        const long long arc = __shfl_sync(~0u, offset, owner) + place;
        arcs += relax(place < total, from, arc);
      }
    }
    add_arcs(arcs);
  }

  // Relaxes the arcs of pieces, each by a warp, after a barrier: expand_short has cleared the bits
  // of their numbers, so that a length which is improved from now on is queued again.
  __device__ void expand_pieces(team team_, u32 count) const {
    const int lane = threadIdx.x & 31;
    u64 arcs = 0;
    for (long long i = team_.warp; i < count; i += team_.warps) {
      const row_piece* piece = &pieces(odd)[i];
      const u32 number = fresh(&piece->number), index = fresh(&piece->index);
      const long long* row = rows.indptr + (number - rows.below);
      const long long begin = row[0] + (long long)piece_arcs * index;
      const long long stop = min(begin + piece_arcs, row[1]);
      const key_t length = fresh(&memory.distance[number]);
      for (long long base = begin; base < stop; base += 32)
        arcs += relax(base + lane < stop, length, base + lane);
    }
    add_arcs(arcs);
  }
};

}  // namespace
