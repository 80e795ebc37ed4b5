// cuPPA's team for D > 32: a block for one vertex, as many of its slots at once as it has threads.
// The host defines MGRAPH_PATIENCE: how often it looks at a source before the vertex is queued.
#pragma once

#include "cuppa_graph.cuh"

namespace mgraph {

class cuppa_team {
  static constexpr u32 threads = MGRAPH_THREADS;
  static constexpr u32 none = 0xFFFFFFFFu;
  static constexpr u64 vacant = ~0ULL;

  struct scratch {
    u64 table[table_size];  // a hash table of the endpoints that are held: endpoint << 12 | slot
    const vertex_t* waits_for[threads];  // what was drawn for the slots that draw again,
    vertex_t drawn[threads];
    u32 slot[threads], attempt[threads], best[threads];  // which these are, which draw is the first
    struct {
      u32 lowest, drawing;  // the first open slot, how many draw again
    } turns[2];
    u32 votes;
    const vertex_t* source;
  };

 public:
  static constexpr u32 rows = 1;
  static constexpr u32 shared_words = (sizeof(scratch) + 7) / 8;

  __device__ cuppa_team(u64* shared, const cuppa_graph& graph)
      : graph(graph), s(*reinterpret_cast<scratch*>(shared)) {
    if (thread() < 2) s.turns[thread()] = {none, 0};
    sync();
  }

  __device__ static u32 thread() { return threadIdx.x; }
  __device__ static u32 number() { return blockIdx.x; }
  __device__ static u32 count() { return gridDim.x; }
  __device__ static u32 row() { return 0; }
  __device__ static bool leads() { return threadIdx.x == 0; }
  __device__ static void sync() { __syncthreads(); }
  __device__ u32 ballot(bool vote) {
    const u32 votes = __ballot_sync(full_warp, vote);
    if (thread() == 0) s.votes = votes;
    sync();
    const u32 all = s.votes;
    sync();
    return all;
  }

  __device__ unfinished advance(uvertex v, u32 first, bool, bool wait) {
    constexpr ulonglong2 two_vacant{vacant, vacant};
    for (u32 i = thread(); i < table_size / 2; i += threads)
      reinterpret_cast<ulonglong2*>(s.table)[i] = two_vacant;
    sync();
    u32 begin = first / threads * threads;
    for (u32 slot = thread(); slot < begin; slot += threads)
      claim(load_relaxed(graph.at(v, slot)), slot);
    if (begin) sync();  // so that higher slots find them there
    unfinished left{0, nullptr};
    for (; begin < D && !left.source; begin += threads) left = settle(v, begin, first, wait);
    return left;
  }

 private:
  const cuppa_graph graph;
  scratch& s;
  u32 turn = 0;

  __device__ static u32 first_place(vertex_t end) {
    return (u32(end) ^ u32(u64(end) >> 32)) * 0x9E3779B1u >> 16;
  }

  // Makes a slot the holder of an endpoint, unless a lower slot is. Returns whether nobody was.
  __device__ bool claim(vertex_t end, u32 slot) {
    const u64 mine = u64(end) << 12 | slot;
    for (u32 i = first_place(end);; ++i) {
      const u64 held = atomicCAS(&s.table[i % table_size], vacant, mine);
      if (held == vacant) return true;
      if (held >> 12 != u64(end)) continue;
      atomicMin(&s.table[i % table_size], mine);
      return false;
    }
  }

  __device__ u32 holder(vertex_t end) const {
    for (u32 i = first_place(end);; ++i) {
      const u64 held = s.table[i % table_size];
      if (held == vacant) return none;
      if (held >> 12 == u64(end)) return u32(held) & 4095;
    }
  }

  // Settles slots `begin` and on, one a thread; those below `first` are final.
  __device__ unfinished settle(uvertex v, u32 begin, u32 first, bool wait) {
    const u32 slot = begin + thread(), lane = thread() % 32;
    const bool mine = slot < D;
    bool written = mine && slot < first;
    vertex_t held = unknown;
    const vertex_t* source = nullptr;
    if (written) {
      held = load_relaxed(graph.at(v, slot));
    } else if (mine) {
      const drawn_end drawn = graph.draw_for(v, slot, 0);
      held = drawn.end;
      source = drawn.source;
    }
    // Mostly all slots get what they draw first.
    bool claimed = held != unknown;
    const bool alone = claimed && claim(held, slot);
    if (__syncthreads_and(alone || !mine)) {
      if (mine && !written) store_relaxed(graph.at(v, slot), held);
      return {0, nullptr};
    }
    u32 attempt = 1;  // the next
    u32 looks = 0;
    for (;; ++turn) {
      auto& now = s.turns[turn % 2];
      if (held != unknown) source = nullptr;
      if (held != unknown && !claimed) claim(held, slot);
      sync();
      if (thread() == 0) s.turns[(turn + 1) % 2] = {none, 0};
      if (held != unknown && holder(held) != slot) held = unknown;
      claimed = held != unknown;
      const bool draws = mine && held == unknown && !source;
      const u32 open = __ballot_sync(full_warp, mine && held == unknown);
      const u32 drawing = __ballot_sync(full_warp, draws);
      u32 rank = 0;
      if (open && lane == 0) atomicMin(&now.lowest, slot + __ffs(open) - 1);
      if (drawing) {
        if (lane == 0) rank = atomicAdd(&now.drawing, __popc(drawing));
        rank = __shfl_sync(full_warp, rank, 0) + __popc(drawing & ((1u << lane) - 1));
        if (draws) s.slot[rank] = slot, s.attempt[rank] = attempt, s.best[rank] = none;
      }
      sync();
      const u32 lowest = now.lowest, all_drawing = now.drawing;
      if (mine && !written && slot < lowest) store_relaxed(graph.at(v, slot), held);
      written = slot < lowest;
      if (lowest == none) break;
      if (all_drawing) {
        draw_again(all_drawing, v);
        if (draws && s.best[rank] != none) {
          attempt += s.best[rank] + 1;
          held = s.drawn[rank];
          source = s.waits_for[rank];
        } else if (draws) {
          attempt += (threads - rank + all_drawing - 1) / all_drawing;
        }
      } else if (!wait && ++looks > MGRAPH_PATIENCE) {
        if (slot == lowest) s.source = source;
        sync();
        ++turn;
        return {u64(v) * D + lowest, s.source};
      }
      if (source && held == unknown) held = load_relaxed(source);
    }
    ++turn;
    return {0, nullptr};
  }

  // All threads draw for the `count` slots that were refused, each a different attempt. Of each
  // slot's it finds the first that no lower slot holds or that is unknown.
  __device__ void draw_again(u32 count, uvertex v) {
    const u32 i = thread() % count, ahead = thread() / count;
    const drawn_end drawn = graph.draw_for(v, s.slot[i], s.attempt[i] + ahead);
    const bool found = drawn.end == unknown || holder(drawn.end) >= s.slot[i];
    if (found) atomicMin(&s.best[i], ahead);
    sync();
    if (found && s.best[i] == ahead) s.drawn[i] = drawn.end, s.waits_for[i] = drawn.source;
    sync();
  }
};

}  // namespace mgraph
