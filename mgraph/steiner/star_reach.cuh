// STAR's shortest-path search from both partitions: Dijkstra's algorithm by buckets of distances.
//
// A bucket is a range of distances. A side (a partition) fills the bucket with its vertices of that
// range, from its far list; then the arcs of the bucket's vertices are relaxed until no more
// vertices come into it, whereupon the side's radius is the bucket's end. Vertices beyond the
// bucket go to the far list, at most once each. The side with fewer vertices in its far list goes
// on, or both where they are about as many. The search is over when the radii add up to the length
// of the best path.
//
// A vertex may stand in a bucket several times. An entry counts only while its distance is still
// that of the vertex, so that a distance is expanded once. What does not fit into a bucket goes to
// the far list, and the bucket is filled again.
//
// Both sides may label a vertex at the same time (relax): each lowers its own distance, executes a
// sequentially consistent fence, and reads the distance of the other side. Of two such threads at
// least one reads what the other wrote, so that no meeting of the two sides is missed.
#pragma once

#include <mgraph/clock.cuh>
#include <mgraph/stop_watch.cuh>

#include "star_state.cuh"

namespace mgraph {

constexpr float both_sides_within = 4;  // a side is active up to this many times the smaller work

struct bidirectional_search : search_state {
  stop_watch watch;  // of each block's first thread

  // Queue `count` vertices per lane, in the bucket or the far list as their distances say. is_new:
  // those that got their first label. By all lanes of a warp.
  template <int count>
  __device__ void put(const bool (&valid)[count], const int (&v)[count], const key_t (&key)[count],
                      const bool (&is_new)[count], int side) {
    const int lane = threadIdx.x & 31, bucket_written = 1 - status.bucket_read;
    const key_t bucket_end = status.bucket_end[side];
    const key_t max_rest = saturating_difference(status.snapshot.best, status.radius[1 - side]);
    const u32 far_flag = is_far_flag(side);
    bool in_bucket[count], is_far[count];
    arc_range arcs[count];
    key_t min_far = no_key, limit[count];
    u32 flags[count], pieces = 0, counts = 0;
    // What is loaded is used as late as possible.
#pragma unroll
    for (int i = 0; i < count; ++i) {
      in_bucket[i] = valid[i] && key[i] < bucket_end;
      is_far[i] = valid[i] && !in_bucket[i];
      limit[i] = saturating_difference(max_rest, key[i]);
      if (is_far[i]) min_far = min(min_far, key[i]);
      flags[i] = is_far[i] ? atomicOr(&memory.labels[v[i]].flags, far_flag) : 0;
    }
    load_rows(in_bucket, v, limit, arcs);
#pragma unroll
    for (int i = 0; i < count; ++i) pieces += arc_queue::pieces(arcs[i].count, graph.tile);
    const u32 piece_sum = prefix_sum(pieces);
    const u32 all_pieces = __shfl_sync(all_lanes, piece_sum, 31);
    u32 place = 0;
    if (lane == 0 && all_pieces) place = atomicAdd(&counters->bucket[bucket_written], all_pieces);
#pragma unroll
    for (int i = 0; i < count; ++i) {  // counts: new in the far list; above bit 16, touched
      is_far[i] = is_far[i] && !(flags[i] & far_flag);
      counts += is_far[i] + (is_new[i] << 16);
    }
    // Places in the far and touched lists of both sides: lanes 1 to 4 reserve those of one list
    // each.
    const u32 sums = prefix_sum(counts << 8 * side), all_sums = __shfl_sync(all_lanes, sums, 31);
    if (lane > 0 && lane < 5) {
      const u32 amount = all_sums >> 8 * (lane - 1) & 0xFF;
      u32* const list = lane <= 2 ? &counters->far[lane - 1][status.far_written[lane - 1]]
                                  : &counters->touched[lane - 3];
      if (amount) place = atomicAdd(list, amount);
    }
    u32 bucket_place = __shfl_sync(all_lanes, place, 0) + piece_sum - pieces;
    u32 far_place =
        __shfl_sync(all_lanes, place, 1 + side) + (sums >> 8 * side & 0xFF) - (counts & 0xFFFF);
    u32 touched_place =
        __shfl_sync(all_lanes, place, 3 + side) + (sums >> 16 + 8 * side & 0xFF) - (counts >> 16);
    const arc_queue queue = bucket_queue(bucket_written);
    int* const far = far_list(side, status.far_written[side]);
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (is_far[i]) far[far_place++] = v[i];
      if (is_new[i]) memory.touched[side * n + touched_place++] = v[i];
      if (!__any_sync(all_lanes, in_bucket[i])) continue;
      queue.write(in_bucket[i], bucket_place, v[i], side == below, key[i], arcs[i]);
      bucket_place += arc_queue::pieces(arcs[i].count, graph.tile);
      if (in_bucket[i] && bucket_place > memory.bucket_capacity) {
        put_overflow(v[i], side);
        min_far = min(min_far, key[i]);
      }
    }
    for (int s = 0; s < 2; ++s) {
      const key_t nearest = warp_min(side == s ? min_far : no_key);
      if (lane == 0 && nearest < no_key) {
        atomicMin(&counters->min_far[s][status.far_written[s]], nearest);
      }
    }
  }

