// The memory of a rank's search, and what is done with an improved length;
// partitioned_delta_stepping.cu explains them.
#pragma once

#include "partitioned_lists.cuh"

constexpr int range_arcs = 256;     // of a row, at most, that are read at a time
constexpr u32 solo_vertices = 256;  // at most, of an iteration that one block does
constexpr int list_slots = 4 * buffer_slots * threads / 32;  // of a block, in shared memory
constexpr int lane_arcs = 16;  // of a row that a lane pulls along before its warp helps

struct search_limits {
  key_t threshold;
  key_t end;                    // the least length that is not kept
  const unsigned* cancel_flag;  // not 0: the search ends early; null: it cannot be cancelled
};

// What a near queue consists of.
struct near_sums {
  u32 vertices;
  u32 pieces;
};

// What one block hands on to the others.
struct search_state {
  near_sums found;
  u64 odd;
};

// The lengths of lists.
struct list_counts {
  u64 far;
  u64 to_send;
  // Of the step, all 0 when it begins:
  u64 settled_arcs;  // of the rows of the settled list
  u64 first_arcs;    // without those of vertices that an earlier step had listed
  u32 settled;
  u32 pieces;  // of rows that are pushed or pulled along
};

// `pieces`, below: 3 * num_arcs / range_arcs + 1.
struct search_memory {
  long long locals;        // own vertices and ghosts
  key_t* distance;         // [locals]
  key_t* expanded;         // [owned]: the length at which a row's light arcs were relaxed last
  u32* is_near;            // [2][words] bits
  u32* is_far;             // [words] bits
  u32* is_settled;         // [words] bits, by own row
  u32* near;               // [2][owned]
  row_piece* near_pieces;  // [2][pieces]
  u32* settled;            // [owned]
  u32* far;                // [locals]
  u32* to_send;            // [ghosts]
  list_counts* counts;
  near_sums* sums;  // [3]
  search_state* state;
  u64* arrived;  // 0; of the barrier
  int* stopped;  // 0; the turn in which the search was cancelled
};

namespace {

__device__ near_sums read_sums(const near_sums* sums) {
  return {fresh(&sums->vertices), fresh(&sums->pieces)};
}

// The lists as a warp sees them. odd: which of the two near queues is read; the other one is
// appended to, and `sums` are that one's.
struct queues {
  const rank_rows& rows;
  const search_memory& memory;
  const search_limits& limits;
  near_sums* sums;
  bool odd;
  buffer near_buffer, far_buffer, send_buffer, settled_buffer;
  u64 settled_arcs, first_arcs;  // this lane's

  __device__ queues(const rank_rows& rows, const search_memory& memory, const search_limits& limits,
                    near_sums* sums, bool odd, u32* slots)
      : rows(rows), memory(memory), limits(limits), sums(sums), odd(odd), settled_arcs(0),
        first_arcs(0) {
    u32* own_slots = slots + 4 * buffer_slots * (threadIdx.x / 32);
    near_buffer = {own_slots, 0};
    far_buffer = {own_slots + buffer_slots, 0};
    send_buffer = {own_slots + 2 * buffer_slots, 0};
    settled_buffer = {own_slots + 3 * buffer_slots, 0};
  }

  __device__ const u32* near() const { return memory.near + (odd ? rows.owned : 0); }
  __device__ long long max_pieces() const { return 3 * rows.num_arcs / range_arcs + 1; }
  __device__ row_piece* pieces(bool second) const {
    return memory.near_pieces + (second ? max_pieces() : 0);
  }
  __device__ u32* near_bits(bool second) const {
    return memory.is_near + (second ? (memory.locals + 31) / 32 : 0);
  }
  __device__ bool is_own(u32 number) const { return number - rows.below < rows.owned; }

  __device__ void flush_near(bool is_item, u32 number) const {
    u32* list = memory.near + (odd ? 0 : rows.owned);
    const u32 place = take_places(&sums->vertices, is_item);
    if (is_item) list[place] = number;
  }
  __device__ void flush_far(bool is_item, u32 number) const {
    const u64 place = take_places(&memory.counts->far, is_item);
    if (is_item) memory.far[place] = number;
  }
  __device__ void flush_send(bool is_item, u32 number) const {
    const u64 place = take_places(&memory.counts->to_send, is_item);
    if (is_item) memory.to_send[place] = number;
  }

