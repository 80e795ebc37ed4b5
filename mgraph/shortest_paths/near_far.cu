// Near-far shortest paths in one launch: the whole search, controller included, runs on the device.
//
// A group of blocks does one search after another. An iteration has one barrier among them:
//
//   publish  add this block's counts to the sums, and tell all how much it leaves them
//   decide   wait for all; one warp finds the threshold, in every block the same, while the others
//            look their first vertices up
//   expand   relax the arcs of this block's share of what all left near, and of its own far
//            vertices that have come within the threshold (advance); what an arc improves waits
//            near or far, with the distance that it was improved to (filter, bisect-frontier)
//   hops     where there are few arcs, go on with what was just found near, within the block
//
// An entry (vertex, distance) counts only while the distance is still the vertex's: a better one
// replaces it. So nothing is ever looked for in a queue, and each value is expanded once, or again
// only after an entry was lost.
// Each block has its own far queue: partitions by distance, lists of chunks in its slice of a pool.
// What is surplus of one block's far vertices goes to all, so that no block has more than its
// share. A block that runs out of chunks says that an entry is lost; then all blocks begin their
// far queues anew from every vertex reached, which is always right.
// With heaps (near_far_heap.cuh) a block's farthest entries wait in one, in order.
// Cost: an arc 8 to 16 bytes and a distance, each time its tail is expanded; a barrier an iteration.
#include "near_far_heap.cuh"
#include "near_far_rounds.cuh"

namespace mgraph {

// One search, from one block.
struct block_search : rounds {
  far_heap<MGRAPH_HEAPS> heap;
  // a thread's part in a round
  u64 before[note_warps];  // counts of the blocks before each warp's share of them
  u32 near_first, near_count, pieces, width, first;
  bool in_batch;
  entry e;

  __device__ void begin(int search, key_t* distances) {
    distance = distances + size_t(search) * n;
    hop = 0;
    __syncthreads();
    clear_far();
    heap.clear(s);
    if (threadIdx.x < note_warps) s.warp_counts[threadIdx.x] = 0;
    if (threadIdx.x < counters) s.count[threadIdx.x] = 0;
    if (threadIdx.x < partitions) {
      s.list_of[threadIdx.x] = s.list_of_part[threadIdx.x] = 2 * threadIdx.x;
      s.bounds[threadIdx.x] = no_key;
    }
    if (threadIdx.x == 0) {
      s.control.begin(how.set_point, how.mean_degree, how.mean_weight, how.quantum,
                      blocks * threads);
      s.control.threshold = how.delta;
      s.threshold = key_at_most(how.delta);
      s.reads = s.first_list = s.near_count = 0;
      s.least_near = no_key;
      s.largest = 0;
      s.eager = false;
      s.hops = 1;
    }
    __syncthreads();
    write_to(round & 1);
    const int end = asked.seed_start[search + 1];
    for (int base = asked.seed_start[search] + block * threads; base < end;
         base += blocks * threads) {
      const int i = base + threadIdx.x;
      const int v = i < end ? asked.seeds[i] : 0;
      put(i < end && atomicMin(&distance[v], key_t(0)) > 0, entry{true, v, 0, 0, 0});
    }
  }

  // Where a position in the order of blocks falls. shift: 0 for near entries, 32 for pieces.
  __device__ size_t place_of(u32 position, int shift, u32 capacity) const {
    u32 w = 0, base = 0;
#pragma unroll
    for (int i = 1; i < note_warps; ++i) {
      if (u32(before[i] >> shift) <= position) {
        w = i;
        base = u32(before[i] >> shift);
      }
    }
    const u64* const counts = s.counts + w * 32;
    u32 low = 0;  // how many of these blocks lie before the position
    for (int step = 16; step; step /= 2) {
      if (base + u32(counts[low + step - 1] >> shift) <= position) low += step;
    }
    const u32 start = base + (low ? u32(counts[low - 1] >> shift) : 0);
    return slice(side, w * 32 + low) * capacity + (position - start);
  }

  __device__ entry near_entry() const {
    if (!in_batch) return entry{};
    const size_t at = place_of(near_first + first, 0, m.near_capacity);
    return look_up(true, fresh(&shared_memory.near.vertex[at]), fresh(&shared_memory.near.key[at]));
  }

  // Wait for all notes, and add up what each warp's share of the blocks left. By the other warps.
  __device__ void count_left() {
    if (warp >= (blocks + 31) / 32) return;
    const note told = wait_for(warp * 32 + lane);
    fence();
    const u64 counts = prefix_sum(told.counts(), lane);
    s.counts[warp * 32 + lane] = counts;
    if (lane == 31) s.warp_counts[warp] = counts;
  }

