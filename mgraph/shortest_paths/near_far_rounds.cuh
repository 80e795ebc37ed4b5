// The barrier of a near-far search: what blocks publish at the end of a round, and what each block
// decides from it for the next one. A block's last warp, the control warp, publishes and decides.
// The other warps wait for the notes as well, add up how much is queued, and look up their first
// entries (count_queued, look_ahead). Every block's control warp takes the same decision from the
// same sums, so that decisions need not be handed over.
//
// A block hands over its lists, its share of the sums, and its note, in this order:
//
//   all threads    write lists in device memory and counts in shared memory; __syncthreads
//   control warp   adds its counts to the sums (atomics); __syncwarp; fence; writes its note
//   other blocks   spin on the note until it carries the round's number; fence; read sums and lists
//
// So whoever has seen the notes of a round sees all that was published in it: the first fence
// orders the lists and sums before the note, the second orders the reads after it, and both
// barriers (__syncthreads, __syncwarp) extend that to the block's other threads. A note is one
// word, so that its counts and its round arrive at once. Sums and lists are read past the
// first-level cache.
//
// Nothing is overwritten too early. Notes have two sides and lists two, in turn: a block writes
// round r + 2's on the side of round r only after it has seen all notes of round r + 1, and each
// block writes that note after it has read round r's notes and lists. The sums have three: those of
// round r + 1 are cleared by the first block before it publishes round r, when all blocks have read
// their former content, of round r - 2, since all have published round r - 1.
#pragma once

#include "near_far_advance.cuh"

namespace mgraph {

constexpr u32 control_warp = warps - 1;

struct block_rounds : block_advance {
  const search_request& request;
  const search_options& options;
  const search_output& output;
  int block, blocks;         // the number of this block in its group, and of the group's blocks
  int group;                 // of blocks that do a search
  search_memory all_memory;  // with the lists of all blocks
  u64 *sums, *notes;         // the group's: sums of three rounds, notes of two
  bool is_traced;
  u32 lane, warp;
  u32 round;  // counted from the launch on
  int side;   // of the lists that are read: they were written a round before

  // Where the lists of a block of this group are, among those of all blocks.
  __device__ size_t list_index(int side, int of_block) const {
    return size_t(side) * gridDim.x + group * blocks + of_block;
  }

  // From now on append to the lists of this side.
  __device__ void write_side(int side) {
    const size_t near = list_index(side, block) * memory.near_capacity;
    const size_t piece = list_index(side, block) * memory.piece_capacity;
    const entry_list& near_lists = all_memory.near;
    const piece_list& piece_lists = all_memory.pieces;
    memory.near = {near_lists.vertex + near, near_lists.key + near};
    memory.pieces = {piece_lists.vertex + piece, piece_lists.key + piece,
                     piece_lists.number + piece};
  }

  // Add this block's counts to the sums, and publish its note. By the control warp.
  __device__ void publish() {
    u64* const round_sums = sums + round % 3 * columns;
    const int list = lane < partitions ? state.list_of_slot[lane] : 0;
    // The heap's entries count as the last partition's.
    const bool is_last =
        lane < partitions && int(lane) == state.control.slots[state.control.live - 1];
    const u32 size =
        (lane < partitions ? state.list_size[list] : 0) + (is_last ? state.heap_size : 0);
    const u32 far_size = __reduce_add_sync(all_lanes, size);
    const u32 count = lane < counters ? state.count[lane] : 0;
    if (count) atomicAdd(&round_sums[lane], u64(count));
    if (size) {
      atomicAdd(&round_sums[far_sum + lane], u64(size));
      const key_t min_far =
          is_last ? min(state.list_min[list], state.heap_min) : state.list_min[list];
      atomicMin((long long*)&round_sums[min_far_column], (long long)min_far);
    }
    if (lane == 0) {
      atomicMin((long long*)&round_sums[min_near_column], (long long)state.min_near);
      atomicMax((long long*)&round_sums[max_updated_column], (long long)state.max_updated);
      atomicMax((long long*)&round_sums[fullest_column], (long long)(far_size - state.heap_size));
      if (output.trace) atomicMax((long long*)&round_sums[hops_column], (long long)hop);
      if (block == 0) {
        const bool is_slow =
            state.progress.gives_up(options.patience, options.min_reached_per_nanosecond);
        const bool stopped = is_slow || state.cancel_watch.stopped();
        if (stopped) atomicAdd(&round_sums[stopped_column], 1ULL);
      }
    }
    if (block == 0 && lane < columns) {  // clear the next round's, which were read two rounds ago
      const bool is_minimum = lane == min_near_column || lane == min_far_column;
      sums[(round + 1) % 3 * columns + lane] = is_minimum ? u64(no_key) : 0;
    }
    const u32 near = min(__shfl_sync(all_lanes, count, near_sum), memory.near_capacity);
    const u32 pieces = __shfl_sync(all_lanes, count, piece_sum);
    const bool any_lost = __shfl_sync(all_lanes, count, lost_sum) > 0;
    __syncwarp();
    fence();
    if (lane == 0) {
      volatile u64* const own_note = &notes[(round & 1) * blocks + block];
      *own_note = round_note(near, pieces, far_size > 0, any_lost, round).word;
    }
  }

