// The graph that cuPPA makes, as its threads share it; cuppa_gpu.py explains the method.
#pragma once

#include "copy_model.cuh"
#include <mgraph/relaxed.cuh>

namespace mgraph {

constexpr vertex_t unknown = -1;

// An endpoint, unknown perhaps, and the slot that it is copied from, or null.
struct drawn_end {
  vertex_t end;
  const vertex_t* source;
};

// A graph of `n` vertices to be generated into `ends`, which hold `unknown` at the launch.
struct cuppa_launch {
  copy_model model;
  long long n;
  vertex_t* ends;  // D a vertex, from vertex D on
};

// An endpoint is unknown until it is final, and then never changes.
struct cuppa_graph {
  copy_model model;
  vertex_t* ends;  // D a vertex, from vertex D on

  __device__ vertex_t* at(uvertex v, u32 slot) const { return ends + (u64(v - D) * D + slot); }

  // Where a slot's draw number `attempt` leads.
  __device__ drawn_end draw_for(uvertex v, u32 slot, u32 attempt) const {
    if (draw(model, draw_key(model, attempt), v, slot)) return {vertex_t(v), nullptr};
    const vertex_t* const copied = at(v, slot);
    return {load_relaxed(copied), copied};
  }
};

// A vertex on its way: its first edge that is not final, v * D + slot, and the slot whose endpoint
// that one waits for; null once all are final.
struct unfinished {
  u64 edge;
  const vertex_t* source;
};

// A team of threads makes the edges of `rows` vertices at once, a thread a slot:
//   cuppa_team(shared, graph)            shared: `shared_words` u64 of the team's own
//   thread(), number(), count()          which thread of the team; which team of how many
//   row()                                which of the team's vertices this thread works on
//   leads()                              whether it is the first thread of that row
//   advance(v, first, mine, wait)        makes v's edges from slot `first` on, up to one that has
//                                        to wait, with `wait` all; what is left is known to all
//                                        threads of the row. A warp begins at slot 0 each time
//   sync(), ballot(bool)                 a barrier; the votes of the first 32 threads
// A slot holds the first endpoint of its draws that no lower slot of the vertex has held so far.
// When a lower slot comes to hold it, the higher one draws on. That ends in what slot after slot
// would give, in whatever order: a slot is refused x only if a lower slot holds x, and from then
// on some lower slot does for ever. So slots below the first open one are final.

}  // namespace mgraph
