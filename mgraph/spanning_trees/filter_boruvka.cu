// Filter-Borůvka: the minimum spanning forest of a graph, or of a list of edges, in one launch of blocks that
// are all resident; filter_boruvka_gpu.py has the plan.
//   MGRAPH_WEIGHT_T  int, float, or unsigned for keys that are in order already
//   MGRAPH_THREADS   a block
//   MGRAPH_BLOCKS    a multiprocessor

#include "csr_search.cuh"
#include "filter_boruvka_rounds.cuh"

using namespace mgraph;
using weight_t = MGRAPH_WEIGHT_T;

namespace {

constexpr u32 long_row = 1024;  // arcs; longer rows are cut into pieces of so many
constexpr u32 together = 2;     // times 32 arcs

// The lesser of all lanes' values, in the first lane.
__device__ u64 least_of_warp(u64 value) {
  for (int step = 16; step; step /= 2) value = min(value, __shfl_down_sync(~0u, value, step));
  return value;
}

}  // namespace

// What to span: the arcs of a graph, or a list of edges.
struct edge_input {
  const long long* indptr;  // null: a list
  const int* src;           // of a list
  const int* dst;           // of a list; the arcs' ends of a graph
  u32 n;                    // vertices
  u32 m;                    // edges of a list, arcs of a graph
};

// Of a graph, for n vertices and its long rows.
struct row_memory {
  u32* low;
  u32* chosen;
  uint2* pieces;  // m / 512 + 1
};

// For n vertices, m edges or arcs, and `chunks` chunks of each of two lists, which are enough for
// all edges and one more a warp.
struct forest_memory {
  u32* parent;  // n
  u64* best;    // n
  u32* bits;    // one an edge or arc: the result
  listed_edge* entries;
  u32* filled;
  u32 chunks;
  sampled_edge* sample;
  u64* drawn;
  forest_progress* progress;  // 0
};

// Where the edges' ids go, ascending; their number is progress->joined.
struct id_output {
  u32* ids;     // n; null: nowhere
  u32* counts;  // a block
};

namespace {

// The edges of an undirected graph whose rows ascend, parallel arcs by weight, of fewer than 2^32 - 1 arcs. An edge's id is its
// arc from the larger end.
struct graph_edges {
  const long long* indptr;
  const int* indices;
  const weight_t* weights;
  u32 n, m;
  u32* low;       // how many of a vertex's arcs lead to smaller ones, which are its edges; 0 for long rows
  u32* chosen;    // its lightest arc
  uint2* pieces;  // of long rows: vertex and first arc

  __device__ u32 edges() const { return m / 2; }
  __device__ u32 key(u32 arc) const { return weights ? order_key(weights[arc]) : 0; }

  // Go through a range of arcs a lane, by all lanes of a warp: look(whether there is one, whose lane's, which
  // arc) for several times 32 arcs, so that what it loads is on its way together, then take(what look gave,
  // whose, how many arcs came before these 32, the sum of counts up to each lane) for each 32.
  template <class Look, class Take>
  __device__ static void for_each_arc(u32 begin, u32 count, Look look, Take take) {
    const u32 lane = threadIdx.x & 31;
    u32 ends = count;
    for (int step = 1; step < 32; step *= 2) {
      const u32 other = __shfl_up_sync(~0u, ends, step);
      if (lane >= step) ends += other;
    }
    const u32 total = __shfl_sync(~0u, ends, 31), offset = begin - (ends - count);
    for (u32 base = 0; base < total; base += 32 * together) {
      u32 owner[together];
      decltype(look(true, 0u, 0u)) found[together];
#pragma unroll
      for (u32 k = 0; k < together; ++k) {
        const u32 place = base + 32 * k + lane;
        owner[k] = 0;
#pragma unroll
        for (u32 step = 16; step; step /= 2) {
          if (__shfl_sync(~0u, ends, owner[k] + step - 1) <= place) owner[k] += step;
        }
        found[k] = look(place < total, owner[k], __shfl_sync(~0u, offset, owner[k]) + place);
      }
#pragma unroll
      for (u32 k = 0; k < together; ++k) {
        if (base + 32 * k < total) take(found[k], owner[k], base + 32 * k, ends);
      }
    }
  }

  // The lightest of some of v's arcs that lead to another vertex. Ends are looked at only of arcs that are
  // lighter than others.
  template <class Arc> __device__ u64 lighter(u32 v, u64 lightest, u32 count, Arc arc_at) const {
    u64 value[8], least = no_choice;
#pragma unroll
    for (u32 k = 0; k < 8; ++k) {
      value[k] = k < count ? lightness(key(arc_at(k)), arc_at(k)) : no_choice;
      least = min(least, value[k]);
    }
    if (least >= lightest) return lightest;
#pragma unroll
    for (u32 k = 0; k < 8; ++k) {
      if (value[k] < lightest && u32(indices[u32(value[k])]) != v) lightest = value[k];
    }
    return lightest;
  }

