// The queues of a near-far search, from one block's side. What is put into them is an entry a lane,
// by all lanes of a warp together; `mine` says which lanes have one.
#pragma once

#include "near_far_state.cuh"

namespace mgraph {

struct queues {
  block_state& s;
  u16* chunk_of;   // [lists][chunks]: of each list, its chunks
  u16* free_list;  // [chunks]
  memory m;        // with the lists that this block writes
  bool one_partition;

  // A place for each lane of a mask in a list that grows.
  __device__ u32 place_in(u32* count, u32 mask) const {
    const int leader = __ffs(mask) - 1;
    u32 position = 0;
    if ((threadIdx.x & 31) == leader) position = atomicAdd(count, __popc(mask));
    return __shfl_sync(all_lanes, position, leader) + __popc(mask & lanes_below());
  }

  // The far queue empty, all chunks free. By the whole block, between barriers.
  __device__ void clear_far() {
    for (int i = threadIdx.x; i < lists * m.chunks; i += threads) chunk_of[i] = no_chunk;
    for (int i = threadIdx.x; i < m.chunks; i += threads) free_list[i] = u16(i);
    if (threadIdx.x < lists) {
      s.size[threadIdx.x] = 0;
      s.least[threadIdx.x] = no_key;
    }
    if (threadIdx.x == 0) s.free_chunks = m.chunks;
  }

  // Give back the chunks of the lists that were read. By one warp.
  __device__ void free_read_lists() {
    for (int r = 0; r < s.reads; ++r) {
      const int list = s.read_list[r];
      const u32 used = min(u32(m.chunks), (s.size[list] + m.chunk_entries - 1) / m.chunk_entries);
      for (u32 i = threadIdx.x & 31; i < used; i += 32) {
        const u16 chunk = chunk_of[list * m.chunks + i];
        chunk_of[list * m.chunks + i] = no_chunk;
        if (chunk < lost_chunk) free_list[atomicAdd(&s.free_chunks, 1)] = chunk;
      }
    }
  }

  // The entry at a position of a list; not looked up yet.
  __device__ entry far_entry(bool mine, int list, u32 position) const {
    const u32 index = position / m.chunk_entries;
    const u16 chunk =
        mine && index < m.chunks ? chunk_of[list * m.chunks + index] : lost_chunk;
    if (chunk >= lost_chunk) return entry{};
    const u32 at = chunk * m.chunk_entries + position % m.chunk_entries;
    return entry{true, m.far.vertex[at], m.far.key[at], 0, 0};
  }

  // Put entries into a partition's list. Whoever comes to a chunk's first place provides the
  // chunk, and the others wait for it, which takes no longer than that. It is told by an atomic
  // operation, for racecheck to see that this is meant: by a comparison, which a list that is begun
  // anew always passes, since there is no atomic exchange of 16 bits.
  __device__ void put_into(int part, bool mine, int vertex, key_t key) {
    if (!__any_sync(all_lanes, mine)) return;
    const int list = s.list_of_part[part];
    const u32 position = mine ? atomicAdd(&s.size[list], 1u) : 0;
    const u32 index = position / m.chunk_entries;
    u16* const provided = &chunk_of[list * m.chunks + index];
    if (mine && position % m.chunk_entries == 0 && index < m.chunks) {
      const int top = atomicSub(&s.free_chunks, 1) - 1;
      if (top < 0) atomicAdd(&s.free_chunks, 1);
      atomicCAS(provided, no_chunk, top < 0 ? lost_chunk : free_list[top]);
    }
    __syncwarp();
    if (mine) {
      atomicMin(&s.least[list], key);
      u16 chunk = index < m.chunks ? no_chunk : lost_chunk;
      while (chunk == no_chunk) chunk = *(volatile u16*)provided;
      if (chunk == lost_chunk) {
        s.count[lost_sum] = 1;
      } else {
        const u32 at = chunk * m.chunk_entries + position % m.chunk_entries;
        m.far.vertex[at] = vertex;
        m.far.key[at] = key;
      }
    }
    __syncwarp();
  }

  __device__ void put_far(bool mine, int vertex, key_t key) {
    if (!__any_sync(all_lanes, mine)) return;
    int part = 0;
    if (mine && !one_partition) {
#pragma unroll
      for (int i = 0; i < partitions - 1; ++i) part += key > s.bounds[i];
    }
    put_into(part, mine, vertex, key);
  }

  // Leave entries to all blocks, for the next iteration; where there is no room, in the first
  // partition, which the next iteration reads since it holds something near.
  __device__ void leave(bool mine, int vertex, key_t key) {
    const u32 mask = __ballot_sync(all_lanes, mine);
    if (!mask) return;
    const u32 position = place_in(&s.count[near_sum], mask);
    const bool room = position < m.near_capacity;
    if (mine && room) {
      m.near.vertex[position] = vertex;
      m.near.key[position] = key;
      atomicMin(&s.least_near, key);
    }
    put_into(0, mine && !room, vertex, key);
  }

  // `wanted` places of a list if it has so many left; else only a position beyond the last.
  __device__ u32 claim(u32* count, u32 wanted, u32 capacity) const {
    u32 position = *(volatile u32*)count;
    while (position + wanted <= capacity) {
      const u32 before = atomicCAS(count, position, position + wanted);
      if (before == position) break;
      position = before;
    }
    return position;
  }

  // Cut vertices of many arcs up for all blocks; false where there was no need or no room.
  __device__ bool leave_pieces(bool mine, const entry& e) {
    const u32 lane = threadIdx.x & 31;
    bool left = false;
    u32 large = __ballot_sync(all_lanes, mine && e.degree > piece_arcs);
    for (; large; large &= large - 1) {
      const int owner = __ffs(large) - 1;
      const int vertex = __shfl_sync(all_lanes, e.vertex, owner);
      const key_t key = __shfl_sync(all_lanes, e.key, owner);
      const u32 degree = __shfl_sync(all_lanes, e.degree, owner);
      const u32 count = (degree + piece_arcs - 1) / piece_arcs;
      u32 position = 0;
      if (lane == 0) position = claim(&s.count[piece_sum], count, m.piece_capacity);
      position = __shfl_sync(all_lanes, position, 0);
      const bool room = position + count <= m.piece_capacity;
      if (lane == 0 && room) atomicMin(&s.least_near, key);
      for (u32 i = lane; room && i < count; i += 32) {
        m.pieces.vertex[position + i] = vertex;
        m.pieces.key[position + i] = key;
        m.pieces.number[position + i] = i;
      }
      left = left || (room && lane == u32(owner));
    }
    return left;
  }

  // Keep entries for this block's own next hop. Returns whether this lane's found room.
  __device__ bool keep(int hop, bool mine, const entry& e, local_list* local) {
    const u32 mask = __ballot_sync(all_lanes, mine);
    if (!mask) return false;
    const u32 position = place_in(&s.local_count[hop % 3], mask);
    if (!mine || position >= threads) return false;
    local_list& list = local[hop & 1];
    list.vertex[position] = e.vertex;
    list.key[position] = e.key;
    list.begin[position] = e.begin;
    list.degree[position] = e.degree;
    return true;
  }
};

}  // namespace mgraph