  __device__ void flush_settled(bool is_item, u32 number) const {
    const u32 place = take_places(&memory.counts->settled, is_item);
    if (is_item) memory.settled[place] = number;
  }

  // After the last push: the lists and sums are complete.
  __device__ void finish() {
    near_buffer.empty([&](bool is_item, u32 number) { flush_near(is_item, number); });
    far_buffer.empty([&](bool is_item, u32 number) { flush_far(is_item, number); });
    send_buffer.empty([&](bool is_item, u32 number) { flush_send(is_item, number); });
    settled_buffer.empty([&](bool is_item, u32 number) { flush_settled(is_item, number); });
    for (int step = 16; step; step /= 2) {
      settled_arcs += __shfl_down_sync(~0u, settled_arcs, step);
      first_arcs += __shfl_down_sync(~0u, first_arcs, step);
    }
    if ((threadIdx.x & 31) == 0 && settled_arcs) {
      atomicAdd(&memory.counts->settled_arcs, settled_arcs);
      atomicAdd(&memory.counts->first_arcs, first_arcs);
    }
  }

  // Lists near numbers that are not listed yet: own vertices in the queue, ghosts to be sent.
  __device__ void queue_near(bool is_near, u32 number) {
    bool is_new = false;
    if (is_near) {
      const u32 bit = 1u << (number & 31);
      // A ghost stays listed until it is sent, whatever the iteration.
      u32* word = near_bits(is_own(number) ? !odd : false) + number / 32;
      is_new = !(fresh(word) & bit) && !(atomicOr(word, bit) & bit);
    }
    const bool own = is_own(number);
    near_buffer.push(is_new && own, number,
                     [&](bool is_item, u32 item) { flush_near(is_item, item); });
    send_buffer.push(is_new && !own, number,
                     [&](bool is_item, u32 item) { flush_send(is_item, item); });
  }

  // Takes a length of a number if it is better than the one known.
  __device__ void update(bool is_length, u32 number, key_t length) {
    const bool is_better =
        is_length && length < limits.end && length < fresh(&memory.distance[number]);
    improve(is_better, number, length);
  }

  // Takes a length that has been better than the one known.
  __device__ void improve(bool is_better, u32 number, key_t length) {
    if (!__any_sync(~0u, is_better)) return;
    if (is_better) {
      const auto known = atomicMin((unsigned_key*)&memory.distance[number], unsigned_key(length));
      is_better = unsigned_key(length) < known;
    }
    list(is_better, number, length);
  }

  // Lists a number as near or far by its length, unless it is listed.
  __device__ void list(bool is_item, u32 number, key_t length) {
    const bool is_near = is_item && length < limits.threshold;
    bool is_new_far = false;
    if (is_item && !is_near) {
      u32* word = &memory.is_far[number / 32];
      const u32 bit = 1u << (number & 31);
      is_new_far = !(fresh(word) & bit) && !(atomicOr(word, bit) & bit);
    }
    far_buffer.push(is_new_far, number, [&](bool is_new, u32 item) { flush_far(is_new, item); });
    queue_near(is_near, number);
  }

  // Relaxes arcs, each of a vertex at a length, if they are light, or if they are heavy.
  template <bool heavy>
  __device__ void relax(const bool (&is_arc)[ahead], const key_t (&lengths)[ahead],
                        const long long (&arcs)[ahead]) {
    key_t candidates[ahead];
    u32 heads[ahead];
    bool is_better[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      candidates[i] = is_arc[i] ? extended(lengths[i], weight_of(rows, arcs[i])) : 0;
      is_better[i] =
          is_arc[i] && (candidates[i] < limits.threshold) != heavy && candidates[i] < limits.end;
    }
#pragma unroll
    for (int i = 0; i < ahead; ++i) heads[i] = is_better[i] ? rows.heads[arcs[i]] : 0;
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      is_better[i] = is_better[i] && candidates[i] < fresh(&memory.distance[heads[i]]);
    }
#pragma unroll
    for (int i = 0; i < ahead; ++i) improve(is_better[i], heads[i], candidates[i]);
  }

