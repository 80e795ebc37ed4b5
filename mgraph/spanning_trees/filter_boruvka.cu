// Filter-Borůvka: the minimum spanning forest of a graph, or of a list of edges, in one launch.
// filter_boruvka_gpu.py names the sources and the cost.
//
//   MGRAPH_WEIGHT_T  int, float, or unsigned for keys that are in order already
//   MGRAPH_THREADS   threads per block
//   MGRAPH_BLOCKS    blocks per multiprocessor
//
// For a graph:
//   choose   choose_min_arcs reads each row once: every vertex takes its minimum arc
//   hook     hook_vertices adds these edges to the forest; vertices become trees in `parent`
//   bands    a band of ascending keys at a time: for_each_edge lists the edges between different
//            trees, and rounds of Borůvka's algorithm use up the list (filter_boruvka_rounds.cuh)
// For a list of edges every vertex begins as its own root and only the bands follow.
//
// Load balance: a warp shares the arcs of 32 rows evenly among its lanes. Rows of more than
// long_row arcs are cut into pieces, which are listed and handled by one warp each.
// Departure from the textbook: the first round needs no list of edges, since rows already hold the
// edges of each vertex; no edge is listed before its band comes.

#include "csr_search.cuh"
#include "filter_boruvka_rounds.cuh"

using namespace mgraph;
using weight_t = MGRAPH_WEIGHT_T;

// The kernel's arguments, which filter_boruvka_gpu.py packs.

// The arcs of a graph, or a list of edges.
struct edge_input {
  const long long* indptr;  // null: a list
  const int* src;           // of a list
  const int* dst;           // of a list; for a graph, the heads of the arcs
  u32 n;                    // vertices
  u32 m;                    // edges of the list, or arcs of the graph
};

// Memory that only a graph needs.
struct row_memory {
  u32* lower_degree;  // [n]
  u32* min_arc;       // [n]
  uint2* pieces;      // [m / (long_row / 2) + 1]
};

// Memory of the rounds; each of the two lists has `chunks_per_list` chunks: enough for all edges,
// and one more per warp.
struct forest_memory {
  u32* parent;    // [n]
  u64* min_edge;  // [n]
  u32* bits;      // a bit per edge or arc: the result
  listed_edge* entries;
  u32* filled;
  u32 chunks_per_list;
  sampled_edge* sample;       // [samples]
  u64* remaining_sample;      // [samples]
  forest_counters* counters;  // all 0
};

// The ids of the forest's edges, ascending; counters->joined is their number.
struct id_output {
  u32* ids;     // [n]; null: they are not written
  u32* counts;  // a word per block
};

namespace {

constexpr u32 long_row = 1024;     // arcs of a piece of a long row
constexpr u32 loads_per_lane = 2;  // that are in flight at a time

// The minimum of all lanes' values, in the first lane.
__device__ u64 warp_minimum(u64 value) {
  for (int step = 16; step; step /= 2) value = min(value, __shfl_down_sync(~0u, value, step));
  return value;
}

// An undirected graph of fewer than 2^32 - 1 arcs whose rows ascend, parallel arcs by weight. The
// id of an edge is its arc from the larger end.
struct graph_edges {
  const long long* indptr;
  const int* indices;
  const weight_t* weights;
  u32 n, m;
  u32* lower_degree;  // a vertex's arcs to smaller vertices, which are edges by id; 0 for long rows
  u32* min_arc;       // a vertex's minimum arc
  uint2* pieces;      // of long rows: vertex and first arc

  __device__ u32 edges() const { return m / 2; }
  __device__ u32 key(u32 arc) const { return weights ? order_key(weights[arc]) : 0; }

