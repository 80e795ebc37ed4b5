// STAR's shortest-path search from two partitions: buckets of distances, from the side where fewer
// vertices wait, or from both.
#pragma once

#include <mgraph/clock.cuh>
#include "star_state.cuh"
#include <mgraph/stop_watch.cuh>

namespace mgraph {

constexpr float both_within = 4;  // both sides go on where no more than so many times as many wait

struct star_reach : star_state {
  float mean_degree;
  stop_watch watch;  // of each block's first thread

  // Put vertices, some a lane, near or far as their distances are. reached_now: those that are
  // touched for the first time. By all lanes of a warp.
  template <int some>
  __device__ void put(const bool (&mine)[some], const int (&v)[some], const key_t (&key)[some],
                      const bool (&reached_now)[some], int side) {
    const int lane = threadIdx.x & 31, near_written = 1 - now.near_read;
    const key_t high = now.high[side], room = less(now.seen.best, now.radius[1 - side]);
    const u32 bit = waits_bit(side);
    bool close[some], waits[some];
    arc_range arcs[some];
    key_t least = no_key, limit[some];
    u32 flags[some], pieces = 0, counts = 0;
    // What is asked of memory is waited for as late as can be.
#pragma unroll
    for (int i = 0; i < some; ++i) {
      close[i] = mine[i] && key[i] < high;
      waits[i] = mine[i] && !close[i];
      limit[i] = less(room, key[i]);
      if (waits[i]) least = min(least, key[i]);
      flags[i] = waits[i] ? atomicOr(&labels[v[i]].flags, bit) : 0;
    }
    rows_of(close, v, limit, arcs);
#pragma unroll
    for (int i = 0; i < some; ++i) pieces += arc_queue::pieces(arcs[i].count, tile);
    const u32 near_sum = prefix_sum(pieces), all_near = __shfl_sync(all_lanes, near_sum, 31);
    u32 place = 0;
    if (lane == 0 && all_near) place = atomicAdd(&told->near[near_written], all_near);
#pragma unroll
    for (int i = 0; i < some; ++i) {  // counts: of those that begin to wait, and above bit 16 touched
      waits[i] = waits[i] && !(flags[i] & bit);
      counts += waits[i] + (reached_now[i] << 16);
    }
    // Places in the lists of either side, a lane a list.
    const u32 sums = prefix_sum(counts << 8 * side), all_sums = __shfl_sync(all_lanes, sums, 31);
    if (lane > 0 && lane < 5) {
      const u32 amount = all_sums >> 8 * (lane - 1) & 0xFF;
      u32* const list = lane <= 2 ? &told->far[lane - 1][now.written[lane - 1]]
                                  : &told->touched[lane - 3];
      if (amount) place = atomicAdd(list, amount);
    }
    u32 near_place = __shfl_sync(all_lanes, place, 0) + near_sum - pieces;
    u32 far_place = __shfl_sync(all_lanes, place, 1 + side) + (sums >> 8 * side & 0xFF) -
                    (counts & 0xFFFF);
    u32 touched_place = __shfl_sync(all_lanes, place, 3 + side) + (sums >> 16 + 8 * side & 0xFF) -
                        (counts >> 16);
    const arc_queue queue = near(near_written);
    int* const waiting = far_list(side, now.written[side]);
#pragma unroll
    for (int i = 0; i < some; ++i) {
      if (waits[i]) waiting[far_place++] = v[i];
      if (reached_now[i]) touched[side * n + touched_place++] = v[i];
      if (!__any_sync(all_lanes, close[i])) continue;
      queue.write(close[i], near_place, v[i], side == below, key[i], arcs[i]);
      near_place += arc_queue::pieces(arcs[i].count, tile);
      if (close[i] && near_place > near_capacity) {
        put_off(v[i], side);
        least = min(least, key[i]);
      }
    }
    for (int of = 0; of < 2; ++of) {
      const key_t nearest = warp_min(side == of ? least : no_key);
      if (lane == 0 && nearest < no_key) atomicMin(&told->least_far[of][now.written[of]], nearest);
    }
  }

