// The heap of a near-far search's block. What waits in the last partition goes there, K entries at a
// time, where that is long and more vertices wait than the set-point wants in an iteration. It comes
// out in order, once the first partition has come to it.
#pragma once

#include <mgraph/heap.cuh>
#include "near_far_rounds.cuh"

namespace mgraph {

using word_t = unsigned_of<sizeof(key_t)>::type;
constexpr u32 heap_node = threads;
constexpr u32 spill_at = 2 * heap_node;  // entries of the last partition

// Of all blocks, one behind the other.
struct far_heap_arrays {
  word_t* keys;
  u32* values;
  heap_word* words;
  heap_counts* counts;
  u32 places;
};

template <bool is_there> struct far_heap {
  using block_of_heap = heap_block<word_t, u32, heap_node, threads>;

  typename block_of_heap::memory memory;
  typename block_of_heap::scratch* scratch;

  static_assert(sizeof(typename block_of_heap::scratch) <= 2 * sizeof(local_list));

  // shared: two lists of hops, which nobody needs between iterations
  __device__ far_heap(const far_heap_arrays& all, local_list* shared)
      : scratch(reinterpret_cast<typename block_of_heap::scratch*>(shared)) {
    const size_t row = size_t(blockIdx.x) * (all.places + block_of_heap::memory::spare_rows);
    memory = {all.keys + row * heap_node, all.values + row * heap_node, all.words + row,
              all.counts + blockIdx.x, all.places, all.places};
  }

  // Empty. By the whole block, between barriers.
  __device__ void clear(block_state& s) const {
    for (u32 i = threadIdx.x; i <= memory.places; i += threads) memory.words[i].state = node_empty;
    u64* const counts = reinterpret_cast<u64*>(memory.counts);
    for (u32 i = threadIdx.x; i < sizeof(heap_counts) / 8; i += threads) counts[i] = 0;
    if (threadIdx.x == 0) {
      s.heap_size = 0;
      s.heap_least = no_key;
    }
  }

  // While the last partition's list is long, puts its last entries into the heap, those that were
  // not replaced. By the whole block.
  __device__ void spill(const advance& a) const {
    block_state& s = a.s;
    const int list = s.list_of_part[s.control.live - 1];
    for (;;) {
      __syncthreads();
      const u32 size = s.size[list], rest = size - heap_node;
      if (!s.may_spill || size < spill_at) return;
      const entry e = a.far_entry(true, list, rest + threadIdx.x);
      const bool live = e.live && fresh(&a.distance[e.vertex]) == e.key;
      if (threadIdx.x == 0) s.moving = 0;
      __syncthreads();
      block_of_heap heap(memory, *scratch);
      const u32 mask = __ballot_sync(all_lanes, live);
      const u32 at = mask ? a.place_in(&s.moving, mask) : 0;
      if (live) {
        heap.carried.keys[at] = word_t(e.key);
        heap.carried.values[at] = u32(e.vertex);
        atomicMin(&s.heap_least, e.key);
      }
      __syncthreads();
      const u32 count = s.moving;
      heap.sort(count);
      const bool done = count == 0 || heap.insert(count, true).done;
      __syncthreads();
      if (done) free_chunks(a, list, rest, size);
      if (threadIdx.x == 0) {
        s.may_spill = done;
        s.size[list] = done ? rest : size;
        s.heap_size += done ? count : 0;
      }
    }
  }

  // Takes entries out of the heap that the next iteration may want. By the whole block.
  __device__ void refill(advance& a) const {
    block_state& s = a.s;
    for (;;) {
      __syncthreads();
      const key_t soon = s.control.live > 1 ? max(s.bounds[0], s.threshold) : s.threshold;
      if (!s.heap_size || s.heap_least > soon) return;
      block_of_heap heap(memory, *scratch);
      const u32 count = heap.remove().count;
      const bool there = threadIdx.x < count;
      const key_t key = there ? key_t(heap.carried.keys[threadIdx.x]) : no_key;
      const int vertex = there ? int(heap.carried.values[threadIdx.x]) : 0;
      const bool live = there && fresh(&a.distance[vertex]) == key;
      a.leave(live && key <= s.threshold, vertex, key);
      a.put_far(live && key > s.threshold, vertex, key);
      __syncthreads();
      if (threadIdx.x == 0) {
        s.heap_size -= count;
        s.heap_least = s.heap_size ? least() : no_key;
      }
    }
  }

 private:
  // Those of a list that only entries from `rest` on were in.
  static __device__ void free_chunks(const advance& a, int list, u32 rest, u32 size) {
    const u32 each = a.m.chunk_entries;
    const u32 kept = (rest + each - 1) / each, used = (size + each - 1) / each;
    for (u32 i = kept + threadIdx.x; i < min(used, u32(a.m.chunks)); i += threads) {
      u16* const chunk = &a.chunk_of[list * a.m.chunks + i];
      if (*chunk < lost_chunk) a.free_list[atomicAdd(&a.s.free_chunks, 1)] = *chunk;
      *chunk = no_chunk;
    }
  }

  __device__ key_t least() const {
    const u32 row = u32(fresh(&memory.counts->nodes)) ? block_of_heap::memory::root : 0;
    return key_t(__ldcg(memory.keys + size_t(row) * heap_node));
  }
};
// Where there is none.
template <> struct far_heap<false> {
  __device__ far_heap(const far_heap_arrays&, local_list*) {}
  __device__ void clear(block_state& s) const {
    if (threadIdx.x == 0) {
      s.heap_size = 0;
      s.heap_least = no_key;
    }
  }
  __device__ void spill(const advance&) const {}
  __device__ void refill(const advance&) const {}
};

}  // namespace mgraph