  // Vertex v's lightest arc to another vertex, if there is one, and where it leads, else v.
  __device__ void choose(const forest& f, u32 v, u64 lightest) const {
    chosen[v] = u32(lightest);
    f.parent[v] = lightest == no_choice ? v : u32(indices[u32(lightest)]);
    f.best[v] = no_choice;
  }

  // Each vertex's lightest arc, and where it leads into f.parent.
  __device__ void choose_lightest(forest& f) const {
    const u32 lane = threadIdx.x & 31;
    for (u32 first = 32 * f.warp(); first < n; first += 32 * f.warps()) {
      const u32 v = first + lane;
      const bool there = v < n;
      const u32 begin = there ? u32(indptr[v]) : 0, degree = there ? u32(indptr[v + 1]) - begin : 0;
      const bool is_long = degree > long_row;
      u64 lightest = no_choice;
      for_each_arc(
          begin, is_long ? 0 : degree,
          [&](bool real, u32, u32 arc) { return real ? lightness(key(arc), arc) : no_choice; },
          [&](u64 value, u32 owner, u32 base, u32 ends) {
            // The least of each owner's, in the first of its lanes.
#pragma unroll
            for (int step = 1; step < 32; step *= 2) {
              const u64 other = __shfl_down_sync(~0u, value, step);
              const u32 its_owner = __shfl_down_sync(~0u, owner, step);
              if (lane + step < 32 && its_owner == owner) value = min(value, other);
            }
            u32 starts = __shfl_up_sync(~0u, ends, 1);
            if (lane == 0) starts = 0;
            const u64 mine = __shfl_sync(~0u, value, max(starts, base) - base);
            if (starts < ends && starts < base + 32 && ends > base) lightest = min(lightest, mine);
          });
      if (there) {
        f.best[v] = no_choice;
        if (!is_long) {
          if (lightest != no_choice && u32(indices[u32(lightest)]) == v) {  // a self-loop: seldom so light
            lightest = no_choice;
            for (u32 i = 0; i < degree; i += 8) {
              lightest = lighter(v, lightest, degree - i, [&](u32 k) { return begin + i + k; });
            }
          }
          choose(f, v, lightest);
          low[v] = lower_bound(indptr, indices, v, v) - begin;
        }
      }
      for (u32 longs = __ballot_sync(~0u, is_long); longs; longs &= longs - 1) {
        const int whose = __ffs(longs) - 1;
        const u32 from = __shfl_sync(~0u, begin, whose);
        const u32 count = (__shfl_sync(~0u, degree, whose) + long_row - 1) / long_row;
        u32 at = 0;
        if (lane == 0) at = atomicAdd(&f.progress->pieces, count);
        at = __shfl_sync(~0u, at, 0);
        for (u32 i = lane; i < count; i += 32) pieces[at + i] = {first + whose, from + i * long_row};
      }
    }
    f.barrier.wait();
    if (fresh(&f.progress->pieces) == 0) return;
    for_each_piece(f, [&](u32 v, u32 begin, u32 end) {
      u64 lightest = no_choice;
      for (u32 arc = begin + lane; arc < end; arc += 8 * 32) {
        const u32 left = (end - arc + 31) / 32;
        lightest = lighter(v, lightest, left, [&](u32 k) { return arc + 32 * k; });
      }
      lightest = least_of_warp(lightest);
      if (lane == 0) atomicMin(&f.best[v], lightest);
    });
    f.barrier.wait();
    for_each_piece(f, [&](u32 v, u32 begin, u32) {
      if (lane != 0 || begin != u32(indptr[v])) return;
      choose(f, v, fresh(&f.best[v]));
      low[v] = 0;  // its edges are found in its pieces
    });
    f.barrier.wait();
  }

  template <class F> __device__ void for_each_piece(const forest& f, F use) const {
    const u32 count = fresh(&f.progress->pieces);
    for (u32 i = f.warp(); i < count; i += f.warps()) {
      const uint2 piece = pieces[i];
      use(piece.x, piece.y, min(piece.y + long_row, u32(indptr[piece.x + 1])));
    }
  }

  // Join each vertex to where its lightest arc leads; of two that chose each other, the larger.
  __device__ void hook_lightest(forest& f) const {
    for (u32 v = f.thread(); v < n; v += f.threads()) {
      const u32 u = f.parent[v];
      if (u == v) {
        atomicAdd(&f.progress->isolated, 1u);
      } else if (v < u && f.parent[u] == v) {
        f.parent[v] = v;
      } else {
        f.join(v > u ? chosen[v] : lower_bound(indptr, indices, u, v));  // of parallel arcs the lightest
      }
    }
    f.barrier.wait();
  }

