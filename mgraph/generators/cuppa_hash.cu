// cuPPA-Hash: every edge of the copy model is computed independently. Source: Alam, Perumalla,
// Sanders 2019, section 4.1, algorithm 2; cuppa_hash_cpu.py explains the method and the departures,
// and computes the same bits. copy_model.cuh has the macros.
//
// cuppa_hash_fill_clique: the edges of the clique.
// cuppa_hash_fill_core: the edges of the exact core's vertices, whose endpoints are stored.
// cuppa_hash_fill_short (D <= 32): a warp generates a tile of consecutive vertices, about 1024
//   edges. Each lane follows one chain and takes the tile's next edge as soon as its chain ends, so
//   lanes never wait for the warp's longest chain (1/p draws per edge instead of three times that).
//   A chain that reaches the core stores its position there in the tile, as a negative number; the
//   reads follow together. Then each lane looks for repeats in vertices of its own and redraws,
//   again without waiting for other lanes. Endpoints leave in 16-byte stores.
// cuppa_hash_fill_long (any D): a block generates a vertex and places its D endpoints in a hash
//   table in shared memory by deferred acceptance: an endpoint belongs to the lowest slot that ever
//   drew it, and a slot that loses one draws again. Whatever the order of events, the result is
//   that of drawing slot after slot: a slot rejects x only if a lower slot holds x, and from then
//   on some lower slot holds x for ever.
// Cost: 1/p draws per edge; 4 or 8 bytes written per edge and column. No data is shared between
// warps (short) or blocks (long) but the checksum, to which each warp adds once.

#include <mgraph/warp.cuh>
#include "copy_model.cuh"

using namespace mgraph;

// The endpoints of the exact core, vertices 0 to `stop` - 1, D each. Those of a clique vertex are
// the vertex itself, since a copy from it ends there.
struct exact_core {
  const int* ends;
  uvertex stop;
};

template <bool is_one> struct edge_of {
  using type = u64;
};
template <> struct edge_of<true> {
  using type = uvertex;
};
using uedge = edge_of<D == 1>::type;

// A chain of copies: the draw of edge e = v * D + slot comes next. The state is (v, e), since e is
// also the position in the core.
struct chain {
  uvertex v;
  uedge e;

  // One draw, whose hash is that of e. Returns whether the edge ends at v; else it ends where the
  // new edge e does.
  __device__ __forceinline__ bool step(const copy_model& model, u64 hash) {
    u32 slot;
    const bool is_direct = choose(model, hash, v, slot);
    e = uedge(v) * D + slot;
    return is_direct;
  }
};

// The end of a slot's chain, whose first draw has number `attempt`; the others have number 0.
__device__ uvertex endpoint(const copy_model& model, const exact_core& core, uvertex v, u32 slot,
                            u32 attempt) {
  chain at{v, uedge(v) * D + slot};
  u32 key = draw_key(model, attempt);
  while (!at.step(model, philox(at.e, model.stream, key))) {
    if (at.v < core.stop) return uvertex(core.ends[at.e]);
    key = draw_key(model, 0);
  }
  return at.v;
}

// Clique vertices first .. stop-1, of which v has edges to 0 .. v-1. Row 0 is the first of `first`.
extern "C" __global__ void cuppa_hash_fill_clique(long long first, long long stop, vertex_t* src,
                                                  vertex_t* dst, u64* checksum) {
  u64 sum = 0;
  for (long long v = first + blockIdx.x; v < stop; v += gridDim.x) {
    const long long row = v * (v - 1) / 2 - first * (first - 1) / 2;
    for (long long u = threadIdx.x; u < v; u += blockDim.x) {
      dst[row + u] = vertex_t(u);
      if (src) src[row + u] = vertex_t(v);
      sum += edge_hash(v, u);
    }
  }
  add_checksum(sum, checksum);
}

// Vertices first .. stop-1 of the exact core, beyond the clique. Row 0 is the first of `first`.
extern "C" __global__ void cuppa_hash_fill_core(long long first, long long stop, const int* core,
                                                vertex_t* src, vertex_t* dst, u64* checksum) {
  const long long count = (stop - first) * D, stride = (long long)gridDim.x * blockDim.x;
  u64 sum = 0;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const long long v = first + i / D;
    const int end = core[first * D + i];
    dst[i] = vertex_t(end);
    if (src) src[i] = vertex_t(v);
    sum += edge_hash(u64(v), u64(end));
  }
  add_checksum(sum, checksum);
}

#if MGRAPH_BY_WARP

constexpr u32 tile_vertices = 32 * (D < 32 ? 32 / D : 1);
constexpr u32 tile_edges = tile_vertices * D;
constexpr u32 block_warps_max = 49152 / (tile_edges * sizeof(vertex_t));
constexpr u32 block_warps = block_warps_max < 8 ? block_warps_max : 8;