  // Takes a vertex from the near queue, by all lanes of a warp; returns whether its light arcs must
  // be relaxed: not if they were at the same length.
  __device__ bool take(bool is_item, u32 number, long long row_arcs, key_t* length) {
    bool is_first = false, is_known = true, is_open = false;
    *length = 0;
    if (is_item) {
      const u32 row = number - rows.below, bit = 1u << (row & 31);
      atomicAnd(near_bits(odd) + number / 32, ~(1u << (number & 31)));
      *length = fresh(&memory.distance[number]);
      const key_t expanded = memory.expanded[row];
      is_known = expanded != no_key;
      is_open = expanded != *length;
      memory.expanded[row] = *length;
      u32* word = &memory.is_settled[row / 32];
      is_first = !(fresh(word) & bit) && !(atomicOr(word, bit) & bit);
    }
    settled_buffer.push(is_first, number,
                        [&](bool is_new, u32 item) { flush_settled(is_new, item); });
    settled_arcs += is_first ? row_arcs : 0;
    first_arcs += is_known ? 0 : row_arcs;
    return is_open;
  }

  // Relaxes the heavy arcs of settled vertices, or the light ones of the near queue's; if they are
  // many, lists them in pieces.
  template <bool heavy> __device__ void expand(team team_, u32 size) {
    const int lane = threadIdx.x & 31;
    const u32* list = heavy ? memory.settled : near();
    row_piece* listed = pieces(heavy ? false : !odd);
    u32* listed_count = heavy ? &memory.counts->pieces : &sums->pieces;
    const key_t limit = min(limits.threshold, limits.end);
    // Few vertices are divided among all warps.
    const long long share = min(32LL, (size + team_.warps - 1) / team_.warps);
    for (long long first = share * team_.warp; first < size; first += share * team_.warps) {
      const bool is_item = lane < share && first + lane < size;
      const u32 number = is_item ? fresh(&list[first + lane]) : rows.below;
      const u32 row = number - rows.below;
      const long long row_begin = is_item ? rows.indptr[row] : 0;
      long long begin = row_begin, stop = is_item ? rows.indptr[row + 1] : 0;
      key_t length = 0;
      bool is_open = is_item;
      if (!heavy) {
        is_open = take(is_item, number, stop - begin, &length);
      } else if (is_item) {
        length = fresh(&memory.distance[number]);
        atomicAnd(&memory.is_settled[row / 32], ~(1u << (row & 31)));
      }
      if (is_open) {
        const long long middle = first_beyond(rows, length, limit, begin, stop);
        (heavy ? begin : stop) = middle;
      }
      const bool is_long = is_open && stop - begin > range_arcs;
      list_pieces(is_long, number, u32((begin - row_begin) / range_arcs),
                  u32((stop - row_begin + range_arcs - 1) / range_arcs), listed, listed_count);
      const u32 count = is_open && !is_long ? u32(stop - begin) : 0;
      const u32 end = sum_up_to(count);  // where this lane's arcs end among those of the warp
      const u32 total = __shfl_sync(~0u, end, 31);
      const long long offset = begin - (end - count);
      for (u32 base = 0; base < total; base += 32 * ahead) {
        bool is_arc[ahead];
        key_t from[ahead];
        long long arcs[ahead];
#pragma unroll
        for (int i = 0; i < ahead; ++i) {
          const u32 place = base + 32 * i + lane;
          u32 owner = 0;
          for (u32 step = 16; step; step /= 2) {
            if (__shfl_sync(~0u, end, owner + step - 1) <= place) owner += step;
          }
          is_arc[i] = place < total;
          from[i] = __shfl_sync(~0u, length, owner);
          arcs[i] = __shfl_sync(~0u, offset, owner) + place;
        }
        relax<heavy>(is_arc, from, arcs);
      }
    }
  }

