// Near-far shortest paths in one launch: whole searches, controller included, run on the device.
//
// Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path
// algorithm" (IPDPS 2018): section 3 for near-far with a fixed delta, section 4 for the self-tuning
// search. The vertices to expand are the near queue, the others that were reached wait in the far
// queue. An iteration has the paper's four stages:
//
//   advance           relax the arcs of the near queue's vertices
//   filter            keep the vertices whose distance improved, each of them once
//   bisect-frontier   those within the threshold join the near queue, the others the far queue
//   bisect-far-queue  move the threshold, and far vertices that are within it to the near queue;
//                     self-tuning: the controller decides on the threshold and divides the
//                     partitions (controller::divide)
//
// Reading order:
//
//   near_far_state.cuh    the kernel's arguments, what blocks publish, a block's shared memory
//   near_far_queues.cuh   the queues
//   near_far_advance.cuh  advance, filter and bisect-frontier
//   near_far_rounds.cuh   the barrier between iterations, and the decision at it
//   self_tuning.cuh       the controller
//   near_far.cu           how a block takes its share of an iteration (bisect-far-queue included)
//   near_far_heap.cuh     heaps for far entries (method heap)
//
// Each header's struct inherits the one before it and adds a layer of functions, which may call
// those of the layers before: block_queues, block_advance, block_rounds, block_search. A thread has
// one block_search, whose members are registers; what its block shares is in block_state.
//
// A group of blocks does one search after another. One pass of the loop in block_search::run is a
// barrier and the iteration behind it. The counter "round" grows between the two: a round, as
// near_far_rounds.cuh counts it, is an iteration and the barrier that ends it.
//
//   publish  add this block's counts to the sums, and publish how much it has queued for all
//   decide   wait for all blocks; the control warp decides on the threshold, in every block the
//            same, while the other warps look their first entries up
//   expand   relax the arcs of this block's share of the near queue and of its own far vertices
//            that are within the threshold now; queue the vertices that are improved
//   hops     in a wave, where few arcs are under way: go on with near vertices within the block
//
// Departures from the paper. Filter does not compact: an entry of a queue is a vertex and the
// distance at which it was queued, and it is current while the vertex still has that distance. A
// shorter path makes it stale, and stale entries are dropped when they are read. So no queue is
// searched for a vertex, and each distance of a vertex is expanded once, or again only after a
// rebuild. An iteration may have several hops. Each block has a far queue of its own, and gives
// what exceeds its share of the far vertices within the threshold to the near queue of all blocks.
//
// Who writes what, when:
//
//   distance            any thread, by atomicMin, while it relaxes arcs; it only ever falls, and a
//                       thread that reads an old value at worst expands a vertex at a distance that
//                       is no longer current
//   near queue, pieces  a block's threads append to the block's own lists while they expand; all
//                       blocks read them in the next round: near_far_rounds.cuh has the argument
//                       why that hand-over is safe
//   far queue           a block's own: partitions by distance, each a list of chunks from the
//                       block's slice of a pool. Appended to while expanding; a partition has two
//                       lists, so that the one that is read is not appended to. near_far_queues.cuh
//                       has the argument for chunks, which threads hand to each other
//   hop lists           a block's own, in shared memory, two in turn, with a __syncthreads between
//                       hops; three counters, so that one is cleared while two are in use
//   sums, notes         the control warps, at the barrier: near_far_rounds.cuh
//   block_state         decisions by the control warp between two __syncthreads; counts by atomics
//
// A block whose pool of chunks is used up counts a lost entry. In the next iteration no far list is
// read: each block scans its share of all vertices, and queues again, near or far, those that may
// not be final. That is always correct and costs a pass over the distances.
//
// Cost: per arc 8 to 16 bytes and a distance, each time its tail is expanded; a barrier per
// iteration.
#include "near_far_heap.cuh"
#include "near_far_rounds.cuh"

namespace mgraph {

// A thread's part in a search.
struct block_search : block_rounds {
  far_heap<MGRAPH_HEAPS> heap;
  // Valid within one pass of the loop:
  u64 counts_before[note_warps];  // near entries and pieces of the blocks before each 32 blocks
  u32 near_first, near_share;     // this block's share of the near queue
  u32 pieces;                     // of all blocks
  u32 batch_width, position;      // entries per warp in a batch; this lane's among the block's
  bool in_batch;                  // this lane has a position in the batch
  entry queued;                   // the entry there