// A lane's redraws in those of its vertices that have repeated endpoints: slot after slot is drawn
// again until no lower slot of the vertex has the same endpoint.
struct redraw_walk {
  const copy_model model;
  const exact_core core;
  vertex_t* const tile;
  const uvertex base;  // the vertex of the tile's first row
  u32 rows;            // bit i: row `lane + 32 i` has a repeat and is not done
  u32 slot = 1, attempt = 0;
  bool has_chain = false;  // `at` has not ended; its next draw has `key`
  u32 key;
  chain at;

  __device__ u32 index() const { return threadIdx.x % 32 + 32 * (__ffs(rows) - 1); }
  __device__ vertex_t* row() const { return tile + index() * D; }

  // Moves to the next slot that repeats a lower one, and begins a chain for it.
  __device__ void next() {
    for (; rows; rows &= rows - 1, slot = 1) {
      for (; slot < D; ++slot, attempt = 0) {
        u32 lower = 0;
        while (lower < slot && row()[lower] != row()[slot]) ++lower;
        if (lower == slot) continue;
        key = draw_key(model, ++attempt);
        at.v = base + index();
        at.e = uedge(at.v) * D + slot;
        has_chain = true;
        return;
      }
    }
    has_chain = false;
  }

  // One draw of the chain.
  __device__ void step() {
    const bool is_direct = at.step(model, philox(at.e, model.stream, key));
    key = draw_key(model, 0);
    if (!is_direct && at.v >= core.stop) return;
    row()[slot] = is_direct ? vertex_t(at.v) : vertex_t(core.ends[at.e]);
    next();
  }
};

// Rare for large p, and not inlined: its registers would reduce the occupancy of the caller.
__device__ __noinline__ void redraw(copy_model model, exact_core core, vertex_t* tile, uvertex base,
                                    u32 rows) {
  redraw_walk walk{model, core, tile, base, rows};
  walk.next();
  while (walk.has_chain) walk.step();
}

struct alignas(16) quad {
  vertex_t id[16 / sizeof(vertex_t)];
};
constexpr u32 quad_ids = 16 / sizeof(vertex_t);

// A vertex's endpoints, in registers.
struct row_of_ends {
  alignas(16) vertex_t ids[D];

  __device__ __forceinline__ explicit row_of_ends(const vertex_t* ends) {
    constexpr u32 step = D % quad_ids ? 1 : quad_ids;
#pragma unroll
    for (u32 i = 0; i < D; i += step) {
      if constexpr (step == 1)
        ids[i] = ends[i];
      else
        reinterpret_cast<quad&>(ids[i]) = reinterpret_cast<const quad&>(ends[i]);
    }
  }

  __device__ __forceinline__ bool has_reads() const {
    vertex_t signs = 0;
#pragma unroll
    for (u32 i = 0; i < D; ++i) signs |= ids[i];
    return signs < 0;
  }

  __device__ __forceinline__ bool has_repeats() const {
    bool is_repeated = false;
#pragma unroll
    for (u32 i = 1; i < D; ++i)
#pragma unroll
      for (u32 j = 0; j < i; ++j) is_repeated |= ids[i] == ids[j];
    return is_repeated;
  }
};