  // Goes through one range of arcs per lane, by all lanes of a warp together. Calls
  // load(is_arc, lane that owns the range, arc) for several times 32 arcs, so that their loads are
  // in flight at once, then use(what load returned, owner, number of arcs before these 32,
  // inclusive scan of the ranges' lengths) for each 32.
  template <class Load, class Use>
  __device__ static void for_each_arc(u32 begin, u32 count, Load load, Use use) {
    const u32 lane = threadIdx.x & 31;
    u32 ends = count;
    for (int step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(~0u, ends, step);
      if (lane >= step) ends += other;
    }
    const u32 total = __shfl_sync(~0u, ends, 31), offset = begin - (ends - count);
    for (u32 base = 0; base < total; base += 32 * loads_per_lane) {
      u32 owner[loads_per_lane];
      decltype(load(true, 0u, 0u)) loaded[loads_per_lane];
#pragma unroll
      for (u32 k = 0; k < loads_per_lane; ++k) {
        const u32 place = base + 32 * k + lane;
        owner[k] = 0;
#pragma unroll
        for (u32 step = 16; step; step /= 2) {
          if (__shfl_sync(~0u, ends, owner[k] + step - 1) <= place) owner[k] += step;
        }
        loaded[k] = load(place < total, owner[k], __shfl_sync(~0u, offset, owner[k]) + place);
      }
#pragma unroll
      for (u32 k = 0; k < loads_per_lane; ++k) {
        if (base + 32 * k < total) use(loaded[k], owner[k], base + 32 * k, ends);
      }
    }
  }

  // The minimum of `current` and the arcs arc_at(0 .. min(count, 8) - 1) of v that are no
  // self-loops. Heads are read only for arcs below `current`.
  template <class Arc> __device__ u64 min_arc_of(u32 v, u64 current, u32 count, Arc arc_at) const {
    u64 value[8], minimum = no_edge;
#pragma unroll
    for (u32 k = 0; k < 8; ++k) {
      value[k] = k < count ? packed(key(arc_at(k)), arc_at(k)) : no_edge;
      minimum = min(minimum, value[k]);
    }
    if (minimum >= current) return current;
#pragma unroll
    for (u32 k = 0; k < 8; ++k) {
      if (value[k] < current && u32(indices[u32(value[k])]) != v) current = value[k];
    }
    return current;
  }

  // Makes v point to the head of its minimum arc, or to itself if it has none.
  __device__ void choose(const forest& f, u32 v, u64 minimum) const {
    min_arc[v] = u32(minimum);
    f.parent[v] = minimum == no_edge ? v : u32(indices[u32(minimum)]);
    f.min_edge[v] = no_edge;
  }

  // Finds each vertex's minimum arc, and makes the vertex point to its head.
  __device__ void choose_min_arcs(forest& f) const {
    const u32 lane = threadIdx.x & 31;
    for (u32 first = 32 * f.warp(); first < n; first += 32 * f.warps()) {
      const u32 v = first + lane;
      const bool has_row = v < n;
      const u32 begin = has_row ? u32(indptr[v]) : 0;
      const u32 degree = has_row ? u32(indptr[v + 1]) - begin : 0;
      const bool is_long = degree > long_row;
      u64 minimum = no_edge;
      for_each_arc(
          begin, is_long ? 0 : degree,
          [&](bool is_arc, u32, u32 arc) { return is_arc ? packed(key(arc), arc) : no_edge; },
          [&](u64 value, u32 owner, u32 base, u32 ends) {
      // A segmented minimum: each owner's, in the first of its lanes.
#pragma unroll
            for (int step = 1; step < 32; step *= 2) {
              const u64 other = __shfl_down_sync(~0u, value, step);
              const u32 other_owner = __shfl_down_sync(~0u, owner, step);
              if (lane + step < 32 && other_owner == owner) value = min(value, other);
            }
            u32 starts = __shfl_up_sync(~0u, ends, 1);
            if (lane == 0) starts = 0;
            const u64 mine = __shfl_sync(~0u, value, max(starts, base) - base);
            if (starts < ends && starts < base + 32 && ends > base) minimum = min(minimum, mine);
          });
      if (has_row) {
        f.min_edge[v] = no_edge;
        if (!is_long) {
          if (minimum != no_edge && u32(indices[u32(minimum)]) == v) {  // a self-loop: rare
            minimum = no_edge;
            for (u32 i = 0; i < degree; i += 8) {
              minimum = min_arc_of(v, minimum, degree - i, [&](u32 k) { return begin + i + k; });
            }
          }
          choose(f, v, minimum);
          lower_degree[v] = lower_bound(indptr, indices, v, v) - begin;
        }
      }
      for (u32 longs = __ballot_sync(~0u, is_long); longs; longs &= longs - 1) {
        const int owner = __ffs(longs) - 1;
        const u32 from = __shfl_sync(~0u, begin, owner);
        const u32 count = (__shfl_sync(~0u, degree, owner) + long_row - 1) / long_row;
        u32 at = 0;
        if (lane == 0) at = atomicAdd(&f.counters->pieces, count);
        at = __shfl_sync(~0u, at, 0);
        for (u32 i = lane; i < count; i += 32)
          pieces[at + i] = {first + owner, from + i * long_row};
      }
    }
    f.barrier.wait();
    if (fresh(&f.counters->pieces) == 0) return;
    for_each_piece(f, [&](u32 v, u32 begin, u32 end) {
      u64 minimum = no_edge;
      for (u32 arc = begin + lane; arc < end; arc += 8 * 32) {
        const u32 remaining = (end - arc + 31) / 32;
        minimum = min_arc_of(v, minimum, remaining, [&](u32 k) { return arc + 32 * k; });
      }
      minimum = warp_minimum(minimum);
      if (lane == 0) atomicMin(&f.min_edge[v], minimum);
    });
    f.barrier.wait();
    for_each_piece(f, [&](u32 v, u32 begin, u32) {
      if (lane != 0 || begin != u32(indptr[v])) return;
      choose(f, v, fresh(&f.min_edge[v]));
      lower_degree[v] = 0;  // its edges are found in its pieces
    });
    f.barrier.wait();
  }