  // Set where a vertex is among those that wait far.
  __device__ static u32 waits_bit(int side) { return side == above ? waits_above : waits_below; }

  // What does not fit into a bucket waits far.
  __device__ void put_off(int v, int side) const {
    atomicAdd(&told->full, 1u);
    if (!(atomicOr(&labels[v].flags, waits_bit(side)) & waits_bit(side))) {
      const int half = now.written[side];
      far_list(side, half)[atomicAdd(&told->far[side][half], 1u)] = v;
    }
  }

  // After each step: what is next. By a thread of each block, alike.
  __device__ void decide() {
    if (now.next == step::fill) {
      now.near_read = 1 - now.near_read;
      resize_buckets();
    } else if (now.next == step::expand) {
      now.near_read = 1 - now.near_read;
    }
    if (now.seen.near[now.near_read]) {
      now.next = step::expand;
      return;
    }
    for (int side = 0; side < 2; ++side) {  // the bucket is done, unless some of it was put off
      if (now.goes_on[side] && now.full == now.seen.full) now.radius[side] = now.high[side];
    }
    now.full = now.seen.full;
    now.next = finished() ? step::over : step::fill;
    if (now.next == step::fill) choose_sides();
  }

  __device__ bool finished() const {
    if (now.seen.abandoned || added(now.radius[0], now.radius[1]) >= now.seen.best) return true;
    for (int side = 0; side < 2; ++side) {
      if (now.started[side] && now.seen.far[side][now.written[side]] == 0) return true;
    }
    return false;
  }

  __device__ void choose_sides() {
    float waiting[2];
    for (int side = 0; side < 2; ++side) {
      waiting[side] = now.started[side] ? mean_degree * now.seen.far[side][now.written[side]]
                                        : float(now.seen.arcs[side]);
    }
    for (int side = 0; side < 2; ++side) {
      now.goes_on[side] = waiting[side] <= both_within * min(waiting[0], waiting[1]);
      if (!now.goes_on[side]) continue;
      const key_t least = now.started[side] ? now.seen.least_far[side][now.written[side]] : 0;
      const key_t low = max(now.radius[side], least);
      now.high[side] = min(added(low, now.bucket[side]), now.seen.best);
      now.written[side] = 1 - now.written[side];
    }
  }

  // How many pieces a bucket should have: enough to keep a group busy, but in a wide one many vertices
  // are reached by long ways first.
  __device__ u32 wanted() const { return min(max(blocks.threads() / 8, 1024u), 4096u); }

  // Larger ranges where the last one held few vertices, and hardly more than the one before: on graphs
  // of small diameter they soon are too many.
  __device__ void resize_buckets() {
    const u32 count = now.seen.near[now.near_read];
    for (int side = 0; side < 2; ++side) {
      if (!now.goes_on[side]) continue;
      key_t& bucket = now.bucket[side];
      if (4 * count < wanted() && count <= 2 * now.filled[side]) {
        bucket = min(added(bucket, bucket), now.seen.best);
      } else if (count > wanted()) {
        bucket = max(halved(bucket), this->bucket);
      }
      now.filled[side] = max(count, 1u);
      now.started[side] = true;
    }
  }

