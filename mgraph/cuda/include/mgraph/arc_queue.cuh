// A queue of vertices whose arcs a group of blocks shares out evenly.
//
// A vertex of many arcs stands there in pieces of so many that a tile of a warp's lanes takes one in
// four steps, so that no vertex holds a thread up. What is put in is a vertex a lane, by all lanes of
// a warp together; `mine` says which lanes have one.
#pragma once

#include "mgraph/group.cuh"
#include "mgraph/path_length.cuh"

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

struct arc_queue {
  int* vertex;
  u64* arcs;  // where they begin, and above bit 48 how many
  key_t* key;
  u32 capacity;
  u32* count;  // may exceed the capacity: then some are lost, and some pieces have no arcs

  __device__ arc_piece at(u32 i) const {
    const u64 both = fresh(&arcs[i]);
    return {(long long)(both & ((1ULL << 48) - 1)), int(both >> 48), fresh(&vertex[i]),
            fresh(&key[i])};
  }

  // tag: goes with the vertex, as its sign. Returns whether this lane's vertex is in.
  __device__ bool put(bool mine, int v, bool tag, key_t its_key, const long long* indptr,
                      int tile) const {
    if (!__any_sync(all_lanes, mine)) return true;
    const int lane = threadIdx.x & 31;
    const long long begin = mine ? indptr[v] : 0;
    const long long end = mine ? indptr[v + 1] : 0;
    const u32 size = steps * tile;
    const u32 pieces = u32((end - begin + size - 1) / size);
    u32 before = pieces;  // up to this lane's
    for (int step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(all_lanes, before, step);
      if (lane >= step) before += other;
    }
    u32 place = 0;
    if (lane == 31) place = atomicAdd(count, before);
    place = __shfl_sync(all_lanes, place, 31) + before - pieces;
    const bool fits = place + pieces <= capacity;
    const auto write = [&](u32 to, u32 piece, int of, key_t with, long long first, long long last) {
      const long long from = first + (long long)piece * size;
      vertex[to] = of;
      key[to] = with;
      arcs[to] = u64(from) | u64(min((long long)size, last - from)) << 48;
    };
    if (!fits) {  // what stands beyond these places is lost; these must not be read
      for (u32 i = place; i < capacity; ++i) arcs[i] = 0;
    }
    const int tagged = tag ? ~v : v;
    if (fits && pieces <= 4) {
      for (u32 i = 0; i < pieces; ++i) write(place + i, i, tagged, its_key, begin, end);
    }
    for (u32 large = __ballot_sync(all_lanes, fits && pieces > 4); large; large &= large - 1) {
      const int from = __ffs(large) - 1;
      const u32 many = __shfl_sync(all_lanes, pieces, from);
      const u32 first_place = __shfl_sync(all_lanes, place, from);
      const int of = __shfl_sync(all_lanes, tagged, from);
      const key_t with = __shfl_sync(all_lanes, its_key, from);
      const long long first = __shfl_sync(all_lanes, begin, from);
      const long long last = __shfl_sync(all_lanes, end, from);
      for (u32 i = lane; i < many; i += 32) write(first_place + i, i, of, with, first, last);
    }
    return fits;
  }
};

}  // namespace mgraph