  // Begin a search: empty queues, a new controller, the sources queued.
  __device__ void begin(int search, key_t* distances) {
    distance = distances + size_t(search) * graph_.n;
    hop = 0;
    __syncthreads();
    clear_far_queue();
    heap.clear(state);
    if (threadIdx.x < note_warps) state.warp_counts[threadIdx.x] = 0;
    if (threadIdx.x < counters) state.count[threadIdx.x] = 0;
    if (threadIdx.x < partitions) {
      state.list_of_slot[threadIdx.x] = state.list_of_partition[threadIdx.x] = 2 * threadIdx.x;
      state.bounds[threadIdx.x] = no_key;
    }
    if (threadIdx.x == 0) {
      state.control.begin(options.set_point, options.mean_degree, options.mean_weight,
                          options.min_step, blocks * threads, options.is_bound);
      state.control.threshold = options.delta;
      state.threshold = key_at_most(options.delta);
      state.lists_read = state.first_list = state.near_share = 0;
      state.min_near = no_key;
      state.max_updated = 0;
      state.is_wave = false;
      state.hops = 1;
      state.progress.begin(options.patience);
    }
    __syncthreads();
    write_side(round & 1);
    const int end = request.source_starts[search + 1];
    for (int base = request.source_starts[search] + block * threads; base < end;
         base += blocks * threads) {
      const int i = base + threadIdx.x;
      const int v = i < end ? request.sources[i] : 0;
      bisect_frontier(i < end && atomicMin(&distance[v], key_t(0)) > 0, entry{true, v, 0, 0, 0});
    }
  }

  // Where the near entry (shift 0) or piece (shift 32) with this rank among those of all blocks is.
  __device__ size_t find_slot(u32 rank, int shift, u32 capacity) const {
    u32 w = 0, base = 0;
#pragma unroll
    for (int i = 1; i < note_warps; ++i) {
      if (u32(counts_before[i] >> shift) <= rank) {
        w = i;
        base = u32(counts_before[i] >> shift);
      }
    }
    const u64* const counts = state.block_counts + w * 32;
    u32 low = 0;  // how many of these blocks lie before the rank
    for (int step = 16; step; step /= 2) {
      if (base + u32(counts[low + step - 1] >> shift) <= rank) low += step;
    }
    const u32 start = base + (low ? u32(counts[low - 1] >> shift) : 0);
    return list_index(side, w * 32 + low) * capacity + (rank - start);
  }

  // Read the near entry at `position`, and look it up.
  __device__ entry read_near_entry() const {
    if (!in_batch) return entry{};
    const size_t at = find_slot(near_first + position, 0, memory.near_capacity);
    return look_up(true, fresh(&all_memory.near.vertex[at]), fresh(&all_memory.near.key[at]));
  }

  // Wait for all notes, and add up the counts of each 32 blocks. By the other warps.
  __device__ void count_queued() {
    if (warp >= (blocks + 31) / 32) return;
    const round_note note = await_note(warp * 32 + lane);
    fence();
    const u64 counts = prefix_sum(note.counts(), lane);
    state.block_counts[warp * 32 + lane] = counts;
    if (lane == 31) state.warp_counts[warp] = counts;
  }

  // Take this block's share of the near queue, and look a first batch up while it is not decided
  // yet which far lists are read: near entries, and far ones of the first partition, which probably
  // is. By all warps but the control warp.
  __device__ void look_ahead(int first_list, u32 first_size) {
    u64 total = 0;
#pragma unroll
    for (int w = 0; w < note_warps; ++w) {
      counts_before[w] = total;
      total += state.warp_counts[w];
    }
    pieces = u32(total >> 32);
    near_first = share_start(u32(total), block, blocks);
    near_share = share_start(u32(total), block + 1, blocks) - near_first;
    batch_width = max(1u, min(32u, (near_share + first_size + warps - 2) / (warps - 1)));
    position = warp * batch_width + lane;
    in_batch = lane < batch_width;
    queued = position < near_share ? read_near_entry()
                                   : read_far_entry(in_batch && position < near_share + first_size,
                                                    first_list, position - near_share);
    if (threadIdx.x == 0) {
      state.near_share = near_share;
      state.batch_width = batch_width;
    }
  }

