// The memory of a rank's search, and what is done with an improved length;
// partitioned_delta_stepping.cu explains them.
#pragma once

#include "partitioned_lists.cuh"

struct search_limits {
  key_t threshold;
  key_t cutoff;                 // the greatest length that is kept
  const unsigned* cancel_flag;  // not 0: the search ends early; null: it cannot be cancelled
};

// What one block hands on to the others.
struct search_state {
  queue_sums found;
  int odd;
};

// The lengths of lists.
struct list_counts {
  u64 far;
  u64 to_send;
  queue_sums settled;
};

// `pieces`, below: 2 * num_arcs / piece_arcs + 1.
struct search_memory {
  long long locals;           // own vertices and ghosts
  key_t* distance;            // [locals]
  key_t* expanded;            // [owned]: the length at which a row's light arcs were relaxed last
  u32* is_near;               // [2][words] bits
  u32* is_far;                // [words] bits
  u32* near;                  // [2][owned]
  row_piece* near_pieces;     // [2][pieces]
  u32* settled;               // [owned]
  row_piece* settled_pieces;  // [pieces]
  u32* far;                   // [locals]
  u32* to_send;               // [ghosts]
  list_counts* counts;
  queue_sums* sums;  // [3]
  search_state* state;
  u64* arrived;  // 0; of the barrier
  int* stopped;  // 0; 1: cancelled
};

namespace {

// The lists as a warp sees them. odd: which of the two near queues is read; the other one is
// appended to, and `sums` are that one's.
struct queues {
  const rank_rows& rows;
  const search_memory& memory;
  const search_limits& limits;
  queue_sums* sums;
  bool odd;
  buffer near_buffer, far_buffer, send_buffer;
  u64 arcs;

  __device__ queues(const rank_rows& rows, const search_memory& memory, const search_limits& limits,
                    queue_sums* sums, bool odd, u32* slots)
      : rows(rows), memory(memory), limits(limits), sums(sums), odd(odd), arcs(0) {
    u32* own_slots = slots + 3 * buffer_slots * (threadIdx.x / 32);
    near_buffer = {own_slots, 0};
    far_buffer = {own_slots + buffer_slots, 0};
    send_buffer = {own_slots + 2 * buffer_slots, 0};
  }

  __device__ const u32* near() const { return memory.near + (odd ? rows.owned : 0); }
  __device__ const row_piece* near_pieces() const {
    return memory.near_pieces + (odd ? max_pieces() : 0);
  }
  __device__ long long max_pieces() const { return 2 * rows.num_arcs / piece_arcs + 1; }
  __device__ u32* near_bits(bool second) const {
    return memory.is_near + (second ? (memory.locals + 31) / 32 : 0);
  }
  __device__ bool is_own(u32 number) const { return number - rows.below < rows.owned; }

  __device__ void flush_near(bool is_item, u32 number) {
    u32* list = memory.near + (odd ? 0 : rows.owned);
    row_piece* pieces = memory.near_pieces + (odd ? 0 : max_pieces());
    arcs += append_rows(rows, is_item, number, list, pieces, sums);
  }
  __device__ void flush_far(bool is_item, u32 number) const {
    const u64 place = take_places(&memory.counts->far, is_item);
    if (is_item) memory.far[place] = number;
  }
  __device__ void flush_send(bool is_item, u32 number) const {
    const u64 place = take_places(&memory.counts->to_send, is_item);
    if (is_item) memory.to_send[place] = number;
  }

  // After the last push: the lists are complete.
  __device__ void finish() {
    near_buffer.empty([&](bool is_item, u32 number) { flush_near(is_item, number); });
    far_buffer.empty([&](bool is_item, u32 number) { flush_far(is_item, number); });
    send_buffer.empty([&](bool is_item, u32 number) { flush_send(is_item, number); });
    for (int step = 16; step; step /= 2) arcs += __shfl_down_sync(~0u, arcs, step);
    if ((threadIdx.x & 31) == 0 && arcs) atomicAdd(&sums->arcs, arcs);
    arcs = 0;
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
    bool is_better =
        is_length && length <= limits.cutoff && length < fresh(&memory.distance[number]);
    improve(is_better, number, length);
  }