  // Calls visit(number, begin, stop) for each piece of a row, by a warp.
  template <class Visit>
  __device__ void for_each_piece(team team_, const row_piece* listed, u32 count,
                                 Visit visit) const {
    for (long long i = team_.warp; i < count; i += team_.warps) {
      const u32 number = fresh(&listed[i].number), index = fresh(&listed[i].index);
      const long long* row = rows.indptr + (number - rows.below);
      const long long begin = row[0] + (long long)range_arcs * index;
      visit(number, begin, min(begin + range_arcs, row[1]));
    }
  }

  // Relaxes the arcs of pieces.
  template <bool heavy>
  __device__ void expand_pieces(team team_, const row_piece* listed, u32 count) {
    const int lane = threadIdx.x & 31;
    for_each_piece(team_, listed, count, [&](u32 number, long long begin, long long stop) {
      const key_t length = fresh(&memory.distance[number]);
      for (long long base = begin; base < stop; base += 32 * ahead) {
        bool is_arc[ahead];
        key_t from[ahead];
        long long arcs[ahead];
#pragma unroll
        for (int j = 0; j < ahead; ++j) {
          arcs[j] = base + 32 * j + lane;
          is_arc[j] = arcs[j] < stop;
          from[j] = length;
        }
        relax<heavy>(is_arc, from, arcs);
      }
    });
  }

  // The length to a vertex by its arc's mirror, if the head is settled and it is less than `best`.
  __device__ key_t pulled(long long arc, key_t best) const {
    const key_t length = memory.distance[rows.heads[arc]];
    return length < limits.threshold ? min(best, extended(length, weight_of(rows, arc))) : best;
  }

  // Whether an arc, and so all that follow in its row, leads to `best` or farther.
  __device__ bool is_too_heavy(long long arc, key_t best) const {
    return extended(0, weight_of(rows, arc)) >= best;
  }

  // The same as `pulled` for the arcs from `begin` on, by a warp.
  __device__ key_t pulled_by_warp(long long begin, long long stop, key_t best) const {
    const int lane = threadIdx.x & 31;
    for (long long first = begin; first < stop && !is_too_heavy(first, best); first += 32) {
      if (first + lane < stop && !is_too_heavy(first + lane, best))
        best = pulled(first + lane, best);
      for (int step = 16; step; step /= 2) best = min(best, __shfl_xor_sync(~0u, best, step));
    }
    return best;
  }

  // Lists every vertex that is not settled by the best length that its row has, but for long rows,
  // which are listed in pieces.
  __device__ void pull(team team_) {
    const int lane = threadIdx.x & 31;
    for (long long base = 32 * team_.warp; base < rows.owned; base += 32 * team_.warps) {
      const u32 row = u32(base + lane), number = rows.below + row;
      long long arc = 0, stop = 0;
      const key_t known = row < rows.owned ? fresh(&memory.distance[number]) : 0;
      const bool is_open = row < rows.owned && known >= limits.threshold;
      if (is_open) arc = rows.indptr[row], stop = rows.indptr[row + 1];
      const bool is_long = stop - arc > range_arcs;
      list_pieces(is_long, number, 0, u32((stop - arc + range_arcs - 1) / range_arcs),
                  pieces(false), &memory.counts->pieces);
      if (is_long) stop = arc;
      key_t best = known;
      for (int i = 0; i < lane_arcs && arc < stop; ++i, ++arc) {
        if (is_too_heavy(arc, best)) {
          stop = arc;
        } else {
          best = pulled(arc, best);
        }
      }
      for (u32 left = __ballot_sync(~0u, arc < stop); left; left &= left - 1) {
        const int owner = __ffs(left) - 1;
        const key_t found =
            pulled_by_warp(__shfl_sync(~0u, arc, owner), __shfl_sync(~0u, stop, owner),
                           __shfl_sync(~0u, best, owner));
        if (lane == owner) best = found;
      }
      const bool is_kept = is_open && best < limits.end;
      if (is_kept && best < known) memory.distance[number] = best;
      list(is_kept, number, best);
    }
  }

  __device__ void pull_pieces(team team_, u32 count) {
    for_each_piece(team_, pieces(false), count, [&](u32 number, long long begin, long long stop) {
      const key_t known = fresh(&memory.distance[number]);
      const key_t best = pulled_by_warp(begin, stop, known);
      update((threadIdx.x & 31) == 0 && best < known, number, best);
    });
  }
};

}  // namespace
