// cuPPA's graph in device memory, as its threads share it; cuppa_gpu.py explains the method.
//
// Memory order. An endpoint is `unknown` until it is final and never changes after that, so a
// relaxed load returns either `unknown` or the final value; no other data is published through it.
// Hence relaxed loads and stores suffice, and a reader needs no fence.
#pragma once

#include <mgraph/relaxed.cuh>
#include "copy_model.cuh"

namespace mgraph {

constexpr vertex_t unknown = -1;  // all bytes 0xFF, as the host sets them

// A graph of `n` vertices to be generated into `ends`, which hold `unknown` at the launch.
struct cuppa_launch {
  copy_model model;
  long long n;
  vertex_t* ends;  // D per vertex, from vertex D on
};

// The endpoint that a draw leads to, perhaps unknown, and the slot that it is copied from, or null.
struct drawn_end {
  vertex_t end;
  const vertex_t* source;
};

struct cuppa_graph {
  copy_model model;
  vertex_t* ends;

  __device__ vertex_t* at(uvertex v, u32 slot) const { return ends + (u64(v - D) * D + slot); }

  // The endpoint of a slot's draw number `attempt`.
  __device__ drawn_end draw_for(uvertex v, u32 slot, u32 attempt) const {
    if (draw(model, draw_key(model, attempt), v, slot)) return {vertex_t(v), nullptr};
    const vertex_t* const copied = at(v, slot);
    return {load_relaxed(copied), copied};
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
