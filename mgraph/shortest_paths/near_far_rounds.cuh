// The barrier of a near-far search: what blocks tell one another, and what they decide from it.
#pragma once

#include <mgraph/clock.cuh>
#include "near_far_advance.cuh"

namespace mgraph {

struct question {  // searches, each from seeds[seed_start[i]:seed_start[i + 1]]
  int searches;
  const int *seed_start, *seeds, *targets;
  int target_count;
  bool first_target;
};

struct manner {
  double delta;  // near-far's, or 0: then the controller follows set_point
  // The controller measures lengths in a power of two, so that nothing is rounded.
  double unit, units_in_1;
  double set_point, mean_degree, mean_weight, quantum;
  int hops;
  u32 most_iterations;
};

constexpr u32 control_warp = warps - 1;

struct rounds : advance {
  question asked;
  manner how;
  int n, block, blocks, group;
  memory shared_memory;  // of all blocks
  u64 *sums, *notes;     // this group's: sums of three rounds, notes of two
  double* trace;
  int trace_rows;
  u32 lane, warp;
  u32 round;             // barriers passed by this group, searches before included
  int side;              // of the lists that are read: they were written in the round before

  __device__ size_t slice(int side, int b) const {
    return size_t(side) * gridDim.x + group * blocks + b;
  }

  __device__ void write_to(int side) {
    const size_t near = slice(side, block) * m.near_capacity;
    const size_t piece = slice(side, block) * m.piece_capacity;
    const memory& all = shared_memory;
    m.near = {all.near.vertex + near, all.near.key + near};
    m.pieces = {all.pieces.vertex + piece, all.pieces.key + piece, all.pieces.number + piece};
  }

  // By the control warp.
  __device__ void publish() {
    u64* const now = sums + round % 3 * columns;
    const int list = lane < partitions ? s.list_of[lane] : 0;
    // What is in the heap counts as the last partition's.
    const bool last = lane < partitions && int(lane) == s.control.slots[s.control.live - 1];
    const u32 size = (lane < partitions ? s.size[list] : 0) + (last ? s.heap_size : 0);
    const u32 all = __reduce_add_sync(all_lanes, size);
    const u32 count = lane < counters ? s.count[lane] : 0;
    if (count) atomicAdd(&now[lane], u64(count));
    if (size) {
      atomicAdd(&now[far_sum + lane], u64(size));
      const key_t least = last ? min(s.least[list], s.heap_least) : s.least[list];
      atomicMin((long long*)&now[least_far_column], (long long)least);
    }
    if (lane == 0) {
      atomicMin((long long*)&now[least_near_column], (long long)s.least_near);
      atomicMax((long long*)&now[largest_column], (long long)s.largest);
      atomicMax((long long*)&now[fullest_column], (long long)(all - s.heap_size));
      if (block == 0 && s.watch.stopped()) atomicAdd(&now[stopped_column], 1ULL);
    }
    if (block == 0 && lane < columns) {
      // The next round's, which were read two rounds ago.
      const bool minimum = lane == least_near_column || lane == least_far_column;
      sums[(round + 1) % 3 * columns + lane] = minimum ? u64(no_key) : 0;
    }
    const u32 near = min(__shfl_sync(all_lanes, count, near_sum), m.near_capacity);
    const u32 left = __shfl_sync(all_lanes, count, piece_sum);
    const bool lost = __shfl_sync(all_lanes, count, lost_sum) > 0;
    __syncwarp();
    fence();
    if (lane == 0) {
      volatile u64* const mine = &notes[(round & 1) * blocks + block];
      *mine = note(near, left, all > 0, lost, round).word;
    }
  }

  // Wait for the notes of 32 blocks, a lane each; beyond the last block there is an empty one.
  __device__ note wait_for(int b) const {
    const volatile u64* const theirs = &notes[(round & 1) * blocks + b];
    note told(0);
    do {
      if (b < blocks) told = note(*theirs);
    } while (!__all_sync(all_lanes, b >= blocks || told.is_of(round)));
    return told;
  }

  // What the far queue's lists will be in this iteration: see `controller::divide`. A block
  // whose slice fills up looks all of them through for entries that were replaced: what is read
  // is freed only afterwards, so that must begin while there is room for all of it again.
  __device__ void choose_lists(double next, bool anything, bool lost, bool wave) {
    controller& c = s.control;
    const bool fixed = how.delta > 0;
    const int slot = lane < partitions ? c.slots[lane] : 0, lived = fixed ? 1 : c.live;
    const int divided = !anything ? 0 : fixed ? 1 : c.divide(next, wave, lane);
    const bool clean =
        !lost && s.sums[fullest_column] > u64(m.chunks) * m.chunk_entries * 4 / 10;
    const int reads = clean ? lived : divided, list = s.list_of[slot];
    const u32 end = prefix_sum(int(lane) < reads ? s.size[list] : 0, lane);
    __syncwarp();
    if (int(lane) < reads) {
      s.read_list[lane] = list;
      s.read_start[lane + 1] = end;
      s.list_of[slot] = list ^ 1;
      s.size[list ^ 1] = 0;
      s.least[list ^ 1] = no_key;
    }
    __syncwarp();
    if (lane < partitions) {
      const bool bounded = !fixed && int(lane) < c.live - 1;
      s.bounds[lane] = bounded ? key_at_most(c.bounds[lane] * how.unit) : no_key;
      s.list_of_part[lane] = s.list_of[c.slots[lane]];
    }
    if (lane == 0) {
      s.reads = reads;
      s.read_start[0] = 0;
      s.clean = clean;
    }
  }

