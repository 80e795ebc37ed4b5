// cuPPA's graph in device memory, as its threads share it; cuppa_gpu.py explains the method.
//
// Memory order. An endpoint is `unknown` until it is final and never changes after that, so a
// relaxed load returns either `unknown` or the final value; no other data is published through it.
// Hence relaxed loads and stores suffice, and a reader needs no fence.
//
// Over the GPUs of one host, MGRAPH_RANKS of them, stripes of vertices belong to the ranks in turn.
// A rank generates its own vertices into its own memory and reads those of others in theirs.
#pragma once

#include <mgraph/relaxed.cuh>
#include "copy_model.cuh"

namespace mgraph {

constexpr vertex_t unknown = -1;  // all bytes 0xFF, as the host sets them
constexpr u32 ranks = MGRAPH_RANKS;
constexpr u32 stripe_bits = MGRAPH_STRIPE_BITS;  // of the number of vertices in a stripe
constexpr u32 stripe_mask = (1u << stripe_bits) - 1;
constexpr u32 polls_per_check = 1 << 12;  // of a source that may be another rank's
constexpr u32 pause_nanoseconds = 500;    // between two of them, so that they hold up no reads

// The endpoints of the vertices from D on, D for each, which hold `unknown` at the launch. A rank's
// vertices have places 0, 1, … in its memory.
struct endpoint_memory {
  vertex_t* ends;     // this rank's; with more ranks ends[-1] is not `unknown` once it has begun
  const u64* shares;  // [ranks] the addresses of all ranks'; null for one
  u32 rank;
};

// A graph, of which this rank generates the vertices of `places` places.
struct cuppa_launch {
  copy_model model;
  long long places;
  endpoint_memory memory;
  const u32* cancel_flag;  // not 0: do not wait for other ranks; null: it cannot be cancelled
};

// The endpoint that a draw leads to, perhaps unknown, and the slot that it is copied from, or null.
struct drawn_end {
  vertex_t end;
  const vertex_t* source;
};

__device__ __forceinline__ vertex_t load_end(const vertex_t* address) {
  if constexpr (ranks > 1) return load_relaxed_system(address);
  return load_relaxed(address);
}

__device__ __forceinline__ void store_end(vertex_t* address, vertex_t end) {
  if constexpr (ranks > 1)
    store_relaxed_system(address, end);
  else
    store_relaxed(address, end);
}

struct endpoint_store : endpoint_memory {
  __device__ endpoint_store(const endpoint_memory& memory) : endpoint_memory(memory) {}

  // The vertex at a place of this rank.
  __device__ uvertex vertex_at(u64 place) const {
    if constexpr (ranks == 1) return D + uvertex(place);
    const u64 stripe = (place >> stripe_bits) * ranks + rank;
    return D + uvertex(stripe << stripe_bits | (place & stripe_mask));
  }

  __device__ vertex_t* at(uvertex v, u32 slot) const {
    if constexpr (ranks == 1) return ends + (u64(v - D) * D + slot);
    const uvertex i = v - D, stripe = i >> stripe_bits;
    const u64 place = u64(stripe / ranks) << stripe_bits | (i & stripe_mask);
    return reinterpret_cast<vertex_t*>(shares[stripe % ranks]) + (place * D + slot);
  }
};

struct cuppa_graph : endpoint_store {
  copy_model model;
  const u32* cancel_flag;

  __device__ cuppa_graph(const cuppa_launch& launch)
      : endpoint_store(launch.memory), model(launch.model), cancel_flag(launch.cancel_flag) {}

  // Whether to wait for other ranks no more. Read over the bus, so only every polls_per_check.
  __device__ bool is_cancelled() const {
    return cancel_flag && *static_cast<const volatile u32*>(cancel_flag) != 0;
  }

  // Called by one thread: announces that this rank has begun, and waits for the others. Otherwise
  // those that begin first fill their queues with vertices that wait for the last one.
  __device__ void begin_with_all() const {
    if constexpr (ranks == 1) return;
    store_end(ends - 1, 0);
    for (u32 other = 0; other < ranks; ++other)
      while (load_end(reinterpret_cast<vertex_t*>(shares[other]) - 1) == unknown && !is_cancelled())
        __nanosleep(pause_nanoseconds);
  }

  // The endpoint of a slot's draw number `attempt`.
  __device__ drawn_end draw_for(uvertex v, u32 slot, u32 attempt) const {
    if (draw(model, draw_key(model, attempt), v, slot)) return {vertex_t(v), nullptr};
    const vertex_t* const copied = at(v, slot);
    return {load_end(copied), copied};
  }
};

// A vertex that waits: its first edge that is not final, v * D + slot, and the slot whose endpoint
// this edge copies; null if all edges are final.
struct waiting_vertex {
  u64 edge;
  const vertex_t* source;
};

// A team of threads generates the edges of `rows` vertices at once, one thread per slot. It has
//   cuppa_team(shared, graph)      shared: `shared_words` u64 of the team's own
//   thread(), index(), teams()     the thread within the team; the team, and how many there are
//   row()                          the vertex, of `rows`, that this thread works on
//   is_row_leader()                whether it is the first thread of that row
//   advance(v, first, is_active, may_wait)
//                                  generates v's edges from slot `first` on, up to one that has to
//                                  wait, or all edges if it may wait here. Returns what remains, to
//                                  all threads of the row. A warp begins at slot 0 each time
//   sync(), ballot(bool)           a barrier; the votes of the first 32 threads
//
// Deferred acceptance: a slot holds the first endpoint of its draws that no lower slot of the
// vertex has held so far. If a lower slot comes to hold it, the higher one draws again. Whatever
// the order of events, the result is that of drawing slot after slot: a slot rejects x only if a
// lower slot holds x, and from then on some lower slot holds x for ever. So all slots below the
// first open one are final.

}  // namespace mgraph