  // Takes a length that has been better than the one known.
  __device__ void improve(bool is_better, u32 number, key_t length) {
    if (!__any_sync(~0u, is_better)) return;
    if (is_better) {
      const auto known = atomicMin((unsigned_key*)&memory.distance[number], unsigned_key(length));
      is_better = unsigned_key(length) < known;
    }
    const bool is_near = is_better && length < limits.threshold;
    bool is_new_far = false;
    if (is_better && !is_near) {
      u32* word = &memory.is_far[number / 32];
      const u32 bit = 1u << (number & 31);
      is_new_far = !(fresh(word) & bit) && !(atomicOr(word, bit) & bit);
    }
    far_buffer.push(is_new_far, number, [&](bool is_item, u32 item) { flush_far(is_item, item); });
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
      const weight_t weight = is_arc[i] && rows.weights ? rows.weights[arcs[i]] : weight_t(1);
      candidates[i] = is_arc[i] ? extended(lengths[i], weight) : 0;
      is_better[i] = is_arc[i] && (candidates[i] < limits.threshold) != heavy &&
                     candidates[i] <= limits.cutoff;
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
  // be relaxed: not if they were at the same length. A vertex that is taken for the first time is
  // settled when the threshold is exhausted.
  __device__ bool take(bool is_item, u32 number, key_t* length) const {
    bool is_first = false, is_open = false;
    *length = 0;
    if (is_item) {
      atomicAnd(near_bits(odd) + number / 32, ~(1u << (number & 31)));
      *length = fresh(&memory.distance[number]);
      key_t* expanded = &memory.expanded[number - rows.below];
      is_first = *expanded == no_key;
      is_open = *expanded != *length;
      *expanded = *length;
    }
    queue_sums* settled = &memory.counts->settled;
    u64 row_arcs =
        append_rows(rows, is_first, number, memory.settled, memory.settled_pieces, settled);
    for (int step = 16; step; step /= 2) row_arcs += __shfl_down_sync(~0u, row_arcs, step);
    if ((threadIdx.x & 31) == 0 && row_arcs) atomicAdd(&settled->arcs, row_arcs);
    return is_open;
  }

  // Relaxes the arcs of listed vertices, but for rows in pieces. heavy: of settled vertices, else
  // of the near queue's.
  template <bool heavy> __device__ void expand_short(team team_, u32 size) {
    const int lane = threadIdx.x & 31;
    const u32* list = heavy ? memory.settled : near();
    // Few vertices are divided among all warps.
    const long long share = min(32LL, (size + team_.warps - 1) / team_.warps);
    for (long long first = share * team_.warp; first < size; first += share * team_.warps) {
      const bool is_item = lane < share && first + lane < size;
      const u32 number = is_item ? fresh(&list[first + lane]) : 0;
      u32 count = 0;
      long long begin = 0;
      key_t length = 0;
      bool is_open = is_item;
      if (heavy) {
        if (is_item) length = fresh(&memory.distance[number]);
      } else {
        is_open = take(is_item, number, &length);
      }
      if (is_open) {
        const long long* row = rows.indptr + (number - rows.below);
        begin = row[0];
        if (row[1] - begin <= piece_arcs) count = u32(row[1] - begin);
      }
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

  // Relaxes the arcs of pieces, each by a warp.
  template <bool heavy> __device__ void expand_pieces(team team_, u32 count) {
    const int lane = threadIdx.x & 31;
    const row_piece* pieces = heavy ? memory.settled_pieces : near_pieces();
    for (long long i = team_.warp; i < count; i += team_.warps) {
      const u32 number = fresh(&pieces[i].number), index = fresh(&pieces[i].index);
      const long long* row = rows.indptr + (number - rows.below);
      const long long begin = row[0] + (long long)piece_arcs * index;
      const long long stop = min(begin + piece_arcs, row[1]);
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
    }
  }
};

}  // namespace
