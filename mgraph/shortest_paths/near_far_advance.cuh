// The stages advance, filter and bisect-frontier of a near-far search: arcs are relaxed, and the
// vertices whose distances that improves are queued, near or far. All lanes of a warp call these
// functions together, or the whole block where a function says so.
//
// Filter is an atomicMin on the distance: of several threads that improve a vertex the last one's
// entry is current, and the others' are recognised as stale when they are looked up.
#pragma once

#include "near_far_queues.cuh"

namespace mgraph {

struct block_advance : block_queues {
  const graph& graph_;
  key_t* distance;  // of the search
  key_t cutoff;
  hop_list* hop_lists;  // [2]
  int hop;              // within the iteration
  u32 max_hop_entries;  // more than these go back to all blocks

  // The key of a path that goes on along an arc.
  __device__ key_t extend(key_t key, long long arc) const {
    return extended(key, graph_.weights ? graph_.weights[arc] : weight_t(1));
  }

  // Read a vertex's row, and whether a key is still its distance; the loads do not wait for each
  // other.
  __device__ entry look_up(bool has_entry, int vertex, key_t key) const {
    entry queued{false, vertex, key, 0, 0};
    if (has_entry) {
      const key_t current_key = fresh(&distance[vertex]);
      queued.first_arc = graph_.indptr[vertex];
      queued.degree = u32(graph_.indptr[vertex + 1] - queued.first_arc);
      queued.current = current_key == key;
    }
    return queued;
  }

  // Bisect-frontier: queue improved vertices. Those within the threshold stay in this block while
  // the iteration has another hop, else they go to all blocks.
  __device__ void bisect_frontier(bool has_entry, const entry& improved) {
    bool near = has_entry && improved.key <= state.threshold;
    const bool far = has_entry && !near;
    if (hop + 1 < state.hops && append_hop(hop + 1, near, improved, hop_lists)) near = false;
    append_near(near, improved.vertex, improved.key);
    append_far(far, improved.vertex, improved.key);
  }

  // Relax one arc per lane, of a vertex at distance key.
  __device__ void relax(bool has_arc, key_t key, long long arc) {
    entry head{false, 0, no_key, 0, 0};
    bool improves = has_arc, is_first = false;
    if (improves) {
      head.vertex = graph_.indices[arc];
      head.key = extend(key, arc);
      improves = head.key <= cutoff;
      // In a wave latency counts: the row is fetched beside the distance, and the distance not
      // read before the atomic operation.
      if (state.is_wave) {
        head.first_arc = graph_.indptr[head.vertex];
        head.degree = u32(graph_.indptr[head.vertex + 1] - head.first_arc);
      } else {
        improves = improves && head.key < fresh(&distance[head.vertex]);
      }
      if (improves) {
        const key_t before = atomicMin(&distance[head.vertex], head.key);
        improves = head.key < before;
        is_first = before > cutoff;  // it was infinite
      }
    }
    const u32 improved = __ballot_sync(all_lanes, improves);
    if (!improved) return;
    const u32 reached = __ballot_sync(all_lanes, is_first);
    if ((threadIdx.x & 31) == 0) {
      atomicAdd(&state.count[updated_sum], __popc(improved));
      if (reached) atomicAdd(&state.count[reached_sum], __popc(reached));
    }
    if (improves) atomicMax(&state.max_updated, head.key);
    bisect_frontier(improves, head);
  }

  // Relax the arcs of one entry per lane, spread evenly over the warp. may_be_stale: look the
  // distances up while the arcs are being fetched, and relax only the arcs of current entries.
  __device__ void expand(bool has_entry, const entry& queued, bool may_be_stale = false) {
    const key_t current_key =
        may_be_stale && has_entry ? fresh(&distance[queued.vertex]) : queued.key;
    const u32 lane = threadIdx.x & 31;
    const bool was_cut = append_pieces(has_entry, queued);
    const u32 degree = has_entry && !was_cut ? queued.degree : 0;
    const u32 end = prefix_sum(degree, lane), start = end - degree;
    const u32 total = __shfl_sync(all_lanes, end, 31);
    if (!total) return;
    const u32 expanded = __ballot_sync(all_lanes, degree > 0);
    if (lane == 0) {
      atomicAdd(&state.count[arcs_sum], total);
      atomicAdd(&state.count[expanded_sum], __popc(expanded));
    }
    for (u32 base = 0; base < total; base += 32) {
      const u32 rank = base + lane;
      int owner = 0;  // the last lane whose start is at most rank
      for (int step = 16; step; step /= 2) {
        const u32 other_start = __shfl_sync(all_lanes, start, owner + step);
        if (other_start <= rank) owner += step;
      }
      const key_t key = __shfl_sync(all_lanes, queued.key, owner);
      const long long first_arc = __shfl_sync(all_lanes, queued.first_arc, owner);
      const u32 owner_start = __shfl_sync(all_lanes, start, owner);
      const bool current = __shfl_sync(all_lanes, int(current_key == queued.key), owner);
      relax(rank < total && current, key, first_arc + (rank - owner_start));
    }
  }