  // The flag of vertices that are in a side's far list.
  __device__ static u32 is_far_flag(int side) {
    return side == above ? is_far_above : is_far_below;
  }

  // Put a vertex that does not fit into the bucket into the far list.
  __device__ void put_overflow(int v, int side) const {
    atomicAdd(&counters->overflows, 1u);
    if (!(atomicOr(&memory.labels[v].flags, is_far_flag(side)) & is_far_flag(side))) {
      const int half = status.far_written[side];
      far_list(side, half)[atomicAdd(&counters->far[side][half], 1u)] = v;
    }
  }

  // Decide the next phase. By one thread of each block, alike in all blocks.
  __device__ void choose_phase() {
    if (status.current == phase::fill) {
      status.bucket_read = 1 - status.bucket_read;
      resize_buckets();
    } else if (status.current == phase::expand) {
      status.bucket_read = 1 - status.bucket_read;
    }
    if (status.snapshot.bucket[status.bucket_read]) {
      status.current = phase::expand;
      return;
    }
    for (int side = 0; side < 2; ++side) {  // the bucket is empty, unless some of it overflowed
      if (status.is_active[side] && status.overflows == status.snapshot.overflows) {
        status.radius[side] = status.bucket_end[side];
      }
    }
    status.overflows = status.snapshot.overflows;
    status.current = is_finished() ? phase::done : phase::fill;
    if (status.current == phase::fill) choose_sides();
  }

  __device__ bool is_finished() const {
    const search_counters& seen = status.snapshot;
    if (seen.abandoned || added(status.radius[0], status.radius[1]) >= seen.best) return true;
    for (int side = 0; side < 2; ++side) {
      if (status.has_started[side] && seen.far[side][status.far_written[side]] == 0) return true;
    }
    return false;
  }

  __device__ void choose_sides() {
    const search_counters& seen = status.snapshot;
    float work[2];
    for (int side = 0; side < 2; ++side) {
      work[side] = status.has_started[side]
                       ? graph.mean_degree * seen.far[side][status.far_written[side]]
                       : float(seen.partition_arcs[side]);
    }
    for (int side = 0; side < 2; ++side) {
      status.is_active[side] = work[side] <= both_sides_within * min(work[0], work[1]);
      if (!status.is_active[side]) continue;
      const key_t nearest =
          status.has_started[side] ? seen.min_far[side][status.far_written[side]] : 0;
      const key_t begin = max(status.radius[side], nearest);
      status.bucket_end[side] = min(added(begin, status.bucket_width[side]), seen.best);
      status.far_written[side] = 1 - status.far_written[side];
    }
  }

  // How many pieces a bucket should have: enough to keep the group busy, but in a wide bucket many
  // vertices get distances that are improved later.
  __device__ u32 target_pieces() const { return min(max(blocks.threads() / 8, 1024u), 4096u); }

  // Widen the buckets where the last one held few vertices, and hardly more than the one before: on
  // graphs of small diameter they soon hold too many.
  __device__ void resize_buckets() {
    const u32 pieces = status.snapshot.bucket[status.bucket_read];
    for (int side = 0; side < 2; ++side) {
      if (!status.is_active[side]) continue;
      key_t& width = status.bucket_width[side];
      if (4 * pieces < target_pieces() && pieces <= 2 * status.pieces[side]) {
        width = min(added(width, width), status.snapshot.best);
      } else if (pieces > target_pieces()) {
        width = max(halved(width), min_bucket);
      }
      status.pieces[side] = max(pieces, 1u);
      status.has_started[side] = true;
    }
  }

