// A queue of vertices whose arcs a group of blocks shares out evenly.
//
// A vertex of many arcs stands there in pieces of so many that a tile of a warp's lanes takes one in
// four steps, so that no vertex holds a thread up. What is put in is a vertex a lane, by all lanes of
// a warp together; `mine` says which lanes have one.
#pragma once

#include "group.cuh"
#include "whole_lengths.cuh"

namespace mgraph {

using u32 = unsigned int;
using u64 = unsigned long long;
constexpr u32 all_lanes = 0xFFFFFFFF;
constexpr int steps = 4;  // of a tile, a piece

struct arc_piece {
  long long begin;
  int count, vertex;
  key_t key;
};

// The sum of the lanes' values up to each.
__device__ __forceinline__ u32 prefix_sum(u32 value) {
  for (int step = 1; step < 32; step *= 2) {
    const u32 other = __shfl_up_sync(all_lanes, value, step);
    if ((threadIdx.x & 31) >= step) value += other;
  }
  return value;
}

// Arcs of a vertex, one after another.
struct arc_range {
  long long begin;
  u32 count;
};

struct arc_queue {
  int* vertex;
  u64* arcs;  // where they begin, and above bit 48 how many
  key_t* key;
  u32 capacity;
  u32* count;  // may exceed the capacity: then some are lost, and some pieces have no arcs
  int tile;    // lanes to a piece

  __device__ arc_piece at(u32 i) const {
    const u64 both = fresh(&arcs[i]);
    return {(long long)(both & ((1ULL << 48) - 1)), int(both >> 48), fresh(&vertex[i]),
            fresh(&key[i])};
  }

  // tile: a power of two.
  __device__ static u32 pieces(u32 count, int tile) {
    return (count + steps * tile - 1) >> (__ffs(steps * tile) - 1);
  }

  // Write the pieces of a vertex a lane to where there is room for them, if there is. tag: goes with
  // the vertex, which then stands as its complement. By all lanes of a warp.
  __device__ void write(bool mine, u32 place, int v, bool tag, key_t its_key, arc_range its) const {
    const u32 count = mine ? pieces(its.count, tile) : 0;
    const bool fits = place + count <= capacity;
    const int tagged = tag ? ~v : v;
    const auto put_one = [&](u32 to, u32 i, int of, key_t with, arc_range all) {
      const u32 first = i * steps * tile;
      vertex[to] = of;
      key[to] = with;
      arcs[to] = u64(all.begin + first) | u64(min(u32(steps * tile), all.count - first)) << 48;
    };
    if (fits && count > 0) put_one(place, 0, tagged, its_key, its);
    if (!__any_sync(all_lanes, !fits || count > 1)) return;
    if (!fits) {  // what stands beyond these places is lost; these must not be read
      for (u32 to = place; to < capacity; ++to) arcs[to] = 0;
    } else if (count <= 4) {
      for (u32 i = 1; i < count; ++i) put_one(place + i, i, tagged, its_key, its);
    }
    for (u32 large = __ballot_sync(all_lanes, fits && count > 4); large; large &= large - 1) {
      const int from = __ffs(large) - 1;
      const u32 many = __shfl_sync(all_lanes, count, from);
      const u32 first_place = __shfl_sync(all_lanes, place, from);
      const int of = __shfl_sync(all_lanes, tagged, from);
      const key_t with = __shfl_sync(all_lanes, its_key, from);
      const arc_range all = {__shfl_sync(all_lanes, its.begin, from),
                             __shfl_sync(all_lanes, its.count, from)};
      for (u32 i = 1 + (threadIdx.x & 31); i < many; i += 32) {
        put_one(first_place + i, i, of, with, all);
      }
    }
  }

  // Put a vertex a lane in, with some of its arcs. Returns whether this lane's is.
  __device__ bool put(bool mine, int v, bool tag, key_t its_key, arc_range its) const {
    if (!__any_sync(all_lanes, mine)) return true;
    if (!mine) its.count = 0;
    const u32 its_pieces = pieces(its.count, tile), before = prefix_sum(its_pieces);
    u32 place = 0;
    if ((threadIdx.x & 31) == 31) place = atomicAdd(count, before);
    place = __shfl_sync(all_lanes, place, 31) + before - its_pieces;
    write(mine, place, v, tag, its_key, its);
    return place + its_pieces <= capacity;
  }
};

}  // namespace mgraph