// Vertices first .. stop-1, all beyond the core; one warp per tile. src: null if sources are not
// requested. white1_key is white1 ^ key: as an argument it saves the loop an instruction.
extern "C" __global__ void __launch_bounds__(32 * block_warps)
    cuppa_hash_fill_short(long long first, long long stop, u64 threshold, u32 white0, u32 white1,
                          u32 key, u32 white1_key, const int* core_ends, long long core_stop,
                          vertex_t* src, vertex_t* dst, u64* checksum) {
  __shared__ alignas(16) vertex_t tiles[block_warps][tile_edges];
  const copy_model model{threshold, {white0, white1, key}};
  const exact_core core{core_ends, uvertex(core_stop)};
  const u32 lane = threadIdx.x % 32;
  const u32 lower_lanes = lanes_below();
  vertex_t* tile = tiles[threadIdx.x / 32];
  const bool aligned = ((u64(src) | u64(dst)) & 15) == 0;
  u64 sum = 0;

  const u32 warps = blockDim.x / 32;
  const long long stride = (long long)tile_vertices * gridDim.x * warps;
  const long long warp = blockIdx.x * warps + threadIdx.x / 32;
  for (long long base = first + tile_vertices * warp; base < stop; base += stride) {
    const u32 vertices = stop - base < tile_vertices ? u32(stop - base) : tile_vertices;
    const u32 edges = vertices * D;

    u32 mine = lane, next = 32;
    chain at{uvertex(base + mine / D), uedge(base) * D + mine};
    while (next < edges + 32) {
      const bool is_direct = at.step(model, philox(at.e, white0, white1_key, key));
      const bool ended = (is_direct || at.v < core.stop) && mine < edges;
      const u32 ended_lanes = __ballot_sync(full_warp, ended);
      const vertex_t end = D == 1 || is_direct ? vertex_t(at.v) : -vertex_t(at.e);
      if (ended) {
        tile[mine] = end;
        mine = next + __popc(ended_lanes & lower_lanes);
        at.v = uvertex(base + mine / D);
        at.e = uedge(base) * D + mine;
      }
      next += __popc(ended_lanes);
    }
    __syncwarp();

    // Endpoints to be read from the core are stored as -e (edge 0 ends at vertex 0). Rows that
    // have any are few for large p; they are handled after the others, so that the warp waits once
    // for all their reads.
    u32 rows_with_reads = 0, rows_with_repeats = 0;
    for (u32 vertex = lane; D > 1 && vertex < vertices; vertex += 32) {
      const row_of_ends row(tile + vertex * D);
      rows_with_reads |= u32(row.has_reads()) << (vertex / 32);
      rows_with_repeats |= u32(row.has_repeats()) << (vertex / 32);
    }
    for (u32 remaining = rows_with_reads; remaining; remaining &= remaining - 1) {
      const u32 i = __ffs(remaining) - 1;
      vertex_t* const ends = tile + (lane + 32 * i) * D;
#pragma unroll 4
      for (u32 slot = 0; slot < D; ++slot)
        if (ends[slot] < 0) ends[slot] = vertex_t(core.ends[-ends[slot]]);
      rows_with_repeats |= u32(row_of_ends(ends).has_repeats()) << i;
    }
    if (rows_with_repeats) redraw(model, core, tile, uvertex(base), rows_with_repeats);
    __syncwarp();

    const long long row0 = (base - first) * D;
    const u32 quads = aligned ? edges / quad_ids : 0;
    for (u32 q = lane; q < quads; q += 32) {
      const quad ends = reinterpret_cast<const quad*>(tile)[q];
      quad starts;
#pragma unroll
      for (u32 i = 0; i < quad_ids; ++i) {
        starts.id[i] = vertex_t(base + (q * quad_ids + i) / D);
        sum += edge_hash(u64(starts.id[i]), u64(ends.id[i]));
      }
      reinterpret_cast<quad*>(dst + row0)[q] = ends;
      if (src) reinterpret_cast<quad*>(src + row0)[q] = starts;
    }
    for (u32 i = quads * quad_ids + lane; i < edges; i += 32) {
      const vertex_t start = vertex_t(base + i / D);
      sum += edge_hash(u64(start), u64(tile[i]));
      dst[row0 + i] = tile[i];
      if (src) src[row0 + i] = start;
    }
    __syncwarp();
  }
  add_checksum(sum, checksum);
}

#endif

// Vertices first .. stop-1, all beyond the core; one block per vertex. src: null if sources are not
// requested. Dynamic shared memory: the table, 8 * table_size bytes, then D attempts of 4 bytes.
extern "C" __global__ void cuppa_hash_fill_long(long long first, long long stop, u64 threshold,
                                                u32 white0, u32 white1, u32 key,
                                                const int* core_ends, long long core_stop,
                                                vertex_t* src, vertex_t* dst, u64* checksum) {
  extern __shared__ u64 table[];  // endpoint << slot_bits | slot, or vacant
  constexpr u64 vacant = ~0ULL;
  u32* attempts = reinterpret_cast<u32*>(table + table_size);
  const copy_model model{threshold, {white0, white1, key}};
  const exact_core core{core_ends, uvertex(core_stop)};
  u64 sum = 0;

  for (long long v = first + blockIdx.x; v < stop; v += gridDim.x) {
    for (u32 i = threadIdx.x; i < table_size; i += blockDim.x) table[i] = vacant;
    for (u32 i = threadIdx.x; i < D; i += blockDim.x) attempts[i] = 0;
    __syncthreads();

    for (u32 first_slot = threadIdx.x; first_slot < D; first_slot += blockDim.x) {
      u32 slot = first_slot, attempt = 0;
      for (bool placed = false; !placed;) {
        const u64 end = endpoint(model, core, uvertex(v), slot, attempt);
        const u64 claim = end << slot_bits | slot;
        u32 at = u32(mix64(end)) % table_size;
        for (;;) {
          u64 held = atomicCAS(&table[at], vacant, claim);
          if (held == vacant) {
            placed = true;
            break;
          }
          if (held >> slot_bits == end) {
            held = atomicMin(&table[at], claim);  // the lower slot keeps the endpoint
            slot = u32(held > claim ? held : claim) & slot_mask;
            attempt = atomicAdd(&attempts[slot], 1u) + 1;  // and the higher one draws again
            break;
          }
          at = (at + 1) % table_size;
        }
      }
    }
    __syncthreads();

    const long long row0 = (v - first) * D;
    for (u32 i = threadIdx.x; i < table_size; i += blockDim.x) {
      const u64 held = table[i];
      if (held == vacant) continue;
      const u32 slot = u32(held) & slot_mask;
      dst[row0 + slot] = vertex_t(held >> slot_bits);
      if (src) src[row0 + slot] = vertex_t(v);
      sum += edge_hash(u64(v), held >> slot_bits);
    }
    __syncthreads();
  }
  add_checksum(sum, checksum);
}
