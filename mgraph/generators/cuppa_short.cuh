// cuPPA's team for D <= 32: a warp, for as many vertices as it has lanes for, one lane per slot.
#pragma once

#include "cuppa_graph.cuh"

namespace mgraph {

class cuppa_team {
 public:
  static constexpr u32 rows = 32 / D;
  static constexpr u32 shared_words = 0;

  __device__ cuppa_team(u64*, const cuppa_graph& graph) : graph(graph) {}

  __device__ static u32 thread() { return threadIdx.x % 32; }
  __device__ static u32 index() { return (blockIdx.x * blockDim.x + threadIdx.x) / 32; }
  __device__ static u32 teams() { return gridDim.x * blockDim.x / 32; }
  __device__ static u32 row() { return thread() / D; }
  __device__ static bool is_row_leader() { return thread() % D == 0; }
  __device__ static void sync() { __syncwarp(); }
  __device__ static u32 ballot(bool vote) { return __ballot_sync(full_warp, vote); }

  __device__ waiting_vertex advance(uvertex v, u32, bool is_active, bool may_wait) {
    const u32 slot = thread() % D, lower = lanes_below() & row_lanes();
    const drawn_end drawn = is_active ? graph.draw_for(v, slot, 0) : drawn_end{unknown, nullptr};
    vertex_t held = drawn.end;
    const vertex_t* source = drawn.source;
    u32 attempt = 1;  // of the next draw
    u32 polls = 0;
    bool is_written = false;
    for (;;) {
      if (held != unknown) source = nullptr;
      if (repeats(held) && held != unknown) held = unknown;
      const u32 open = ballot(is_active && held == unknown);
      const bool is_final = is_active && !(open & (lower | 1u << thread()));
      if (is_final && !is_written) store_end(graph.at(v, slot), held);
      is_written = is_final;
      if (!open) return {0, nullptr};

      const bool draws = is_active && held == unknown && !source;
      const u32 drawing = ballot(draws);
      if (drawing) {
        draw_again(drawing, draws, v, slot, lower, attempt, held, source);
      } else if (!may_wait) {
        const u32 first = open & row_lanes() ? __ffs(open & row_lanes()) - 1 : thread();
        return {u64(v) * D, of_lane(first, source)};
      }
      if constexpr (ranks > 1) {
        if (++polls % polls_per_check == 0) is_cancelled |= ballot(graph.is_cancelled());
        if (is_cancelled) return {0, nullptr};
        if (!drawing) __nanosleep(pause_nanoseconds);
      }
      if (source && held == unknown) held = load_end(source);
    }
  }

 private:
  const cuppa_graph graph;
  bool is_cancelled = false;  // waits no more, and leaves vertices unfinished

  __device__ static u32 lanes_below() { return (1u << thread()) - 1; }
  __device__ static u32 row_lanes() {
    return (D < 32 ? (1u << D % 32) - 1 : full_warp) << (row() * D);
  }
  __device__ static const vertex_t* of_lane(u32 lane, const vertex_t* pointer) {
    return reinterpret_cast<const vertex_t*>(__shfl_sync(full_warp, u64(pointer), lane));
  }

  // Whether a lane with a lower slot of the same vertex holds the same endpoint.
  __device__ static bool repeats(vertex_t end) {
    if constexpr (D > 8) return __match_any_sync(full_warp, end) & row_lanes() & lanes_below();
    bool is_repeat = false;
#pragma unroll
    for (u32 k = 1; k < D; ++k) {
      const bool is_same = __shfl_up_sync(full_warp, end, k) == end;
      is_repeat |= is_same && thread() % D >= k;
    }
    return is_repeat;
  }

  // All lanes draw for the lanes in `drawing`, each lane a different attempt. Each of those takes
  // the first endpoint that no lower slot holds, or waits for the first that is unknown.
  __device__ void draw_again(u32 drawing, bool draws, uvertex v, u32 slot, u32 lower, u32& attempt,
                             vertex_t& held, const vertex_t*& source) const {
    const u32 lane = thread(), count = __popc(drawing);
    const u32 owner = __fns(drawing, 0, lane % count + 1);
    const u32 owners_lower = __shfl_sync(full_warp, lower, owner);
    const drawn_end drawn =
        graph.draw_for(__shfl_sync(full_warp, v, owner), __shfl_sync(full_warp, slot, owner),
                       __shfl_sync(full_warp, attempt, owner) + lane / count);
    bool is_rejected = false;
#pragma unroll 4
    for (u32 other = 0; other < 32; ++other) {
      const bool is_same = __shfl_sync(full_warp, held, other) == drawn.end;
      is_rejected |= is_same && owners_lower >> other & 1;
    }
    const u32 accepted = ballot(drawn.end == unknown || !is_rejected);
    u32 at = __popc(drawing & lanes_below());
    if (draws)
      for (; at < 32 && !(accepted >> at & 1); at += count) ++attempt;
    const vertex_t end = __shfl_sync(full_warp, drawn.end, at % 32);
    const vertex_t* const awaited = of_lane(at % 32, drawn.source);
    if (draws && at < 32) {
      held = end;
      source = awaited;
      ++attempt;
    }
  }
};

}  // namespace mgraph