  // Read the entry at `position` among near entries and those of the far lists that are read.
  // total: how many there are.
  __device__ entry read_entry(u32 total) const {
    if (position < near_share) return read_near_entry();
    const u32 far_position = position - near_share;
    int r = 0;
    while (r + 1 < state.lists_read && state.read_start[r + 1] <= far_position) ++r;
    return read_far_entry(in_batch && position < total, state.read_list[r],
                          far_position - state.read_start[r]);
  }

  // Bisect-far-queue: decide what becomes of this lane's entry. It is dropped if it is stale,
  // appended to the far queue again if it is above the threshold, given to all blocks if this block
  // has its quota of far vertices, or else expanded here: then the result is true.
  __device__ bool bisect_far_queue(u32 total) {
    const bool from_far = position >= near_share;
    const bool present = queued.current && in_batch && position < total;
    const bool above = present && queued.key > state.threshold;
    if (from_far) {  // not looked up yet, and one that stays far need not be
      const bool needs_look_up = present && (!above || state.check_all);
      queued = look_up(needs_look_up, queued.vertex, queued.key);
      queued.current = queued.current || (present && !needs_look_up);
    }
    append_far(above && queued.current, queued.vertex, queued.key);
    const bool near = present && !above && queued.current;
    const u32 within = __ballot_sync(all_lanes, present && !above && from_far);
    const u32 current = __ballot_sync(all_lanes, near && from_far);
    if (within && lane == 0) atomicAdd(&state.count[within_sum], __popc(within));
    bool surplus = near && from_far;
    if (current) {
      surplus = reserve(&state.count[current_sum], current) >= state.far_quota && surplus;
    }
    append_near(surplus, queued.vertex, queued.key);
    return near && !surplus;
  }

  // Expand this block's share of the iteration: near entries, far entries, pieces. first_list,
  // first_size: the far list that look_ahead read.
  __device__ void expand_share(int first_list, u32 first_size) {
    const bool works = warp != control_warp;
    const u32 far_count = state.read_start[state.lists_read];
    const u32 total = state.near_share + far_count;
    if (works && position >= near_share) {  // the list may not be the one that is read first
      const bool is_first = far_count > 0 && state.read_list[0] == first_list;
      if (!is_first || position >= near_share + first_size) queued = read_entry(total);
    }
    // The first batch has been read; further ones are as wide as there is work.
    const u32 first_batch = (warps - 1) * state.batch_width;
    const u32 rest = total > first_batch ? total - first_batch : 0;
    const u32 width = max(1u, min(32u, (rest + warps - 2) / (warps - 1)));
    const auto read_batch = [&](u32 rank) {
      position = first_batch + rank + lane;
      in_batch = lane < width;
      queued = read_entry(total);
    };
    if (state.is_wave || rest > few_batches * 32 * (warps - 1)) {
      while (works && position - lane < total) {
        expand(bisect_far_queue(total), queued);
        u32 rank = 0;
        if (lane == 0) rank = atomicAdd(&state.next_entry, width);
        read_batch(__shfl_sync(all_lanes, rank, 0));
      }
    } else {  // few entries: a few warps might have most of the arcs, so the block shares them
      for (u32 done = 0; done == 0 || done - first_batch < rest;
           done += done ? (warps - 1) * width : first_batch) {
        if (works) {
          if (done) read_batch(done - first_batch + warp * width);
          collect(bisect_far_queue(total), queued);
        }
        expand_collected();
      }
    }
    if (!works) return;
    for (u32 i = warp * blocks + block; i < pieces; i += blocks * (warps - 1)) {
      const size_t at = find_slot(i, 32, memory.piece_capacity);
      const piece_list& list = all_memory.pieces;
      expand_piece(fresh(&list.vertex[at]), fresh(&list.key[at]), fresh(&list.number[at]));
    }
  }