  // Collect entries for `expand_collected`. Every thread of a block may collect one entry.
  __device__ void collect(bool has_entry, const entry& queued) {
    const bool was_cut = append_pieces(has_entry, queued);
    append_hop(0, has_entry && !was_cut, queued, hop_lists);
  }

  // Relax the arcs of the collected entries, spread evenly over the block. By the whole block.
  __device__ void expand_collected() {
    __syncthreads();
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32, count = state.hop_count[0];
    const hop_list& list = hop_lists[0];
    const u32 end_in_warp = prefix_sum(threadIdx.x < count ? list.degree[threadIdx.x] : 0, lane);
    if (lane == 31) state.warp_arcs[warp] = end_in_warp;
    __syncthreads();
    const u32 warp_end = prefix_sum(lane < warps ? state.warp_arcs[lane] : 0, lane);
    const u32 warp_start = warp ? __shfl_sync(all_lanes, warp_end, warp - 1) : 0;
    state.arc_ends[threadIdx.x] = warp_start + end_in_warp;
    __syncthreads();
    const u32 total = count ? state.arc_ends[count - 1] : 0;
    if (threadIdx.x == 0) {
      atomicAdd(&state.count[arcs_sum], total);
      atomicAdd(&state.count[expanded_sum], count);
      state.hop_count[0] = 0;
    }
    for (u32 base = warp * 32; base < total; base += threads) {
      const u32 rank = base + lane;
      u32 low = 0, high = count - 1;  // the first entry whose end is above rank
      while (low < high) {
        const u32 middle = (low + high) / 2;
        if (state.arc_ends[middle] <= rank)
          low = middle + 1;
        else
          high = middle;
      }
      const u32 start = low ? state.arc_ends[low - 1] : 0;
      relax(rank < total, list.key[low], list.first_arc[low] + (rank - start));
    }
    __syncthreads();
  }

  // Relax the arcs of a piece, by one warp.
  __device__ void expand_piece(int vertex, key_t key, u32 number) {
    const u32 lane = threadIdx.x & 31;
    const key_t current_key = lane == 0 ? fresh(&distance[vertex]) : key;
    if (!__all_sync(all_lanes, current_key == key)) return;
    const long long begin = graph_.indptr[vertex] + (long long)number * piece_arcs;
    const long long end = min(begin + piece_arcs, graph_.indptr[vertex + 1]);
    if (lane == 0) {
      atomicAdd(&state.count[arcs_sum], u32(end - begin));
      if (number == 0) atomicAdd(&state.count[expanded_sum], 1u);
    }
    for (long long base = begin; base < end; base += 32) {
      relax(base + lane < end, key, base + lane);
    }
  }

  // Expand what this block kept for hop `hop`. By the whole block; false where the hops end: there
  // is nothing, or so much that it goes back to all blocks.
  __device__ bool expand_hop() {
    __syncthreads();
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const u32 count = min(state.hop_count[hop % 3], u32(threads));
    if (count == 0) return false;
    if (threadIdx.x == 0) state.hop_count[(hop + 2) % 3] = 0;
    const u32 width = (count + warps - 1) / warps, i = warp * width + lane;
    const bool has_entry = lane < width && i < count;
    const hop_list& list = hop_lists[hop & 1];
    const u32 at = has_entry ? i : 0;
    if (count > max_hop_entries) {
      append_near(has_entry, list.vertex[at], list.key[at]);
      return false;
    }
    expand(has_entry,
           entry{true, list.vertex[at], list.key[at], list.first_arc[at], list.degree[at]}, true);
    return true;
  }
};

}  // namespace mgraph
