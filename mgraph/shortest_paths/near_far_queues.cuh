// A block's side of the queues of a near-far search: it appends to its own near queue, pieces, far
// queue and hop lists. All lanes of a warp call these functions together, each with at most one
// entry; `has_entry` says which lanes have one.
//
// The near queue and the pieces are read by all blocks in the next iteration, the far queue and the
// hop lists by this block alone.
#pragma once

#include "near_far_state.cuh"

namespace mgraph {

struct block_queues {
  block_state& state;
  u16* chunk_of;         // [lists][chunks]: the chunks of each list
  u16* free_chunks;      // [chunks], a stack
  search_memory memory;  // its near, pieces and far are this block's own
  bool one_partition;

  // Reserve a position for each lane of a mask at the end of a list.
  __device__ u32 reserve(u32* size, u32 mask) const {
    const int leader = __ffs(mask) - 1;
    u32 position = 0;
    if ((threadIdx.x & 31) == leader) position = atomicAdd(size, __popc(mask));
    return __shfl_sync(all_lanes, position, leader) + __popc(mask & lanes_below());
  }

  // Empty the far queue. By the whole block, between block barriers.
  __device__ void clear_far_queue() {
    for (int i = threadIdx.x; i < lists * memory.chunks; i += threads) chunk_of[i] = no_chunk;
    for (int i = threadIdx.x; i < memory.chunks; i += threads) free_chunks[i] = u16(i);
    if (threadIdx.x < lists) {
      state.list_size[threadIdx.x] = 0;
      state.list_min[threadIdx.x] = no_key;
    }
    if (threadIdx.x == 0) state.free_chunk_count = memory.chunks;
  }

  // Free the chunks of the lists that were read. By one warp.
  __device__ void free_read_lists() {
    for (int r = 0; r < state.lists_read; ++r) {
      const int list = state.read_list[r];
      const u32 size = state.list_size[list];
      const u32 used =
          min(u32(memory.chunks), (size + memory.chunk_entries - 1) / memory.chunk_entries);
      for (u32 i = threadIdx.x & 31; i < used; i += 32) {
        const u16 chunk = chunk_of[list * memory.chunks + i];
        chunk_of[list * memory.chunks + i] = no_chunk;
        if (chunk < lost_chunk) free_chunks[atomicAdd(&state.free_chunk_count, 1)] = chunk;
      }
    }
  }

  // Read the entry at a position of a far list, without looking its vertex up: "current" only says
  // that there is an entry.
  __device__ entry read_far_entry(bool has_entry, int list, u32 position) const {
    const u32 index = position / memory.chunk_entries;
    const u16 chunk =
        has_entry && index < memory.chunks ? chunk_of[list * memory.chunks + index] : lost_chunk;
    if (chunk >= lost_chunk) return entry{};
    const u32 at = chunk * memory.chunk_entries + position % memory.chunk_entries;
    return entry{true, memory.far.vertex[at], memory.far.key[at], 0, 0};
  }

  // Append entries to a partition's list. The thread that reserves a chunk's first position takes a
  // chunk from the stack and stores it in chunk_of, and those with later positions spin until they
  // see it. They cannot wait for ever: that thread reserved its position earlier and stores the
  // chunk without waiting; in the same warp it does so before the __syncwarp behind which the
  // others spin. The stack only shrinks meanwhile: chunks are freed at the barrier, or between
  // block barriers (heaps). No fence is needed, since the chunk's number is all that is handed
  // over. It is stored by an atomic operation, so that racecheck does not take it for a race;
  // atomicCAS from no_chunk, which always succeeds, because there is no 16-bit atomicExch.
  __device__ void append_to_partition(int partition, bool has_entry, int vertex, key_t key) {
    if (!__any_sync(all_lanes, has_entry)) return;
    const int list = state.list_of_partition[partition];
    const u32 position = has_entry ? atomicAdd(&state.list_size[list], 1u) : 0;
    const u32 index = position / memory.chunk_entries;
    u16* const slot = &chunk_of[list * memory.chunks + index];
    if (has_entry && position % memory.chunk_entries == 0 && index < memory.chunks) {
      const int top = atomicSub(&state.free_chunk_count, 1) - 1;
      if (top < 0) atomicAdd(&state.free_chunk_count, 1);
      atomicCAS(slot, no_chunk, top < 0 ? lost_chunk : free_chunks[top]);
    }
    __syncwarp();
    if (has_entry) {
      atomicMin(&state.list_min[list], key);
      u16 chunk = index < memory.chunks ? no_chunk : lost_chunk;
      while (chunk == no_chunk) chunk = *(volatile u16*)slot;
      if (chunk == lost_chunk) {
        state.count[lost_sum] = 1;
      } else {
        const u32 at = chunk * memory.chunk_entries + position % memory.chunk_entries;
        memory.far.vertex[at] = vertex;
        memory.far.key[at] = key;
      }
    }
    __syncwarp();
  }

