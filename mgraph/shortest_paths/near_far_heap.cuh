// The heap of a block in a near-far search (method heap), in which entries of the last far
// partition wait in the order of their distances. Entries move from the last partition to the heap,
// `heap_node` at a time, where that partition is long and more vertices wait than the set-point
// asks for in an iteration. They come back, nearest first, once the threshold or the first
// partition's bound has reached them.
#pragma once

#include <mgraph/heap.cuh>
#include "near_far_rounds.cuh"

namespace mgraph {

constexpr u32 heap_node = threads;
constexpr u32 spill_at = 2 * heap_node;  // entries of the last partition

template <bool has_heaps> struct far_heap {
  using operations = heap_block<word_t, u32, heap_node, threads>;

  typename operations::memory memory;
  typename operations::scratch* scratch;

  static_assert(sizeof(typename operations::scratch) <= 2 * sizeof(hop_list));

  // shared: the two hop lists, which are unused between iterations.
  __device__ far_heap(const far_heap_arrays& arrays, hop_list* shared)
      : scratch(reinterpret_cast<typename operations::scratch*>(shared)) {
    const size_t row = size_t(blockIdx.x) * (arrays.places + operations::memory::spare_rows);
    memory = {arrays.keys + row * heap_node,
              arrays.values + row * heap_node,
              arrays.words + row,
              arrays.counts + blockIdx.x,
              arrays.places,
              arrays.places};
  }

  // Empty the heap. By the whole block, between block barriers.
  __device__ void clear(block_state& state) const {
    for (u32 i = threadIdx.x; i <= memory.places; i += threads) memory.words[i].state = node_empty;
    u64* const counts = reinterpret_cast<u64*>(memory.counts);
    for (u32 i = threadIdx.x; i < sizeof(heap_counts) / 8; i += threads) counts[i] = 0;
    if (threadIdx.x == 0) {
      state.heap_size = 0;
      state.heap_min = no_key;
    }
  }

  // While the last partition's list is long, move its last entries to the heap, and drop those that
  // are stale. By the whole block.
  __device__ void spill(const block_advance& search) const {
    block_state& state = search.state;
    const int list = state.list_of_partition[state.control.live - 1];
    for (;;) {
      __syncthreads();
      const u32 size = state.list_size[list], remaining = size - heap_node;
      if (!state.may_spill || size < spill_at) return;
      const entry queued = search.read_far_entry(true, list, remaining + threadIdx.x);
      const bool current = queued.current && fresh(&search.distance[queued.vertex]) == queued.key;
      if (threadIdx.x == 0) state.spilled = 0;
      __syncthreads();
      operations heap(memory, *scratch);
      const u32 mask = __ballot_sync(all_lanes, current);
      const u32 at = mask ? search.reserve(&state.spilled, mask) : 0;
      if (current) {
        heap.carried.keys[at] = word_t(queued.key);
        heap.carried.values[at] = u32(queued.vertex);
        atomicMin(&state.heap_min, queued.key);
      }
      __syncthreads();
      const u32 count = state.spilled;
      heap.sort(count);
      const bool done = count == 0 || heap.insert(count, true).done;
      __syncthreads();
      if (done) free_chunks(search, list, remaining, size);
      if (threadIdx.x == 0) {
        state.may_spill = done;
        state.list_size[list] = done ? remaining : size;
        state.heap_size += done ? count : 0;
      }
    }
  }

  // Move from the heap to the queues the entries that the next iteration may read. By the whole
  // block.
  __device__ void refill(block_advance& search) const {
    block_state& state = search.state;
    for (;;) {
      __syncthreads();
      const key_t reach =
          state.control.live > 1 ? max(state.bounds[0], state.threshold) : state.threshold;
      if (!state.heap_size || state.heap_min > reach) return;
      operations heap(memory, *scratch);
      const u32 count = heap.remove().count;
      const bool has_entry = threadIdx.x < count;
      const key_t key = has_entry ? key_t(heap.carried.keys[threadIdx.x]) : no_key;
      const int vertex = has_entry ? int(heap.carried.values[threadIdx.x]) : 0;
      const bool current = has_entry && fresh(&search.distance[vertex]) == key;
      search.append_near(current && key <= state.threshold, vertex, key);
      search.append_far(current && key > state.threshold, vertex, key);
      __syncthreads();
      if (threadIdx.x == 0) {
        state.heap_size -= count;
        state.heap_min = state.heap_size ? min_key() : no_key;
      }
    }
  }

 private:
  // Free the chunks of a list in which only entries from `remaining` on were.
  static __device__ void free_chunks(const block_advance& search, int list, u32 remaining,
                                     u32 size) {
    const u32 entries = search.memory.chunk_entries;
    const u32 kept = (remaining + entries - 1) / entries, used = (size + entries - 1) / entries;
    for (u32 i = kept + threadIdx.x; i < min(used, u32(search.memory.chunks)); i += threads) {
      u16* const chunk = &search.chunk_of[list * search.memory.chunks + i];
      if (*chunk < lost_chunk) {
        search.free_chunks[atomicAdd(&search.state.free_chunk_count, 1)] = *chunk;
      }
      *chunk = no_chunk;
    }
  }

  __device__ key_t min_key() const {
    const u32 row = u32(fresh(&memory.counts->nodes)) ? operations::memory::root : 0;
    return key_t(__ldcg(memory.keys + size_t(row) * heap_node));
  }
};

// All other methods: there is no heap.
template <> struct far_heap<false> {
  __device__ far_heap(const far_heap_arrays&, hop_list*) {}
  __device__ void clear(block_state& state) const {
    if (threadIdx.x == 0) {
      state.heap_size = 0;
      state.heap_min = no_key;
    }
  }
  __device__ void spill(const block_advance&) const {}
  __device__ void refill(const block_advance&) const {}
};

}  // namespace mgraph
