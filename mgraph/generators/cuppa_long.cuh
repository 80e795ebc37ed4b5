// cuPPA's team for D > 32: a block for one vertex, with as many of its slots at once as the block
// has threads. The host defines MGRAPH_MAX_POLLS: how often the block polls a source before the
// vertex is queued.
#pragma once

#include "cuppa_graph.cuh"

namespace mgraph {

constexpr u32 block_threads = MGRAPH_THREADS;

// The state of one pass over the open slots.
struct pass_state {
  u32 lowest;   // the first open slot
  u32 drawing;  // the number of slots that draw again
};

// Shared memory of a block; the host reads its size from here.
struct block_scratch {
  u64 table[table_size];  // a hash table of the endpoints held: endpoint << slot_bits | slot
  // For the slots that draw again: what was drawn, and its source; the slot, the next attempt, and
  // how many attempts later the first accepted draw was.
  const vertex_t* source_of[block_threads];
  vertex_t drawn[block_threads];
  u32 slot[block_threads];
  u32 attempt[block_threads];
  u32 accepted[block_threads];
  pass_state passes[2];  // used in turn, so that one barrier per pass is enough
  u32 votes;
  const vertex_t* source;  // that the vertex waits for
};

class cuppa_team {
  static constexpr u32 none = 0xFFFFFFFFu;
  static constexpr u64 vacant = ~0ULL;

 public:
  static constexpr u32 rows = 1;
  static constexpr u32 shared_words = (sizeof(block_scratch) + 7) / 8;

  __device__ cuppa_team(u64* shared, const cuppa_graph& graph)
      : graph(graph), s(*reinterpret_cast<block_scratch*>(shared)) {
    if (thread() < 2) s.passes[thread()] = {none, 0};
    sync();
  }

  __device__ static u32 thread() { return threadIdx.x; }
  __device__ static u32 index() { return blockIdx.x; }
  __device__ static u32 teams() { return gridDim.x; }
  __device__ static u32 row() { return 0; }
  __device__ static bool is_row_leader() { return threadIdx.x == 0; }
  __device__ static void sync() { __syncthreads(); }
  __device__ u32 ballot(bool vote) {
    const u32 votes = __ballot_sync(full_warp, vote);
    if (thread() == 0) s.votes = votes;
    sync();
    const u32 all = s.votes;
    sync();
    return all;
  }

  __device__ waiting_vertex advance(uvertex v, u32 first, bool, bool may_wait) {
    constexpr ulonglong2 two_vacant{vacant, vacant};
    for (u32 i = thread(); i < table_size / 2; i += block_threads)
      reinterpret_cast<ulonglong2*>(s.table)[i] = two_vacant;
    sync();
    u32 begin = first / block_threads * block_threads;
    for (u32 slot = thread(); slot < begin; slot += block_threads)
      claim(load_end(graph.at(v, slot)), slot);
    if (begin) sync();  // so that higher slots find these endpoints
    waiting_vertex item{0, nullptr};
    for (; begin < D && !item.source; begin += block_threads)
      item = settle(v, begin, first, may_wait);
    return item;
  }

 private:
  const cuppa_graph graph;
  block_scratch& s;
  u32 pass = 0;
  bool is_cancelled = false;  // waits no more, and leaves vertices unfinished

  __device__ static u32 first_entry(vertex_t end) {
    return (u32(end) ^ u32(u64(end) >> 32)) * 0x9E3779B1u >> 16;
  }

  // Makes a slot the holder of an endpoint, unless a lower slot holds it. Returns whether no slot
  // held it before.
  __device__ bool claim(vertex_t end, u32 slot) {
    const u64 mine = u64(end) << slot_bits | slot;
    for (u32 i = first_entry(end);; ++i) {
      const u64 held = atomicCAS(&s.table[i % table_size], vacant, mine);
      if (held == vacant) return true;
      if (held >> slot_bits != u64(end)) continue;
      atomicMin(&s.table[i % table_size], mine);
      return false;
    }
  }

  // The lowest slot that holds an endpoint, or none.
  __device__ u32 holder(vertex_t end) const {
    for (u32 i = first_entry(end);; ++i) {
      const u64 held = s.table[i % table_size];
      if (held == vacant) return none;
      if (held >> slot_bits == u64(end)) return u32(held) & slot_mask;
    }
  }

