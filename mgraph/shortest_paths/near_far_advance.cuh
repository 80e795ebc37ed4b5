// Advance, filter and bisect-frontier of a near-far search: relaxing arcs, and what becomes of the
// vertices that they improve. By all lanes of a warp together, but for `expand_kept`.
#pragma once

#include "near_far_queues.cuh"

namespace mgraph {

struct advance : queues {
  graph g;
  key_t* distance;
  key_t cutoff;
  local_list* local;  // [2]
  int hop;            // within the iteration
  u32 most_local;     // entries with which a block goes on by itself

  // Look a vertex up; all loads of it are under way at once.
  __device__ entry look_up(bool mine, int vertex, key_t key) const {
    entry e{false, vertex, key, 0, 0};
    if (mine) {
      const key_t now = fresh(&distance[vertex]);
      e.begin = g.indptr[vertex];
      e.degree = u32(g.indptr[vertex + 1] - e.begin);
      e.live = now == key;
    }
    return e;
  }

  // Bisect-frontier. What is near stays in this block while a hop is left, else goes to all.
  __device__ void put(bool mine, const entry& e) {
    bool near = mine && e.key <= s.threshold;
    const bool far = mine && !near;
    if (hop + 1 < s.hops && keep(hop + 1, near, e, local)) near = false;
    leave(near, e.vertex, e.key);
    put_far(far, e.vertex, e.key);
  }

  // Relax one arc a lane.
  __device__ void relax(bool mine, key_t key, long long arc) {
    entry e{false, 0, no_key, 0, 0};
    if (mine) {
      e.vertex = g.indices[arc];
      e.key = g.along(key, arc);
      mine = e.key <= cutoff;
      // With few arcs about, latency counts: then the row is fetched beside the distance, and the
      // distance not asked for first.
      if (s.eager) {
        e.begin = g.indptr[e.vertex];
        e.degree = u32(g.indptr[e.vertex + 1] - e.begin);
      } else {
        mine = mine && e.key < fresh(&distance[e.vertex]);
      }
      if (mine) mine = e.key < atomicMin(&distance[e.vertex], e.key);
    }
    const u32 improved = __ballot_sync(all_lanes, mine);
    if (!improved) return;
    if ((threadIdx.x & 31) == 0) atomicAdd(&s.count[updated_sum], __popc(improved));
    if (mine) atomicMax(&s.largest, e.key);
    put(mine, e);
  }

  // Relax the arcs of one entry a lane, spread evenly over the warp. unsure: the entry may have
  // been replaced; that is looked up while its arcs are on their way.
  __device__ void expand(bool mine, const entry& e, bool unsure = false) {
    const key_t now = unsure && mine ? fresh(&distance[e.vertex]) : e.key;
    const u32 lane = threadIdx.x & 31;
    const bool left = leave_pieces(mine, e);
    const u32 degree = mine && !left ? e.degree : 0;
    const u32 end = prefix_sum(degree, lane), start = end - degree;
    const u32 total = __shfl_sync(all_lanes, end, 31);
    if (!total) return;
    const u32 expanded = __ballot_sync(all_lanes, degree > 0);
    if (lane == 0) {
      atomicAdd(&s.count[arcs_sum], total);
      atomicAdd(&s.count[expanded_sum], __popc(expanded));
    }
    for (u32 base = 0; base < total; base += 32) {
      const u32 rank = base + lane;
      int owner = 0;  // the last lane whose start is at most rank
      for (int step = 16; step; step /= 2) {
        const u32 there = __shfl_sync(all_lanes, start, owner + step);
        if (there <= rank) owner += step;
      }
      const key_t from = __shfl_sync(all_lanes, e.key, owner);
      const long long begin = __shfl_sync(all_lanes, e.begin, owner);
      const u32 skip = __shfl_sync(all_lanes, start, owner);
      const bool counts = __shfl_sync(all_lanes, int(now == e.key), owner);
      relax(rank < total && counts, from, begin + (rank - skip));
    }
  }

  // Keep entries for `expand_kept`; there is room for one a thread.
  __device__ void keep_here(bool mine, const entry& e) {
    const bool left = leave_pieces(mine, e);
    keep(0, mine && !left, e, local);
  }

  // Relax the arcs of the kept entries, spread evenly over the block. By the whole block.
  __device__ void expand_kept() {
    __syncthreads();
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, count = s.local_count[0];
    const local_list& list = local[0];
    const u32 end = prefix_sum(threadIdx.x < count ? list.degree[threadIdx.x] : 0, lane);
    if (lane == 31) s.warp_arcs[warp] = end;
    __syncthreads();
    const u32 ends_here = prefix_sum(lane < warps ? s.warp_arcs[lane] : 0, lane);
    const u32 before = warp ? __shfl_sync(all_lanes, ends_here, warp - 1) : 0;
    s.ends[threadIdx.x] = before + end;
    __syncthreads();
    const u32 total = count ? s.ends[count - 1] : 0;
    if (threadIdx.x == 0) {
      atomicAdd(&s.count[arcs_sum], total);
      atomicAdd(&s.count[expanded_sum], count);
      s.local_count[0] = 0;
    }
    for (u32 base = warp * 32; base < total; base += threads) {
      const u32 rank = base + lane;
      u32 low = 0, high = count - 1;  // the first entry whose end is above rank
      while (low < high) {
        const u32 middle = (low + high) / 2;
        if (s.ends[middle] <= rank) low = middle + 1; else high = middle;
      }
      const u32 skip = low ? s.ends[low - 1] : 0;
      relax(rank < total, list.key[low], list.begin[low] + (rank - skip));
    }
    __syncthreads();
  }

  // Relax the arcs of a piece, by a warp.
  __device__ void expand_piece(int u, key_t key, u32 number) {
    const u32 lane = threadIdx.x & 31;
    const key_t now = lane == 0 ? fresh(&distance[u]) : key;
    if (!__all_sync(all_lanes, now == key)) return;
    const long long begin = g.indptr[u] + (long long)number * piece_arcs;
    const long long end = min(begin + piece_arcs, g.indptr[u + 1]);
    if (lane == 0) {
      atomicAdd(&s.count[arcs_sum], u32(end - begin));
      if (number == 0) atomicAdd(&s.count[expanded_sum], 1u);
    }
    for (long long base = begin; base < end; base += 32) {
      relax(base + lane < end, key, base + lane);
    }
  }

  // The next hop: expand what this block kept. By the whole block; false when there is none.
  __device__ bool expand_local() {
    __syncthreads();
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const u32 count = min(s.local_count[hop % 3], u32(threads));
    if (count == 0) return false;
    if (threadIdx.x == 0) s.local_count[(hop + 2) % 3] = 0;
    const u32 width = (count + warps - 1) / warps, i = warp * width + lane;
    const bool mine = lane < width && i < count;
    const local_list& list = local[hop & 1];
    const u32 at = mine ? i : 0;
    if (count > most_local) {  // too much for one block: back to all
      leave(mine, list.vertex[at], list.key[at]);
      return false;
    }
    expand(mine, entry{true, list.vertex[at], list.key[at], list.begin[at], list.degree[at]}, true);
    return true;
  }
};

}  // namespace mgraph