  // Wait for all notes, and read the sums. By the control warp.
  __device__ void gather() {
    u64 counts = 0;
    bool far = false, lost = false;
    for (int b = lane; b < (blocks + 31) / 32 * 32; b += 32) {
      const note told = wait_for(b);
      counts += told.counts();
      far |= told.far();
      lost |= told.lost();
    }
    fence();
    if (lane < columns) s.sums[lane] = fresh(&sums[round % 3 * columns + lane]);
    const u32 near = __reduce_add_sync(all_lanes, u32(counts));
    const u32 pieces = __reduce_add_sync(all_lanes, u32(counts >> 32));
    far = __any_sync(all_lanes, far);
    lost = __any_sync(all_lanes, lost);
    if (lane == 0) s.left = {near, pieces, far, lost};
  }

  // Decide on the iteration. By the control warp.
  __device__ void decide(u32 iteration) {
    controller& c = s.control;
    const u64* const sum = s.sums;
    const bool near = s.left.near + s.left.pieces > 0, far = s.left.far, lost = s.left.lost;
    const key_t least_near = key_t(sum[least_near_column]);
    const key_t least_far = key_t(sum[least_far_column]);
    observation seen;
    seen.near = float(s.left.near);
    seen.piece_arcs = float(s.left.pieces) * piece_arcs;
    seen.expanded = float(sum[expanded_sum]);
    seen.arcs = float(sum[arcs_sum]);
    seen.far_here = int(lane) < c.live ? float(sum[far_sum + c.slots[lane]]) : 0;
    seen.least = double_of(near ? least_near : least_far) * how.units_in_1;
    if (!near && !far) seen.least = c.threshold;  // it is the last round
    seen.largest = double_of(key_t(sum[largest_column])) * how.units_in_1;
    bool stop = (!near && !far) || iteration >= how.most_iterations || sum[stopped_column] > 0;
    if (asked.target_count > 0 && iteration > 0) {
      stop = stop || (asked.first_target ? sum[settled_sum] > 0 : sum[settled_sum] == 0);
    }
    // Few arcs at a time: latency counts, and a hop within the block costs less than a barrier.
    const u32 all_far = __reduce_add_sync(all_lanes, u32(fminf(seen.far_here, 1 << 26)));
    const float about = how.delta > 0 ? seen.near : (seen.near + all_far) / widest_wave;
    const float arcs = about * float(how.mean_degree) + seen.piece_arcs;
    const bool wave = how.hops > 1 && arcs <= float(blocks * threads);
    double next = c.threshold;
    if (lane == 0) s.threshold_before = next;
    if (how.delta <= 0) {
      next = c.decide(seen, wave, lane);
    } else if (!near && far) {
      next = fmax(next + how.delta, (floor(seen.least / how.delta) + 1) * how.delta);
      __syncwarp();
      if (lane == 0) c.threshold = next;
    }
    // Rounding may leave the threshold below the nearest far vertex; then that is the threshold,
    // or nothing would move.
    key_t threshold = key_at_most(next * how.unit);
    if (!near && far && threshold < least_far) {
      threshold = least_far;
      next = endless;  // all partitions are read
    }
    choose_lists(next, far && least_far <= threshold && !lost, lost, wave);
    if (lane < counters) s.count[lane] = 0;
    if (lane < 3) s.local_count[lane] = 0;
    if (lane == 0) {
      s.threshold = threshold;
      s.stop = stop;
      s.collect = lost;
      s.may_spill = all_far > how.set_point / how.mean_degree;
      s.eager = wave;
      s.hops = s.eager ? how.hops : 1;
      // What a block leaves to all comes an iteration late, which a wave would not wait for.
      const float wanted = how.delta > 0 ? seen.far_here : c.target - seen.near;
      const u32 fair = max(32u, u32(fmaxf(wanted, 0) * 1.25f / blocks));
      s.quota = wave && how.delta <= 0 ? max(fair, most_local) : fair;
      s.least_near = no_key;
      s.largest = 0;
      s.next_entry = 0;
    }
  }

  // Count the targets that are settled, or those that are not. Nothing that waits is nearer than
  // the least key, and nothing ever will be.
  __device__ void check_targets() {
    const long long near = s.sums[least_near_column], far = s.sums[least_far_column];
    const key_t pending = s.sums[lost_sum] ? 0 : key_t(min(near, far));
    u32 found = 0;
    for (int i = block * threads + threadIdx.x; i < asked.target_count; i += blocks * threads) {
      found += (fresh(&distance[asked.targets[i]]) < pending) == asked.first_target;
    }
    if (found) atomicAdd(&s.count[settled_sum], found);
  }

  // Write down what the round's sums say of the iteration before, and learn from it. By the control
  // warp.
  __device__ void look_back(u32 iteration) {
    const double expanded = double(s.sums[expanded_sum]), arcs = double(s.sums[arcs_sum]);
    const controller& c = s.control;
    if (trace && lane == 0 && int(iteration) < trace_rows) {
      double far = 0;
      for (int p = 0; p < partitions; ++p) far += double(s.sums[far_sum + p]);
      const bool fixed = how.delta > 0;
      const double row[trace_columns] = {
          expanded, arcs, double(s.sums[updated_sum]), double(s.sums[near_sum]),
          s.threshold_before * how.unit, fixed ? 0 : double(c.d()),
          fixed ? 0 : c.last.slope, fixed ? 1.0 : c.live, far, double(nanoseconds())};
      for (int i = 0; i < trace_columns; ++i) trace[size_t(iteration) * trace_columns + i] = row[i];
    }
    if (how.delta <= 0) {
      s.control.learn(float(expanded), float(s.sums[met_sum]), float(s.sums[drawn_sum]), lane);
    }
    if (lane == 0) s.first_list = s.list_of_part[0];
  }
};

}  // namespace mgraph
