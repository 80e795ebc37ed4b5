// One rank's steps of partitioned_delta_stepping.py on a GPU; the _gpu.py launches them.
//
//   delta_settle    relax the arcs of near vertices until none is left or the budget is spent: one
//                   launch, in which blocks meet at a barrier after each iteration, and one block
//                   does small ones alone
//   delta_count_to_send, delta_pack
//                   the near ghosts by owner: positions and lengths
//   delta_receive   take other ranks' lengths of own vertices
//   delta_nearest   the least length of a far number
//   delta_advance   far numbers within the new threshold become near
//
//   delta_push, delta_push_pieces
//                   the heavy arcs of the vertices that were settled since the last one
//   delta_pull, delta_pull_pieces
//                   the arcs that lead from settled vertices to the others, by their mirrors
//
// An arc is light if the length that it leads to is within the threshold, else heavy. Rows ascend
// by weight: the light arcs of a row are its first, and mostly few. Near vertices relax them, some
// of them more than once; when all are settled, each relaxes its heavy arcs once.
//
// Lists hold local numbers, each at most once: a bit says whether a number waits in a near queue or
// to be sent, another whether it is in the far list. An iteration reads one near queue and appends
// to the other, for which there are bits of its own, so that a vertex which is improved while it is
// expanded is queued again, whatever the order. It is passed over there if its length is that of
// the last time. Where more than range_arcs arcs of a row have to be read, they are in pieces, read
// in the next iteration, or the next launch. Sums of iterations have three slots in turn, as in
// bfs.cu, and all are 0 between launches.
//
// Cost: per expanded vertex eight sectors of 32 bytes at random, and the first few weights of its
// row; per arc that is relaxed its weight, its head, and a sector for its length. An iteration has
// a barrier, and some ten reads that wait for each other.

#include <mgraph/grid_barrier.cuh>
#include <mgraph/stop_watch.cuh>

#include "partitioned_queues.cuh"