  // Look a first batch up, while it is not decided yet what is near: near entries, and far ones of
  // the first partition, which is likely to be read. By all warps but the control warp.
  __device__ void look_ahead(int first_list, u32 first_size) {
    u64 total = 0;
#pragma unroll
    for (int w = 0; w < note_warps; ++w) {
      before[w] = total;
      total += s.warp_counts[w];
    }
    pieces = u32(total >> 32);
    near_first = share(u32(total), block, blocks);
    near_count = share(u32(total), block + 1, blocks) - near_first;
    width = max(1u, min(32u, (near_count + first_size + warps - 2) / (warps - 1)));
    first = warp * width + lane;
    in_batch = lane < width;
    e = first < near_count ? near_entry()
                           : far_entry(in_batch && first < near_count + first_size, first_list,
                                       first - near_count);
    if (threadIdx.x == 0) {
      s.near_count = near_count;
      s.width = width;
    }
  }

  // The entry at `first` among near entries and those of the lists that are read.
  __device__ entry any_entry(u32 all) const {
    if (first < near_count) return near_entry();
    const u32 position = first - near_count;
    int r = 0;
    while (r + 1 < s.reads && s.read_start[r + 1] <= position) ++r;
    return far_entry(in_batch && first < all, s.read_list[r], position - s.read_start[r]);
  }

  // What becomes of an entry: passed over, far again, left to all, or expanded here (true).
  __device__ bool sift(u32 all) {
    const bool from_far = first >= near_count;
    const bool present = e.live && in_batch && first < all;
    const bool above = present && e.key > s.threshold;
    if (from_far) {  // not looked up yet, and what stays far need not be
      const bool unknown = present && (!above || s.clean);
      e = look_up(unknown, e.vertex, e.key);
      e.live = e.live || (present && !unknown);
    }
    put_far(above && e.live, e.vertex, e.key);
    const bool near = present && !above && e.live;
    const u32 met = __ballot_sync(all_lanes, present && !above && from_far);
    const u32 drawn = __ballot_sync(all_lanes, near && from_far);
    if (met && lane == 0) atomicAdd(&s.count[met_sum], __popc(met));
    bool surplus = near && from_far;
    if (drawn) surplus = place_in(&s.count[drawn_sum], drawn) >= s.quota && surplus;
    leave(surplus, e.vertex, e.key);
    return near && !surplus;
  }

  __device__ void expand_all(int first_list, u32 first_size) {
    const bool works = warp != control_warp;
    const u32 far_count = s.read_start[s.reads], all = s.near_count + far_count;
    if (works && first >= near_count) {  // what was looked ahead for may be wrong now
      const bool right = far_count > 0 && s.read_list[0] == first_list;
      if (!right || first >= near_count + first_size) e = any_entry(all);
    }
    // The first batch is at hand; the further ones are as wide as there is work.
    const u32 begun = (warps - 1) * s.width, rest = all > begun ? all - begun : 0;
    const u32 wide = max(1u, min(32u, (rest + warps - 2) / (warps - 1)));
    const auto next_batch = [&](u32 at) {
      first = begun + at + lane;
      in_batch = lane < wide;
      e = any_entry(all);
    };
    if (s.eager || rest > few_batches * 32 * (warps - 1)) {
      while (works && first - lane < all) {
        expand(sift(all), e);
        u32 at = 0;
        if (lane == 0) at = atomicAdd(&s.next_entry, wide);
        next_batch(__shfl_sync(all_lanes, at, 0));
      }
    } else {  // few entries: some warps might have most of the arcs
      for (u32 done = 0; done == 0 || done - begun < rest;
           done += done ? (warps - 1) * wide : begun) {
        if (works) {
          if (done) next_batch(done - begun + warp * wide);
          keep_here(sift(all), e);
        }
        expand_kept();
      }
    }
    if (!works) return;
    for (u32 i = warp * blocks + block; i < pieces; i += blocks * (warps - 1)) {
      const size_t at = place_of(i, 32, m.piece_capacity);
      const piece_list& list = shared_memory.pieces;
      expand_piece(fresh(&list.vertex[at]), fresh(&list.key[at]), fresh(&list.number[at]));
    }
  }

  // An entry was lost: begin the far queue anew, from every vertex reached that is not nearer than
  // all that waited, for those are final.
  __device__ void collect() {
    const long long near = s.sums[least_near_column], far = s.sums[least_far_column];
    const key_t nearest = key_t(min(near, far));
    clear_far();
    heap.clear(s);
    hop = s.hops;  // nothing is kept for a hop: the rows are not at hand
    __syncthreads();
    const u32 end = share(n, block + 1, blocks);
    for (u32 base = share(n, block, blocks); base < end; base += threads) {
      const u32 v = base + threadIdx.x;
      const key_t key = v < end ? fresh(&distance[v]) : no_key;
      put(v < end && key >= nearest && key <= cutoff, entry{true, int(v), key, 0, 0});
    }
    hop = 0;
  }