  // Settles slots `begin` and on, one per thread; those below `first` are final.
  __device__ waiting_vertex settle(uvertex v, u32 begin, u32 first, bool may_wait) {
    const u32 slot = begin + thread(), lane = thread() % 32;
    const bool has_slot = slot < D;
    bool is_written = has_slot && slot < first;
    vertex_t held = unknown;
    const vertex_t* source = nullptr;
    if (is_written) {
      held = load_end(graph.at(v, slot));
    } else if (has_slot) {
      const drawn_end drawn = graph.draw_for(v, slot, 0);
      held = drawn.end;
      source = drawn.source;
    }
    // The common case: the first draws of all slots are accepted.
    bool is_claimed = held != unknown;
    const bool is_only_holder = is_claimed && claim(held, slot);
    if (__syncthreads_and(is_only_holder || !has_slot)) {
      if (has_slot && !is_written) store_end(graph.at(v, slot), held);
      return {0, nullptr};
    }
    u32 attempt = 1;  // of the next draw
    u32 polls = 0, waited = 0;
    for (;; ++pass) {
      auto& state = s.passes[pass % 2];
      if (held != unknown) source = nullptr;
      if (held != unknown && !is_claimed) claim(held, slot);
      sync();
      if (thread() == 0) s.passes[(pass + 1) % 2] = {none, 0};
      if (held != unknown && holder(held) != slot) held = unknown;
      is_claimed = held != unknown;
      const bool draws = has_slot && held == unknown && !source;
      const u32 open = __ballot_sync(full_warp, has_slot && held == unknown);
      const u32 drawing = __ballot_sync(full_warp, draws);
      u32 rank = 0;
      if (open && lane == 0) atomicMin(&state.lowest, slot + __ffs(open) - 1);
      if (drawing) {
        if (lane == 0) rank = atomicAdd(&state.drawing, __popc(drawing));
        rank = __shfl_sync(full_warp, rank, 0) + __popc(drawing & ((1u << lane) - 1));
        if (draws) s.slot[rank] = slot, s.attempt[rank] = attempt, s.accepted[rank] = none;
      }
      sync();
      const u32 lowest = state.lowest, all_drawing = state.drawing;
      if (has_slot && !is_written && slot < lowest) store_end(graph.at(v, slot), held);
      is_written = slot < lowest;
      if (lowest == none) break;
      if (all_drawing) {
        draw_again(all_drawing, v);
        if (draws && s.accepted[rank] != none) {
          attempt += s.accepted[rank] + 1;
          held = s.drawn[rank];
          source = s.source_of[rank];
        } else if (draws) {
          attempt += (block_threads - rank + all_drawing - 1) / all_drawing;
        }
      } else if (!may_wait && ++polls > MGRAPH_MAX_POLLS) {
        if (slot == lowest) s.source = source;
        sync();
        ++pass;
        return {u64(v) * D + lowest, s.source};
      }
      if constexpr (ranks > 1) {
        if (++waited % polls_per_check == 0) is_cancelled |= __syncthreads_or(graph.is_cancelled());
        if (is_cancelled) break;
        if (!all_drawing) __nanosleep(pause_nanoseconds);
      }
      if (source && held == unknown) held = load_end(source);
    }
    ++pass;
    return {0, nullptr};
  }

  // All threads draw for the `count` slots that draw again, each thread a different attempt. For
  // each slot the first draw counts that is unknown or that no lower slot holds.
  __device__ void draw_again(u32 count, uvertex v) {
    const u32 i = thread() % count, ahead = thread() / count;
    const drawn_end drawn = graph.draw_for(v, s.slot[i], s.attempt[i] + ahead);
    const bool is_accepted = drawn.end == unknown || holder(drawn.end) >= s.slot[i];
    if (is_accepted) atomicMin(&s.accepted[i], ahead);
    sync();
    if (is_accepted && s.accepted[i] == ahead)
      s.drawn[i] = drawn.end, s.source_of[i] = drawn.source;
    sync();
  }
};

}  // namespace mgraph
