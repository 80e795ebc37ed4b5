// The copy model's draws, shared by the kernels of its generators; copy_draws_cpu.py computes the
// same bits and explains them, copy_model_gpu.py defines the macros:
//   MGRAPH_D           edges per vertex; a constant, so that divisions and comparisons unroll
//   MGRAPH_VERTEX_T    int or long long, the type of a vertex id
//   MGRAPH_BY_EDGES    0 for the start `paper`, 1 for `ba`
//   MGRAPH_BY_WARP     1 if a warp has a lane per slot, 0 if a block generates a vertex
//   MGRAPH_TABLE_SIZE  entries of a hash table of a vertex's endpoints, at most half of them used
#pragma once

#include <mgraph/hash.cuh>

namespace mgraph {

constexpr u32 D = MGRAPH_D;
using vertex_t = MGRAPH_VERTEX_T;

template <typename T> struct unsigned_of;
template <> struct unsigned_of<int> {
  using type = u32;
};
template <> struct unsigned_of<long long> {
  using type = u64;
};
using uvertex = unsigned_of<vertex_t>::type;

constexpr u32 table_size = MGRAPH_TABLE_SIZE;
constexpr u32 slot_bits = 12;  // D is at most 4096
constexpr u32 slot_mask = (1 << slot_bits) - 1;
constexpr u32 full_warp = 0xFFFFFFFFu;

// The parameters of all draws, which copy_model_gpu.py packs.
struct copy_model {
  u64 threshold;  // a random word below it makes a direct edge
  stream_key stream;
};

// The key of a slot's draw number `attempt`.
__device__ __forceinline__ u32 draw_key(const copy_model& model, u32 attempt) {
  return model.stream.key + attempt * attempt_key_step;
}

// Takes the hash h of a slot of vertex v apart: v becomes the vertex it chooses and `slot` a slot
// of that vertex. Returns whether the coin makes a direct edge.
__device__ __forceinline__ bool choose(const copy_model& model, u64 h, uvertex& v, u32& slot) {
  const uvertex radix = MGRAPH_BY_EDGES ? 2 * v - (D + 1) : v;
  const u32 h0 = u32(h), h1 = u32(h >> 32), v0 = u32(radix), v1 = u32(u64(radix) >> 32);
  const u64 t0 = u64(h0) * v0;
  const u64 t1 = u64(h1) * v0 + (t0 >> 32);
  const u64 t2 = u64(h0) * v1 + u32(t1);
  const u64 s0 = u64(u32(t0)) * D;
  const u64 s1 = u64(u32(t2)) * D + (s0 >> 32);
  v = uvertex(u64(h1) * v1 + (t1 >> 32) + (t2 >> 32));
  slot = u32(s1 >> 32);
  if (MGRAPH_BY_EDGES) {
    v = (v + D + 1) / 2;
    if (v < D || radix == 0) v = slot;  // radix 0: d = 1, v = 1, and there is no edge to draw from
  }
  return u64(u32(s1)) < model.threshold;
}

// One draw for slot `slot` of vertex v: (v, slot) becomes what it chooses. Returns whether the edge
// ends at v: a direct edge, or v in the clique.
__device__ __forceinline__ bool draw(const copy_model& model, u32 key, uvertex& v, u32& slot) {
  return choose(model, philox(u64(v) * D + slot, model.stream, key), v, slot) || v < D;
}

}  // namespace mgraph
