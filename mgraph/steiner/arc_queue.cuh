// A queue of vertices whose arcs a group of blocks shares out evenly.
//
// A vertex of many arcs is queued as several pieces, each of as many arcs as a tile of a warp's
// lanes takes at once, so that no vertex delays a thread. Vertices are queued one per lane, by all
// lanes of a warp at once; `valid` says which lanes have one.
#pragma once

#include "group.cuh"
#include "whole_lengths.cuh"

namespace mgraph {

using u32 = unsigned int;
using u64 = unsigned long long;
constexpr u32 all_lanes = 0xFFFFFFFF;
constexpr int arcs_per_lane = 4;  // of a piece, at most

struct arc_piece {
  long long begin;
  int count, vertex;
  key_t key;
};

// The inclusive prefix sum over the lanes of a warp.
__device__ __forceinline__ u32 prefix_sum(u32 value) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const u32 other = __shfl_up_sync(all_lanes, value, distance);
    if ((threadIdx.x & 31) >= distance) value += other;
  }
  return value;
}

// Consecutive arcs of a vertex.
struct arc_range {
  long long begin;
  u32 count;
};

struct arc_queue {
  int* vertex;
  u64* arcs;  // the first arc, and above bit 48 the number of arcs
  key_t* key;
  u32 capacity;
  u32* count;  // may exceed the capacity: then some pieces are lost, and some have no arcs
  int tile;    // lanes per piece, a power of two

  __device__ arc_piece at(u32 i) const {
    const u64 range = fresh(&arcs[i]);
    return {(long long)(range & ((1ULL << 48) - 1)), int(range >> 48), fresh(&vertex[i]),
            fresh(&key[i])};
  }

  // The number of pieces of a vertex with so many arcs.
  __device__ static u32 pieces(u32 count, int tile) {
    return (count + arcs_per_lane * tile - 1) >> (__ffs(arcs_per_lane * tile) - 1);
  }

  // Write the pieces of one vertex per lane from ``place`` on, if the capacity suffices. tag: one
  // bit that is stored with the vertex, as its complement. By all lanes of a warp.
  __device__ void write(bool valid, u32 place, int v, bool tag, key_t vertex_key,
                        arc_range range) const {
    const u32 count = valid ? pieces(range.count, tile) : 0;
    const bool fits = place + count <= capacity;
    const int tagged = tag ? ~v : v;
    if (fits && count > 0) write_piece(place, 0, tagged, vertex_key, range);
    if (__any_sync(all_lanes, !fits || count > 1)) {
      write_others(count, fits, place, tagged, vertex_key, range);
    }
  }

  __device__ void write_piece(u32 to, u32 i, int tagged, key_t vertex_key, arc_range range) const {
    const u32 first = i * arcs_per_lane * tile;
    vertex[to] = tagged;
    key[to] = vertex_key;
    arcs[to] = u64(range.begin + first) | u64(min(u32(arcs_per_lane * tile), range.count - first))
                                              << 48;
  }

  // Write the pieces after each lane's first. Not inlined: it is rare, and takes long to compile.
  __device__ __noinline__ void write_others(u32 count, bool fits, u32 place, int tagged,
                                            key_t vertex_key, arc_range range) const {
    if (!fits) {  // pieces beyond the capacity are lost; those below it get no arcs, and a vertex
      for (u32 to = place; to < capacity; ++to) vertex[to] = 0, arcs[to] = 0;
    } else if (count <= 4) {
      for (u32 i = 1; i < count; ++i) write_piece(place + i, i, tagged, vertex_key, range);
    }
    for (u32 large = __ballot_sync(all_lanes, fits && count > 4); large; large &= large - 1) {
      const int owner = __ffs(large) - 1;
      const u32 owner_count = __shfl_sync(all_lanes, count, owner);
      const u32 owner_place = __shfl_sync(all_lanes, place, owner);
      const int owner_vertex = __shfl_sync(all_lanes, tagged, owner);
      const key_t owner_key = __shfl_sync(all_lanes, vertex_key, owner);
      const arc_range owner_arcs = {__shfl_sync(all_lanes, range.begin, owner),
                                    __shfl_sync(all_lanes, range.count, owner)};
      for (u32 i = 1 + (threadIdx.x & 31); i < owner_count; i += 32) {
        write_piece(owner_place + i, i, owner_vertex, owner_key, owner_arcs);
      }
    }
  }

  // Queue one vertex per lane with the arcs of a range. Returns whether this lane's vertex fits.
  __device__ bool push(bool valid, int v, bool tag, key_t vertex_key, arc_range range) const {
    if (!__any_sync(all_lanes, valid)) return true;
    if (!valid) range.count = 0;
    const u32 added = pieces(range.count, tile), sum = prefix_sum(added);
    u32 place = 0;
    if ((threadIdx.x & 31) == 31) place = atomicAdd(count, sum);
    place = __shfl_sync(all_lanes, place, 31) + sum - added;
    write(valid, place, v, tag, vertex_key, range);
    return place + added <= capacity;
  }
};

}  // namespace mgraph