  template <class F> __device__ void for_each_piece(const forest& f, F use) const {
    const u32 count = fresh(&f.counters->pieces);
    for (u32 i = f.warp(); i < count; i += f.warps()) {
      const uint2 piece = pieces[i];
      use(piece.x, piece.y, min(piece.y + long_row, u32(indptr[piece.x + 1])));
    }
  }

  // Adds the minimum arc of each vertex to the forest. Of two vertices that chose the same edge,
  // the smaller becomes the root.
  __device__ void hook_vertices(forest& f) const {
    for (u32 v = f.thread(); v < n; v += f.threads()) {
      const u32 u = f.parent[v];
      if (u == v) {
        atomicAdd(&f.counters->isolated, 1u);
      } else if (v < u && f.parent[u] == v) {
        f.parent[v] = v;
      } else {
        // lower_bound: the first of parallel arcs, which has the minimum weight.
        f.add_edge(v > u ? min_arc[v] : lower_bound(indptr, indices, u, v));
      }
    }
    f.barrier.wait();
  }

  __device__ void draw_sample(const forest& f) const {
    for (u32 i = f.thread(); i < samples; i += f.threads()) {
      const u32 arc = u32(__umul64hi(mix64(i + 1), m));
      f.sample[i] = {tail_of(indptr, n, arc), u32(indices[arc]), key(arc)};
    }
  }