  // Wait for the notes of 32 blocks, one per lane; beyond the last block there is an empty note.
  __device__ round_note await_note(int of_block) const {
    const volatile u64* const address = &notes[(round & 1) * blocks + of_block];
    round_note note(0);
    do {
      if (of_block < blocks) note = round_note(*address);
    } while (!__all_sync(all_lanes, of_block >= blocks || note.belongs_to(round)));
    return note;
  }

  // Wait for all notes, and read the sums. By the control warp.
  __device__ void gather() {
    u64 counts = 0;
    bool any_far = false, any_lost = false;
    for (int b = lane; b < (blocks + 31) / 32 * 32; b += 32) {
      const round_note note = await_note(b);
      counts += note.counts();
      any_far |= note.any_far();
      any_lost |= note.any_lost();
    }
    fence();
    if (lane < columns) state.sums[lane] = fresh(&sums[round % 3 * columns + lane]);
    const u32 near = __reduce_add_sync(all_lanes, u32(counts));
    const u32 pieces = __reduce_add_sync(all_lanes, u32(counts >> 32));
    any_far = __any_sync(all_lanes, any_far);
    any_lost = __any_sync(all_lanes, any_lost);
    if (lane == 0) state.queue_totals = {near, pieces, any_far, any_lost};
  }

  // Choose the far queue's lists that this iteration reads, and those that it fills: see
  // `controller::divide`. Where a block's far queue fills up, all lists are read, and their entries
  // looked up, to drop the stale ones. The chunks that are read are freed only after the iteration,
  // so this begins at 40 % of the pool, while all entries would fit into the rest.
  __device__ void choose_far_lists(double next_threshold, bool reads_far, bool any_lost,
                                   bool is_wave) {
    controller& control = state.control;
    const bool fixed = options.delta > 0;
    const int slot = lane < partitions ? control.slots[lane] : 0;
    const int live_before = fixed ? 1 : control.live;
    const int divided = !reads_far ? 0 : fixed ? 1 : control.divide(next_threshold, is_wave, lane);
    const bool check_all = !any_lost && state.sums[fullest_column] >
                                            u64(memory.chunks) * memory.chunk_entries * 4 / 10;
    const int lists_read = check_all ? live_before : divided, list = state.list_of_slot[slot];
    const u32 end = prefix_sum(int(lane) < lists_read ? state.list_size[list] : 0, lane);
    __syncwarp();
    if (int(lane) < lists_read) {
      state.read_list[lane] = list;
      state.read_start[lane + 1] = end;
      state.list_of_slot[slot] = list ^ 1;
      state.list_size[list ^ 1] = 0;
      state.list_min[list ^ 1] = no_key;
    }
    __syncwarp();
    if (lane < partitions) {
      const bool is_bounded = !fixed && int(lane) < control.live - 1;
      state.bounds[lane] = is_bounded ? key_at_most(control.bounds[lane] * options.unit) : no_key;
      state.list_of_partition[lane] = state.list_of_slot[control.slots[lane]];
    }
    if (lane == 0) {
      state.lists_read = lists_read;
      state.read_start[0] = 0;
      state.check_all = check_all;
    }
  }