  // Append entries to the far queue, each to the partition that its key belongs to.
  __device__ void append_far(bool has_entry, int vertex, key_t key) {
    if (!__any_sync(all_lanes, has_entry)) return;
    int partition = 0;
    if (has_entry && !one_partition) {
#pragma unroll
      for (int i = 0; i < partitions - 1; ++i) partition += key > state.bounds[i];
    }
    append_to_partition(partition, has_entry, vertex, key);
  }

  // Append entries to the near queue, which all blocks share in the next iteration. Those that do
  // not fit go to the first partition, which the next iteration reads if its threshold reaches
  // them.
  __device__ void append_near(bool has_entry, int vertex, key_t key) {
    const u32 mask = __ballot_sync(all_lanes, has_entry);
    if (!mask) return;
    const u32 position = reserve(&state.count[near_sum], mask);
    const bool fits = position < memory.near_capacity;
    if (has_entry && fits) {
      memory.near.vertex[position] = vertex;
      memory.near.key[position] = key;
      atomicMin(&state.min_near, key);
    }
    append_to_partition(0, has_entry && !fits, vertex, key);
  }

  // Reserve `count` positions at the end of a list if they fit, else return a position from which
  // they do not.
  __device__ u32 reserve_if_fits(u32* size, u32 count, u32 capacity) const {
    u32 position = *(volatile u32*)size;
    while (position + count <= capacity) {
      const u32 before = atomicCAS(size, position, position + count);
      if (before == position) break;
      position = before;
    }
    return position;
  }

  // Cut vertices with many arcs into pieces, which all blocks share in the next iteration. Returns
  // whether this lane's vertex was cut: it has enough arcs, and the pieces fit.
  __device__ bool append_pieces(bool has_entry, const entry& queued) {
    const u32 lane = threadIdx.x & 31;
    bool was_cut = false;
    u32 large = __ballot_sync(all_lanes, has_entry && queued.degree > piece_arcs);
    for (; large; large &= large - 1) {
      const int owner = __ffs(large) - 1;
      const int vertex = __shfl_sync(all_lanes, queued.vertex, owner);
      const key_t key = __shfl_sync(all_lanes, queued.key, owner);
      const u32 degree = __shfl_sync(all_lanes, queued.degree, owner);
      const u32 count = (degree + piece_arcs - 1) / piece_arcs;
      u32 position = 0;
      if (lane == 0) {
        position = reserve_if_fits(&state.count[piece_sum], count, memory.piece_capacity);
      }
      position = __shfl_sync(all_lanes, position, 0);
      const bool fits = position + count <= memory.piece_capacity;
      if (lane == 0 && fits) atomicMin(&state.min_near, key);
      for (u32 i = lane; fits && i < count; i += 32) {
        memory.pieces.vertex[position + i] = vertex;
        memory.pieces.key[position + i] = key;
        memory.pieces.number[position + i] = i;
      }
      was_cut = was_cut || (fits && lane == u32(owner));
    }
    return was_cut;
  }

  // Append entries to the list of this block's hop `hop`. Returns whether this lane's entry fits.
  __device__ bool append_hop(int hop, bool has_entry, const entry& queued, hop_list* hop_lists) {
    const u32 mask = __ballot_sync(all_lanes, has_entry);
    if (!mask) return false;
    const u32 position = reserve(&state.hop_count[hop % 3], mask);
    if (!has_entry || position >= threads) return false;
    hop_list& list = hop_lists[hop & 1];
    list.vertex[position] = queued.vertex;
    list.key[position] = queued.key;
    list.first_arc[position] = queued.first_arc;
    list.degree[position] = queued.degree;
    return true;
  }
};

}  // namespace mgraph