  // Fill the next bucket of a side, from its partition or its far list.
  __device__ void fill(int side) {
    const int half = 1 - status.far_written[side];
    const bool from_partition = !status.has_started[side];
    const u32 count = from_partition ? status.seeds : status.snapshot.far[side][half];
    if (blocks.is_leader()) {  // all blocks have the counters of the half that is read already
      counters->far[side][half] = 0;
      counters->min_far[side][half] = no_key;
    }
    for (u32 base = 0; base < count; base += blocks.threads()) {
      const u32 i = base + blocks.thread();
      bool valid[1] = {i < count};
      int v[1] = {0};
      key_t key[1] = {0};
      if (valid[0] && from_partition) {
        v[0] = fresh(&memory.touched[i]);
        valid[0] = load(&memory.labels[v[0]]).of(side) == 0;
      } else if (valid[0]) {
        v[0] = fresh(&far_list(side, half)[i]);
        atomicAnd(&memory.labels[v[0]].flags, ~is_far_flag(side));
        key[0] = load(&memory.labels[v[0]]).of(side);
        // Nearer vertices came into an earlier bucket by another arc.
        valid[0] = key[0] >= status.radius[side] &&
                   added(key[0], status.radius[1 - side]) < status.snapshot.best;
      }
      if (__any_sync(all_lanes, valid[0])) put(valid, v, key, {false}, side);
    }
  }

  // Relax arcs to heads v. both: whether the other side's labels may change meanwhile.
  __device__ void relax(bool (&valid)[arcs_per_lane], const int (&v)[arcs_per_lane],
                        const arc_length_t (&length)[arcs_per_lane],
                        const distances (&head_label)[arcs_per_lane], int side, key_t tail_key,
                        bool both) {
    key_t key[arcs_per_lane], old[arcs_per_lane], rest[arcs_per_lane];
    bool is_new[arcs_per_lane], any = false;
    const key_t best = status.snapshot.best, other_radius = status.radius[1 - side];
#pragma unroll
    for (int i = 0; i < arcs_per_lane; ++i) {
      key[i] = extended(tail_key, length[i]);
      rest[i] = head_label[i].of(1 - side);
      valid[i] = valid[i] && key[i] < head_label[i].of(side);
      if (valid[i] && key[i] < status.bucket_end[side]) prefetch_row(v[i]);
      old[i] = valid[i] ? atomicMin(&memory.labels[v[i]].distance[side], key[i]) : 0;
    }
#pragma unroll
    for (int i = 0; i < arcs_per_lane; ++i) {
      valid[i] = valid[i] && key[i] < old[i];
      any = any || valid[i];
    }
    if (!__any_sync(all_lanes, any)) return;
    if (both) {
      blocks.fence_seq_cst();
#pragma unroll
      for (int i = 0; i < arcs_per_lane; ++i) {
        if (valid[i]) rest[i] = load(&memory.labels[v[i]]).of(1 - side);
      }
    }
#pragma unroll
    for (int i = 0; i < arcs_per_lane; ++i) {
      is_new[i] = valid[i] && old[i] == no_key && rest[i] != 0;  // partitions are touched already
      if (valid[i] && rest[i] != no_key) {
        const key_t total = added(key[i], rest[i]);
        if (total < best) atomicMin(&counters->best, total);
      }
      // No shortest path leads on from the other partition, or from a vertex that is too far.
      valid[i] = valid[i] && rest[i] != 0 && added(key[i], other_radius) < best;
    }
    put(valid, v, key, is_new, side);
  }

  // Whether an earlier attempt has found a replacement. The winner only falls during a round, so an
  // old value may be read: then the search goes on a little longer.
  __device__ bool is_overtaken(const u64* winner) const {
    return u32(fresh(winner) >> 32) < status.attempt.order;
  }

  // Label vertices until the length of a shortest path is known, or no path is shorter than the
  // bound. winner: of the team; deadline: in nanoseconds.
  __device__ void search(const u64* winner, u64 deadline) {
    if (threadIdx.x == 0) status.current = phase::done;
    sync_and_decide([&]() {
      status.seeds = status.snapshot.touched[above];
      choose_phase();
    });
    while (status.current != phase::done) {
      if (blocks.is_leader()) {
        counters->abandoned = is_overtaken(winner) || nanoseconds() > deadline || watch.stopped();
      }
      if (status.current == phase::fill) {
        for (int side = 0; side < 2; ++side) {
          if (status.is_active[side]) fill(side);
        }
      } else {
        const bool both = status.is_active[0] && status.is_active[1];
        const key_t longest = min(status.snapshot.best, status.attempt.bound - 1);
        // An arc whose head would lie farther than `longest` less the other side's radius is
        // skipped: on a shortest path that contains the arc, its head lies within that radius of
        // the other side, which has already relaxed the arc from there.
        const distances limits = {{saturating_difference(longest, status.radius[below]),
                                   saturating_difference(longest, status.radius[above])}};
        for_each_arc(limits,
                     [&](bool (&valid)[arcs_per_lane], const int (&v)[arcs_per_lane],
                         const arc_length_t(&length)[arcs_per_lane],
                         const distances(&head_label)[arcs_per_lane], int side, key_t tail_key) {
                       relax(valid, v, length, head_label, side, tail_key, both);
                     });
      }
      sync_and_decide([&]() { choose_phase(); });
    }
  }
};

}  // namespace mgraph