  // Decide on the iteration. By the control warp.
  __device__ void decide(u32 iteration) {
    controller& control = state.control;
    const u64* const sum = state.sums;
    const bool any_near = state.queue_totals.near + state.queue_totals.pieces > 0;
    const bool any_far = state.queue_totals.any_far, any_lost = state.queue_totals.any_lost;
    const key_t min_near = key_t(sum[min_near_column]);
    const key_t min_far = key_t(sum[min_far_column]);
    observation seen;
    seen.near = float(state.queue_totals.near);
    seen.piece_arcs = float(state.queue_totals.pieces) * piece_arcs;
    seen.expanded = float(sum[expanded_sum]);
    seen.arcs = float(sum[arcs_sum]);
    seen.partition_size = int(lane) < control.live ? float(sum[far_sum + control.slots[lane]]) : 0;
    seen.min_queued = double_of(any_near ? min_near : min_far) * options.inverse_unit;
    if (!any_near && !any_far) seen.min_queued = control.threshold;  // it is the last round
    seen.max_updated = double_of(key_t(sum[max_updated_column])) * options.inverse_unit;
    bool finished =
        (!any_near && !any_far) || iteration >= options.max_iterations || sum[stopped_column] > 0;
    if (request.target_count > 0 && iteration > 0) {
      finished = finished || (request.stop_at_first ? sum[settled_sum] > 0 : sum[settled_sum] == 0);
    }
    // Where few arcs are under way latency counts, and a hop within the block costs less than a
    // barrier.
    const u32 far_size =
        __reduce_add_sync(all_lanes, u32(fminf(seen.partition_size, 1 << 26)));  // in 32 bits
    const float vertices = options.delta > 0 ? seen.near : (seen.near + far_size) / max_wave_arcs;
    const float arcs = vertices * float(options.mean_degree) + seen.piece_arcs;
    const bool is_wave = options.max_hops > 1 && arcs <= float(blocks * threads);
    double next = control.threshold;
    if (lane == 0) {
      state.previous_threshold = next;
      state.previous_hops = state.hops;
    }
    if (options.delta <= 0) {
      next = control.decide(seen, is_wave, lane);
    } else if (!any_near && any_far) {
      next =
          fmax(next + options.delta, (floor(seen.min_queued / options.delta) + 1) * options.delta);
      __syncwarp();
      if (lane == 0) control.threshold = next;
    }
    // Rounding may leave the threshold below the nearest far vertex. Then that vertex's distance is
    // the threshold, or the search would stand still.
    key_t threshold = key_at_most(next * options.unit);
    if (!any_near && any_far && threshold < min_far) {
      threshold = min_far;
      next = unbounded;  // all partitions are read
    }
    choose_far_lists(next, any_far && min_far <= threshold && !any_lost, any_lost, is_wave);
    if (lane < counters) state.count[lane] = 0;
    if (lane < 3) state.hop_count[lane] = 0;
    if (lane == 0) {
      state.progress.reached += double(sum[reached_sum]);
      if (!any_near && !any_far) state.progress.is_slow = false;  // it is over
      state.threshold = threshold;
      state.finished = finished;
      state.rebuild = any_lost;
      state.may_spill = far_size > options.set_point / options.mean_degree;
      state.is_wave = is_wave;
      state.hops = state.is_wave ? options.max_hops : 1;
      // What a block gives away comes an iteration late, which a wave should not wait for.
      const float needed = options.delta > 0 ? seen.partition_size : control.target - seen.near;
      const u32 fair_share = max(32u, u32(fmaxf(needed, 0) * 1.25f / blocks));
      state.far_quota =
          is_wave && options.delta <= 0 ? max(fair_share, max_hop_entries) : fair_share;
      state.min_near = no_key;
      state.max_updated = 0;
      state.next_entry = 0;
    }
  }

  // Count the targets that are settled, or those that are not. A target is settled if it is nearer
  // than every queued vertex, since no shorter path to it can be found then.
  __device__ void count_targets() {
    const long long min_near = state.sums[min_near_column], min_far = state.sums[min_far_column];
    const key_t min_queued = state.sums[lost_sum] ? 0 : key_t(min(min_near, min_far));
    u32 count = 0;
    for (int i = block * threads + threadIdx.x; i < request.target_count; i += blocks * threads) {
      count += (fresh(&distance[request.targets[i]]) < min_queued) == request.stop_at_first;
    }
    if (count) atomicAdd(&state.count[settled_sum], count);
  }

  // Record in the trace what the round's sums say of the iteration before it, and let the
  // controller learn from them. By the control warp.
  __device__ void learn(u32 iteration) {
    const double expanded = double(state.sums[expanded_sum]), arcs = double(state.sums[arcs_sum]);
    const controller& control = state.control;
    if (is_traced && lane == 0 && int(iteration) < output.trace_rows) {
      double far_size = 0;
      for (int p = 0; p < partitions; ++p) far_size += double(state.sums[far_sum + p]);
      const bool fixed = options.delta > 0;
      const double row[trace_columns] = {expanded,
                                         arcs,
                                         double(state.sums[updated_sum]),
                                         double(state.sums[near_sum]),
                                         state.previous_threshold * options.unit,
                                         fixed ? 0 : double(control.d()),
                                         fixed ? 0 : control.last.alpha,
                                         fixed ? 1.0 : control.live,
                                         far_size,
                                         double(state.sums[hops_column]),
                                         state.previous_hops > 1 ? 1.0 : 0.0,
                                         double(nanoseconds())};
      double* const trace_row = output.trace + size_t(iteration) * trace_columns;
      for (int i = 0; i < trace_columns; ++i) trace_row[i] = row[i];
    }
    if (options.delta <= 0) {
      state.control.learn(float(expanded), float(state.sums[within_sum]),
                          float(state.sums[current_sum]), lane);
    }
    if (lane == 0) state.first_list = state.list_of_partition[0];
  }
};

}  // namespace mgraph