  // Calls use(has_edge, edge) until it was called for each edge between different roots whose key
  // lies in [min_key, bound], by whole warps.
  template <class F>
  __device__ void for_each_edge(const forest& f, u32 min_key, u32 bound, F use) const {
    const u32 lane = threadIdx.x & 31;
    const auto edge = [&](bool is_arc, u32 root, u32 arc, u32 head_bound) {
      listed_edge e = {root, root, 0, arc};
      if (is_arc) e.key = key(arc);
      if (is_arc && e.key >= min_key && e.key <= bound) {
        const u32 v = u32(indices[arc]);
        if (v < head_bound) e.b = f.parent[v];
      }
      return e;
    };
    for (u32 first = 32 * f.warp(); first < n; first += 32 * f.warps()) {
      const u32 v = first + lane;
      const bool has_row = v < n;
      const u32 begin = has_row ? u32(indptr[v]) : 0, count = has_row ? lower_degree[v] : 0;
      const u32 root = has_row ? f.parent[v] : 0;
      for_each_arc(
          begin, count,
          [&](bool is_arc, u32 owner, u32 arc) {
            return edge(is_arc, __shfl_sync(~0u, root, owner), arc, ~0u);
          },
          [&](listed_edge e, u32, u32, u32) { use(e.a != e.b, e); });
    }
    for_each_piece(f, [&](u32 v, u32 begin, u32 end) {
      const u32 root = f.parent[v];
      for (u32 arc = begin; arc < end; arc += 32 * loads_per_lane) {
        listed_edge loaded[loads_per_lane];
#pragma unroll
        for (u32 k = 0; k < loads_per_lane; ++k) {
          const u32 mine = arc + 32 * k + lane;
          loaded[k] = edge(mine < end, root, mine, v);
        }
#pragma unroll
        for (u32 k = 0; k < loads_per_lane; ++k) use(loaded[k].a != loaded[k].b, loaded[k]);
      }
    });
  }
};

// A list of fewer than 2^32 - 1 edges; the id of an edge is its position.
struct list_of_edges {
  const int *src, *dst;
  const weight_t* weights;
  u32 m;

  __device__ u32 edges() const { return m; }
  __device__ u32 key(u32 i) const { return weights ? order_key(weights[i]) : 0; }

  __device__ void draw_sample(const forest& f) const {
    for (u32 i = f.thread(); i < samples; i += f.threads()) {
      const u32 edge = u32(__umul64hi(mix64(i + 1), m));
      f.sample[i] = {u32(src[edge]), u32(dst[edge]), key(edge)};
    }
  }

  template <class F>
  __device__ void for_each_edge(const forest& f, u32 min_key, u32 bound, F use) const {
    const u32 lane = threadIdx.x & 31;
    for (u64 first = 32ULL * f.warp(); first < m; first += 32ULL * f.warps()) {
      const u64 i = first + lane;
      listed_edge e = {0, 0, 0, u32(i)};
      if (i < m) {
        e.key = key(u32(i));
        if (e.key >= min_key && e.key <= bound) e.a = f.parent[src[i]], e.b = f.parent[dst[i]];
      }
      use(e.a != e.b, e);
    }
  }
};

}  // namespace

// Writes the forest's edges as bits, and by id if requested. weights: null if all are equal. It is
// a parameter of its own, since only then does the compiler specialise the loops for null.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS, MGRAPH_BLOCKS)
    filter_boruvka_join(__grid_constant__ const edge_input edge_input_, const weight_t* weights,
                        __grid_constant__ const row_memory row_memory_,
                        __grid_constant__ const forest_memory forest_memory_,
                        __grid_constant__ const id_output id_output_) {
  const edge_input in = edge_input_;
  const forest_memory memory = forest_memory_;
  const u32 n = in.n, m = in.m;
  forest f = {n,
              memory.parent,
              memory.min_edge,
              memory.bits,
              memory.entries,
              memory.filled,
              memory.chunks_per_list,
              memory.sample,
              memory.remaining_sample,
              memory.counters,
              {&memory.counters->arrived, 0},
              0,
              false};
  for (u32 w = f.thread(); w < u32((u64(m) + 31) / 32); w += f.threads()) f.bits[w] = 0;
  if (in.indptr) {
    const row_memory rows = row_memory_;
    const graph_edges graph = {in.indptr,         in.dst,       weights,    n, m,
                               rows.lower_degree, rows.min_arc, rows.pieces};
    graph.draw_sample(f);
    graph.choose_min_arcs(f);
    graph.hook_vertices(f);
    f.flatten_trees();
    f.span(graph);
  } else {
    const list_of_edges list = {in.src, in.dst, weights, m};
    list.draw_sample(f);
    for (u32 v = f.thread(); v < n; v += f.threads()) {
      f.parent[v] = v;
      f.min_edge[v] = no_edge;
    }
    f.barrier.wait();
    f.span(list);
  }
  f.publish_joined();
  if (id_output_.ids) f.write_ids(m, id_output_.counts, id_output_.ids);
}
