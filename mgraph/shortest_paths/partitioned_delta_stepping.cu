// One rank's steps of partitioned_delta_stepping.py on a GPU; the _gpu.py launches them.
//
//   delta_settle    relax the arcs of near vertices until none is left: one launch, in which blocks
//                   meet at a barrier after each iteration, and one block does small ones alone
//   delta_count_to_send, delta_pack
//                   the near ghosts by owner: positions and lengths
//   delta_receive   take other ranks' lengths of own vertices
//   delta_nearest   the least length of a far number
//   delta_advance   far numbers within the new threshold become near
//
// Lists hold local numbers, each at most once: a bit says whether a number is in the near queue or
// waits to be sent, another whether it is in the far list. An iteration reads one near queue and
// appends to the other; rows of more than piece_arcs arcs are listed in pieces besides.
//
// Memory order. Whoever improves a length sets the number's near bit after it, with a fence
// between; whoever takes a number from the queue clears its bit before it reads the length, with a
// fence between. If the first finds the bit set, it precedes the clearing, so that the length which
// the second reads is the improved one; if not, the number is queued again. Sums of iterations have
// three slots in turn, as in bfs.cu, and all are 0 between launches.
//
// Cost: per arc 4 bytes, its weight, and the length of its head, at random; 1 barrier per
// iteration, or 2 if it has rows in pieces.

#include <mgraph/grid_barrier.cuh>
#include <mgraph/stop_watch.cuh>

#include "partitioned_queues.cuh"

extern "C" __global__ void __launch_bounds__(threads, 1)
    delta_settle(__grid_constant__ const rank_rows rows,
                 __grid_constant__ const search_memory memory,
                 __grid_constant__ const search_limits limits) {
  __shared__ stop_watch cancel_watch;
  __shared__ queue_sums block_sums[2];
  if (threadIdx.x == 0) cancel_watch = {limits.cancel_flag, 0, false};
  grid_barrier barrier{memory.arrived, 0};
  const int block_warps = blockDim.x / 32;
  const team grid_team{(long long)blockIdx.x * block_warps + threadIdx.x / 32,
                       (long long)gridDim.x * block_warps};
  const team block_team{threadIdx.x / 32, block_warps};

  queue_sums found = read_sums(&memory.sums[0]);
  int slot = 0;
  bool odd = false;
  while (found.vertices && !fresh(memory.stopped)) {
    if (found.arcs <= solo_arcs) {
      if (blockIdx.x == 0) {
        for (int turn = 0; found.vertices && found.arcs <= solo_arcs; ++turn, odd = !odd) {
          if (threadIdx.x == 0) block_sums[turn & 1] = {0, 0, 0};
          __syncthreads();
          const queues view{rows, memory, limits, &block_sums[turn & 1], odd};
          view.expand_short(block_team, found.vertices);
          __syncthreads();
          view.expand_pieces(block_team, found.pieces);
          __syncthreads();
          found = block_sums[turn & 1];
          if (threadIdx.x == 0 && cancel_watch.stopped()) *memory.stopped = 1;
          __syncthreads();
          if (fresh(memory.stopped)) break;
        }
        if (threadIdx.x == 0) *memory.state = {found, odd};
      }
      barrier.wait();
      found = read_sums(&memory.state->found);
      odd = fresh(&memory.state->odd);
      // No block may write the state again before all have read it.
      barrier.wait();
      continue;
    }
    const int next_slot = (slot + 1) % 3;
    if (blockIdx.x == 0 && threadIdx.x == 0) memory.sums[(slot + 2) % 3] = {0, 0, 0};
    const queues view{rows, memory, limits, &memory.sums[next_slot], odd};
    view.expand_short(grid_team, found.vertices);
    if (found.pieces) {
      barrier.wait();
      view.expand_pieces(grid_team, found.pieces);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && cancel_watch.stopped()) *memory.stopped = 1;
    barrier.wait();
    slot = next_slot;
    odd = !odd;
    found = read_sums(&memory.sums[slot]);
  }
  barrier.wait();  // all have read the sums
  if (blockIdx.x == 0 && threadIdx.x < 3) memory.sums[threadIdx.x] = {0, 0, 0};
}

// starts: `size` + 1 local numbers, where the ghosts of each owner begin and end; see owner_of.
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

extern "C" __global__ void delta_receive(__grid_constant__ const rank_rows rows,
                                         __grid_constant__ const search_memory memory,
                                         __grid_constant__ const search_limits limits,
                                         const u32* positions, const key_t* lengths,
                                         long long count) {
  const queues view{rows, memory, limits, &memory.sums[0], true};
  u64 arcs = 0;
  for_each_item(count, [&](long long i, bool is_item) {
    const u32 number = is_item ? positions[i] + rows.below : 0;
    arcs += view.update(is_item, number, is_item ? lengths[i] : 0);
  });
  view.add_arcs(arcs);
}

// nearest: the greatest key. Numbers within the threshold are settled.
extern "C" __global__ void delta_nearest(__grid_constant__ const search_memory memory,
                                         key_t threshold, unsigned_key* nearest) {
  key_t least = no_key;
  const long long count = *memory.far_count;
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
extern "C" __global__ void delta_advance(__grid_constant__ const rank_rows rows,
                                         __grid_constant__ const search_memory memory,
                                         __grid_constant__ const search_limits limits,
                                         key_t old_threshold, u32* other_far, u64* other_count) {
  const queues view{rows, memory, limits, &memory.sums[0], true};
  const long long count = *memory.far_count;
  u64 arcs = 0;
  for_each_item(count, [&](long long i, bool is_item) {
    const u32 number = is_item ? memory.far[i] : 0;
    const key_t length = is_item ? memory.distance[number] : 0;
    const bool is_open = is_item && length >= old_threshold;
    arcs += view.queue_near(is_open && length < limits.threshold, number);
    const bool is_kept = is_open && length >= limits.threshold;
    const u64 place = take_place(other_count, 0, is_kept);
    if (is_kept) other_far[place] = number;
  });
  view.add_arcs(arcs);
}