  __device__ void draw(const forest& f) const {
    for (u32 i = f.thread(); i < samples; i += f.threads()) {
      const u32 arc = u32(__umul64hi(mix64(i + 1), m));
      f.sample[i] = {tail_of(indptr, n, arc), u32(indices[arc]), key(arc)};
    }
  }

  // use(whether there is one, which) for each edge between different roots with low <= key <= bound, by whole
  // warps.
  template <class F> __device__ void for_each_edge(const forest& f, u32 low_key, u32 bound, F use) const {
    const u32 lane = threadIdx.x & 31;
    const auto edge = [&](bool real, u32 root, u32 arc, u32 below) {
      listed_edge e = {root, root, 0, arc};
      if (real) e.key = key(arc);
      if (real && e.key >= low_key && e.key <= bound) {
        const u32 v = u32(indices[arc]);
        if (v < below) e.b = f.parent[v];
      }
      return e;
    };
    for (u32 first = 32 * f.warp(); first < n; first += 32 * f.warps()) {
      const u32 v = first + lane;
      const bool there = v < n;
      const u32 begin = there ? u32(indptr[v]) : 0, count = there ? low[v] : 0;
      const u32 root = there ? f.parent[v] : 0;
      for_each_arc(
          begin, count,
          [&](bool real, u32 owner, u32 arc) {
            return edge(real, __shfl_sync(~0u, root, owner), arc, ~0u);
          },
          [&](listed_edge e, u32, u32, u32) { use(e.a != e.b, e); });
    }
    for_each_piece(f, [&](u32 v, u32 begin, u32 end) {
      const u32 root = f.parent[v];
      for (u32 arc = begin; arc < end; arc += 32 * together) {
        listed_edge found[together];
#pragma unroll
        for (u32 k = 0; k < together; ++k) {
          const u32 its = arc + 32 * k + lane;
          found[k] = edge(its < end, root, its, v);
        }
#pragma unroll
        for (u32 k = 0; k < together; ++k) use(found[k].a != found[k].b, found[k]);
      }
    });
  }
};

// A list of fewer than 2^32 - 1 edges; an edge's id is its place.
struct list_of_edges {
  const int *src, *dst;
  const weight_t* weights;
  u32 m;

  __device__ u32 edges() const { return m; }
  __device__ u32 key(u32 i) const { return weights ? order_key(weights[i]) : 0; }

  __device__ void draw(const forest& f) const {
    for (u32 i = f.thread(); i < samples; i += f.threads()) {
      const u32 edge = u32(__umul64hi(mix64(i + 1), m));
      f.sample[i] = {u32(src[edge]), u32(dst[edge]), key(edge)};
    }
  }

  template <class F> __device__ void for_each_edge(const forest& f, u32 low_key, u32 bound, F use) const {
    const u32 lane = threadIdx.x & 31;
    for (u64 first = 32ULL * f.warp(); first < m; first += 32ULL * f.warps()) {
      const u64 i = first + lane;
      listed_edge e = {0, 0, 0, u32(i)};
      if (i < m) {
        e.key = key(u32(i));
        if (e.key >= low_key && e.key <= bound) e.a = f.parent[src[i]], e.b = f.parent[dst[i]];
      }
      use(e.a != e.b, e);
    }
  }
};

}  // namespace

// The forest's edges as bits, and by id.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS, MGRAPH_BLOCKS)
    filter_boruvka_join(__grid_constant__ const edge_input edge_input_, const weight_t* weights,
                        __grid_constant__ const row_memory row_memory_,
                        __grid_constant__ const forest_memory forest_memory_,
                        __grid_constant__ const id_output id_output_) {
  const edge_input in = edge_input_;
  const forest_memory memory = forest_memory_;
  const u32 n = in.n, m = in.m;
  forest f = {n, memory.parent, memory.best, memory.bits, memory.entries, memory.filled,
              memory.chunks, memory.sample, memory.drawn, memory.progress,
              {&memory.progress->arrived, 0}, 0, false};
  for (u32 w = f.thread(); w < u32((u64(m) + 31) / 32); w += f.threads()) f.bits[w] = 0;
  if (in.indptr) {
    const row_memory rows = row_memory_;
    const graph_edges graph = {in.indptr, in.dst,   weights, n, m, rows.low,
                               rows.chosen, rows.pieces};
    graph.draw(f);
    graph.choose_lightest(f);
    graph.hook_lightest(f);
    f.flatten();
    f.span(graph);
  } else {
    const list_of_edges list = {in.src, in.dst, weights, m};
    list.draw(f);
    for (u32 v = f.thread(); v < n; v += f.threads()) {
      f.parent[v] = v;
      f.best[v] = no_choice;
    }
    f.barrier.wait();
    f.span(list);
  }
  f.tell_joined();
  if (id_output_.ids) f.write_ids(m, id_output_.counts, id_output_.ids);
}