  // Returns the iterations.
  __device__ u32 run(int search, key_t* distances) {
    begin(search, distances);
    for (u32 iteration = 0;; ++iteration) {
      __syncthreads();
      side = round & 1;
      // No thread's part outlives a round. (Registers are few.)
      e = entry{};
      near_first = near_count = pieces = width = first = 0;
      in_batch = false;
#pragma unroll
      for (int i = 0; i < note_warps; ++i) before[i] = 0;
      // These are read before the decision changes them.
      const int first_list = s.first_list;
      const u32 first_size = s.size[first_list];
      if (warp == control_warp) {
        publish();
        free_read_lists();
        gather();
      } else {
        count_left();
      }
      __syncthreads();
      if (warp == control_warp) {
        decide(iteration);
      } else {
        look_ahead(first_list, first_size);
      }
      __syncthreads();
      ++round;
      if (warp == control_warp) look_back(iteration);
      if (s.stop) return iteration;
      write_to(round & 1);
      hop = 0;
      if (s.collect) collect();
      expand_all(first_list, first_size);
      if (asked.target_count > 0) check_targets();
      for (hop = 1; hop < s.hops; ++hop) {
        if (!expand_local()) break;
      }
      heap.refill(*this);
      heap.spill(*this);
    }
  }
};

}  // namespace mgraph

using namespace mgraph;

extern "C" __global__ void __launch_bounds__(threads, 1) near_far_search(
    const long long* indptr, const int* indices, const weight_t* weights, int n,
    // what is asked
    int searches, const int* seed_start, const int* seeds, const int* targets, int target_count,
    int first_target, key_t cutoff, key_t* distances,
    // how
    double delta, double unit, double set_point, double mean_degree, double mean_weight,
    double quantum, int hops, u32 most_iterations,
    // working memory
    int blocks, int* near_vertex, key_t* near_key, u32 near_capacity, int* piece_vertex,
    key_t* piece_key, u32* piece_number, u32 piece_capacity, int* far_vertex, key_t* far_key,
    int chunks, u32 chunk_entries, u64* sums, u64* notes,
    // of each block's heap, if there are heaps
    word_t* heap_keys, u32* heap_values, heap_word* heap_words, heap_counts* heap_counts_, u32 places,
    // what happened
    double* trace, int trace_rows, u64* iterations,
    // not 0: end early, all searches
    const u32* stop) {
  extern __shared__ local_list local[];
  __shared__ block_state state;
  u16* const tables = (u16*)(local + 2);
  const int group = blockIdx.x / blocks;
  const size_t far = size_t(blockIdx.x) * chunks * chunk_entries;
  const memory all{{near_vertex, near_key},
                   near_capacity,
                   {piece_vertex, piece_key, piece_number},
                   piece_capacity,
                   {far_vertex + far, far_key + far},
                   chunks,
                   chunk_entries};
  const far_heap_arrays heaps{heap_keys, heap_values, heap_words, heap_counts_, places};
  block_search it{{{{state, tables, tables + lists * chunks, all, delta > 0},
                    {indptr, indices, weights},
                    nullptr,
                    cutoff,
                    local,
                    0,
                    min(u32(threads), u32(most_local_arcs * threads / fmax(mean_degree, 1.0)))}},
                  {heaps, local}};
  it.asked = {searches, seed_start, seeds, targets, target_count, bool(first_target)};
  const double aim = delta > 0 ? 0 : set_point;
  it.how = {delta, unit, 1 / unit, aim, mean_degree, mean_weight, quantum, hops, most_iterations};
  it.n = n;
  it.block = blockIdx.x % blocks;
  it.blocks = blocks;
  it.group = group;
  it.shared_memory = all;
  it.sums = sums + group * 3 * columns;
  it.notes = notes + group * 2 * blocks;
  it.lane = threadIdx.x & 31;
  it.warp = threadIdx.x / 32;
  it.round = 0;
  if (threadIdx.x == 0) state.watch = {stop, 0, false};
  for (int search = group; search < searches; search += gridDim.x / blocks) {
    it.trace = blockIdx.x == 0 && search == 0 ? trace : nullptr;
    it.trace_rows = trace_rows;
    const u32 taken = it.run(search, distances);
    if (threadIdx.x == 0 && it.block == 0) iterations[search] = taken;
  }
}