  // The next bucket of a side, from its seeds or its far list.
  __device__ void fill(int side) {
    const int half = 1 - now.written[side];
    const bool seeds = !now.started[side];
    const u32 count = seeds ? now.seeds : now.seen.far[side][half];
    if (blocks.leads()) {  // all know already what is told of the half that is read
      told->far[side][half] = 0;
      told->least_far[side][half] = no_key;
    }
    for (u32 base = 0; base < count; base += blocks.threads()) {
      const u32 i = base + blocks.thread();
      bool mine[1] = {i < count};
      int v[1] = {0};
      key_t key[1] = {0};
      if (mine[0] && seeds) {
        v[0] = fresh(&touched[i]);
        mine[0] = load(&labels[v[0]]).of(side) == 0;
      } else if (mine[0]) {
        v[0] = fresh(&far_list(side, half)[i]);
        atomicAnd(&labels[v[0]].flags, ~waits_bit(side));
        key[0] = load(&labels[v[0]]).of(side);
        // Nearer ones came into an earlier bucket by another arc.
        mine[0] = key[0] >= now.radius[side] && added(key[0], now.radius[1 - side]) < now.seen.best;
      }
      if (__any_sync(all_lanes, mine[0])) put(mine, v, key, {false}, side);
    }
  }

  // Relax arcs. both: whether the other side's labels may change meanwhile. An arc that leads farther
  // than the best path, less the other side's radius, is left to the other side: a shortest path that
  // holds it comes to its head at less than that radius, and that side has looked at it already.
  __device__ void relax(bool (&mine)[steps], const int (&v)[steps], const arc_length_t (&its_length)[steps],
                        const distances (&there)[steps], int side, key_t from, bool both) {
    key_t key[steps], old[steps], rest[steps];
    bool reached_now[steps], any = false;
    const key_t best = now.seen.best, other_radius = now.radius[1 - side];
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      key[i] = extended(from, its_length[i]);
      rest[i] = there[i].of(1 - side);
      mine[i] = mine[i] && key[i] < there[i].of(side);
      if (mine[i] && key[i] < now.high[side]) prefetch_row(v[i]);
      old[i] = mine[i] ? atomicMin(&labels[v[i]].distance[side], key[i]) : 0;
    }
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      mine[i] = mine[i] && key[i] < old[i];
      any = any || mine[i];
    }
    if (!__any_sync(all_lanes, any)) return;
    if (both) {  // of two sides that come at once, one sees the other
      blocks.fence_both();
#pragma unroll
      for (int i = 0; i < steps; ++i) {
        if (mine[i]) rest[i] = load(&labels[v[i]]).of(1 - side);
      }
    }
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      reached_now[i] = mine[i] && old[i] == no_key && rest[i] != 0;  // seeds are known already
      if (mine[i] && rest[i] != no_key) {
        const key_t total = added(key[i], rest[i]);
        if (total < best) atomicMin(&told->best, total);
      }
      // Beyond the other partition, or too far, no shortest path goes on.
      mine[i] = mine[i] && rest[i] != 0 && added(key[i], other_radius) < best;
    }
    put(mine, v, key, reached_now, side);
  }

  // Whether an earlier path has a replacement.
  __device__ bool out_of_race(const u64* winner) const {
    return u32(fresh(winner) >> 32) < now.its.order;
  }

  // Label what lies within the radii, until the length of a shortest path is known.
  __device__ void reach(const u64* winner, u64 deadline) {
    if (threadIdx.x == 0) now.next = step::over;
    look([&]() {
      now.seeds = now.seen.touched[above];
      decide();
    });
    while (now.next != step::over) {
      if (blocks.leads()) {
        told->abandoned = out_of_race(winner) || nanoseconds() > deadline || watch.stopped();
      }
      if (now.next == step::fill) {
        for (int side = 0; side < 2; ++side) {
          if (now.goes_on[side]) fill(side);
        }
      } else {
        const bool both = now.goes_on[0] && now.goes_on[1];
        const key_t most = min(now.seen.best, now.its.bound - 1);
        const distances limits = {{less(most, now.radius[below]), less(most, now.radius[above])}};
        for_each_arc(limits, [&](bool (&mine)[steps], const int (&v)[steps],
                                const arc_length_t (&its_length)[steps], const distances (&there)[steps],
                                int side, key_t key) {
          relax(mine, v, its_length, there, side, key, both);
        });
      }
      look([&]() { decide(); });
    }
  }
};

}  // namespace mgraph