namespace {

__device__ team grid_team() {
  const int block_warps = blockDim.x / 32;
  return {(long long)blockIdx.x * block_warps + threadIdx.x / 32,
          (long long)gridDim.x * block_warps};
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    delta_settle(__grid_constant__ const rank_rows rows,
                 __grid_constant__ const search_memory memory,
                 __grid_constant__ const search_limits limits, long long budget) {
  __shared__ u32 slots[list_slots];
  __shared__ stop_watch cancel_watch;
  __shared__ near_sums block_sums[2];
  if (threadIdx.x == 0) cancel_watch = {limits.cancel_flag, 0, false};
  grid_barrier barrier{memory.arrived, 0};
  const team block_team{threadIdx.x / 32, blockDim.x / 32};
  auto is_over = [](const near_sums& sums) { return !sums.vertices && !sums.pieces; };
  auto is_solo = [](const near_sums& sums) {
    return sums.vertices <= solo_vertices && !sums.pieces;
  };

  near_sums found = read_sums(&memory.sums[0]);
  int slot = 0, turn = 0;  // of all blocks, from 1 on
  bool odd = false;
  // A block that is slow to begin a turn may see that a faster one was stopped in it.
  auto was_stopped = [&] {
    const int stopped = fresh(memory.stopped);
    return stopped && stopped <= turn;
  };
  // It ends with the queue that the next launch reads first, so with an even iteration.
  while (!is_over(found) && (budget > 0 || odd) && !was_stopped()) {
    ++turn;
    budget -= found.vertices + found.pieces;
    if (is_solo(found)) {
      if (blockIdx.x == 0) {
        for (int own = 0; !is_over(found) && is_solo(found); ++own, odd = !odd) {
          if (threadIdx.x == 0) block_sums[own & 1] = {0, 0};
          __syncthreads();
          queues view(rows, memory, limits, &block_sums[own & 1], odd, slots);
          view.expand<false>(block_team, found.vertices);
          view.finish();
          __syncthreads();
          found = block_sums[own & 1];
          if (threadIdx.x == 0 && cancel_watch.stopped()) *memory.stopped = turn;
          __syncthreads();
          if (fresh(memory.stopped)) break;
        }
        if (threadIdx.x == 0) *memory.state = {found, odd};
      }
      barrier.wait();
      found = read_sums(&memory.state->found);
      odd = fresh(&memory.state->odd) != 0;
      barrier.wait();  // no block writes the state again before all have read it
      continue;
    }
    const int next_slot = (slot + 1) % 3;
    if (blockIdx.x == 0 && threadIdx.x == 0) memory.sums[(slot + 2) % 3] = {0, 0};
    queues view(rows, memory, limits, &memory.sums[next_slot], odd, slots);
    view.expand<false>(grid_team(), found.vertices);
    view.expand_pieces<false>(grid_team(), view.pieces(odd), found.pieces);
    view.finish();
    if (blockIdx.x == 0 && threadIdx.x == 0 && cancel_watch.stopped()) *memory.stopped = turn;
    barrier.wait();
    slot = next_slot;
    odd = !odd;
    found = read_sums(&memory.sums[slot]);
  }
  barrier.wait();  // all have read the sums
  if (blockIdx.x == 0 && threadIdx.x < 3) {
    memory.sums[threadIdx.x] = threadIdx.x == 0 ? found : near_sums{0, 0};
  }
}

// The kernels below append to the queue that delta_settle reads first.

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    delta_push(__grid_constant__ const rank_rows rows, __grid_constant__ const search_memory memory,
               __grid_constant__ const search_limits limits) {
  __shared__ u32 slots[list_slots];
  queues view(rows, memory, limits, &memory.sums[0], true, slots);
  view.expand<true>(grid_team(), memory.counts->settled);
  view.finish();
}

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    delta_push_pieces(__grid_constant__ const rank_rows rows,
                      __grid_constant__ const search_memory memory,
                      __grid_constant__ const search_limits limits) {
  __shared__ u32 slots[list_slots];
  queues view(rows, memory, limits, &memory.sums[0], true, slots);
  view.expand_pieces<true>(grid_team(), view.pieces(false), memory.counts->pieces);
  view.finish();
}

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    delta_pull(__grid_constant__ const rank_rows rows, __grid_constant__ const search_memory memory,
               __grid_constant__ const search_limits limits) {
  __shared__ u32 slots[list_slots];
  queues view(rows, memory, limits, &memory.sums[0], true, slots);
  view.pull(grid_team());
  view.finish();
}

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    delta_pull_pieces(__grid_constant__ const rank_rows rows,
                      __grid_constant__ const search_memory memory,
                      __grid_constant__ const search_limits limits) {
  __shared__ u32 slots[list_slots];
  queues view(rows, memory, limits, &memory.sums[0], true, slots);
  view.pull_pieces(grid_team(), memory.counts->pieces);
  view.finish();
}

// starts: `size` local numbers, where the ghosts of each owner begin; see owner_of.
extern "C" __global__ void delta_count_to_send(__grid_constant__ const search_memory memory,
                                               long long count, const u32* starts, int size,
                                               u64* totals) {
  for_each_item(count, [&](long long i, bool is_item) {
    const u32 number = is_item ? memory.to_send[i] : 0;
    take_place(totals, owner_of(number, starts, size), is_item);
  });
}

// ghosts: positions of ghosts. shifts: by owner, what makes a local number the index of a ghost.
extern "C" __global__ void delta_pack(__grid_constant__ const search_memory memory, long long count,
                                      const u32* starts, int size, const u32* shifts,
                                      const u32* ghosts, u64* cursors, u32* positions,
                                      key_t* lengths) {
  for_each_item(count, [&](long long i, bool is_item) {
    const u32 number = is_item ? memory.to_send[i] : 0;
    const int owner = owner_of(number, starts, size);
    const u64 place = take_place(cursors, owner, is_item);
    if (!is_item) return;
    positions[place] = ghosts[number - shifts[owner]];
    lengths[place] = memory.distance[number];
    atomicAnd(&memory.is_near[number / 32], ~(1u << (number & 31)));
  });
}

extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    delta_receive(__grid_constant__ const rank_rows rows,
                  __grid_constant__ const search_memory memory,
                  __grid_constant__ const search_limits limits, const u32* positions,
                  const key_t* lengths, long long count) {
  __shared__ u32 slots[list_slots];
  queues view(rows, memory, limits, &memory.sums[0], true, slots);
  for_each_item(count, [&](long long i, bool is_item) {
    const u32 number = is_item ? positions[i] + rows.below : 0;
    view.update(is_item, number, is_item ? lengths[i] : 0);
  });
  view.finish();
}

// nearest: the greatest key. Numbers within the threshold are settled.
extern "C" __global__ void delta_nearest(__grid_constant__ const search_memory memory,
                                         key_t threshold, unsigned_key* nearest) {
  key_t least = no_key;
  const long long count = memory.counts->far;
  for (long long i = first_item(); i < count; i += stride()) {
    const key_t length = memory.distance[memory.far[i]];
    if (length >= threshold && length < least) least = length;
  }
  for (int step = 16; step; step /= 2) {
    const key_t other = __shfl_down_sync(~0u, least, step);
    if (other < least) least = other;
  }
  if ((threadIdx.x & 31) == 0 && least != no_key) atomicMin(nearest, unsigned_key(least));
}

// limits: the new threshold. Far numbers beyond it go to other_far.
extern "C" __global__ void __launch_bounds__(threads, min_blocks)
    delta_advance(__grid_constant__ const rank_rows rows,
                  __grid_constant__ const search_memory memory,
                  __grid_constant__ const search_limits limits, key_t old_threshold, u32* other_far,
                  u64* other_count) {
  __shared__ u32 slots[list_slots];
  queues view(rows, memory, limits, &memory.sums[0], true, slots);
  for_each_item(memory.counts->far, [&](long long i, bool is_item) {
    const u32 number = is_item ? memory.far[i] : 0;
    const key_t length = is_item ? memory.distance[number] : 0;
    const bool is_open = is_item && length >= old_threshold;
    view.queue_near(is_open && length < limits.threshold, number);
    const bool is_kept = is_open && length >= limits.threshold;
    const u64 place = take_places(other_count, is_kept);
    if (is_kept) other_far[place] = number;
  });
  view.finish();
}