  // An entry was lost: queue all vertices that may not be final again. A reached vertex that is
  // nearer than every queued one is final.
  __device__ void rebuild_far_queue() {
    const long long min_near = state.sums[min_near_column], min_far = state.sums[min_far_column];
    const key_t min_queued = key_t(min(min_near, min_far));
    clear_far_queue();
    heap.clear(state);
    hop = state.hops;  // keep nothing for a hop: the rows are not at hand
    __syncthreads();
    const u32 end = share_start(graph_.n, block + 1, blocks);
    for (u32 base = share_start(graph_.n, block, blocks); base < end; base += threads) {
      const u32 v = base + threadIdx.x;
      const key_t key = v < end ? fresh(&distance[v]) : no_key;
      const bool may_improve = v < end && key >= min_queued && key <= cutoff;
      bisect_frontier(may_improve, entry{true, int(v), key, 0, 0});
    }
    hop = 0;
  }

  // Do one search. Returns the number of iterations.
  __device__ u32 run(int search, key_t* distances) {
    begin(search, distances);
    for (u32 iteration = 0;; ++iteration) {
      __syncthreads();
      side = round & 1;
      // No value of a round outlives it, which saves registers.
      queued = entry{};
      near_first = near_share = pieces = batch_width = position = 0;
      in_batch = false;
#pragma unroll
      for (int i = 0; i < note_warps; ++i) counts_before[i] = 0;
      // These are read before the decision changes them.
      const int first_list = state.first_list;
      const u32 first_size = state.list_size[first_list];
      if (warp == control_warp) {
        publish();
        free_read_lists();
        gather();
      } else {
        count_queued();
      }
      __syncthreads();
      if (warp == control_warp) {
        decide(iteration);
      } else {
        look_ahead(first_list, first_size);
      }
      __syncthreads();
      ++round;
      if (warp == control_warp) learn(iteration);
      if (state.finished) return iteration;
      write_side(round & 1);
      hop = 0;
      if (state.rebuild) rebuild_far_queue();
      expand_share(first_list, first_size);
      if (request.target_count > 0) count_targets();
      for (hop = 1; hop < state.hops; ++hop) {
        if (!expand_hop()) break;
      }
      heap.refill(*this);
      heap.spill(*this);
    }
  }
};

}  // namespace mgraph

using namespace mgraph;

extern "C" __global__ void __launch_bounds__(threads, 1)
    near_far_search(__grid_constant__ const graph graph_,
                    __grid_constant__ const search_request request,
                    __grid_constant__ const search_options options,
                    __grid_constant__ const search_memory memory,
                    __grid_constant__ const search_output output) {
  extern __shared__ hop_list hop_lists[];  // two, and behind them the tables of chunks
  __shared__ block_state state;
  u16* const chunk_of = (u16*)(hop_lists + 2);
  const int group = blockIdx.x / memory.blocks;
  const size_t far = size_t(blockIdx.x) * memory.chunks * memory.chunk_entries;
  const u32 max_hop_entries =
      min(u32(threads), u32(max_local_arcs * threads / fmax(options.mean_degree, 1.0)));
  search_memory own = memory;
  own.far = {memory.far.vertex + far, memory.far.key + far};
  block_search block{{{{state, chunk_of, chunk_of + lists * memory.chunks, own, options.delta > 0},
                       graph_,
                       nullptr,
                       request.cutoff,
                       hop_lists,
                       0,
                       max_hop_entries},
                      request,
                      options,
                      output},
                     {memory.heaps, hop_lists}};
  block.block = blockIdx.x % memory.blocks;
  block.blocks = memory.blocks;
  block.group = group;
  block.all_memory = own;
  block.sums = memory.sums + group * 3 * columns;
  block.notes = memory.notes + group * 2 * memory.blocks;
  block.lane = threadIdx.x & 31;
  block.warp = threadIdx.x / 32;
  block.round = 0;
  if (threadIdx.x == 0) state.cancel_watch = {request.cancel_flag, 0, false};
  for (int search = group; search < request.searches; search += gridDim.x / memory.blocks) {
    block.is_traced = blockIdx.x == 0 && search == 0 && output.trace;
    const u32 iterations = block.run(search, output.distance);
    if (threadIdx.x == 0 && block.block == 0) {
      output.iterations[search] = state.progress.is_slow ? gave_up : iterations;
    }
  }
}
