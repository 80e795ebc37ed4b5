// Borůvka's algorithm in the paper's five steps, one kernel per step or half of a step.
//
// Source: A. Biagiotti, "Parallel solution for the MST problem"; boruvka_cpu.py describes the steps
// and the departures, boruvka_gpu.py launches them:
//   edge ids  before the first round: the edge of each arc, by which ties are broken
//   choose    (1) each vertex's minimum arc
//   mirror    (2) of two vertices that chose the same edge, one gives it up and is a root
//   colours   (3) each vertex's root, along the chosen arcs
//   rename    (4) new ids of the roots, by a scan of flags
//   count     (5) the arcs between different colours per root; a scan gives the new indptr
//   contract  (5) these arcs, renamed
// A step has variants: <step>_vertex is the paper's first (topology-driven), one thread per vertex
// that loops over its arcs; <step>_edge (data-driven) is one thread per arc, which finds its vertex
// by binary search. Only atomics order threads within a kernel; kernels follow each other on one
// stream. The order of arcs within a contracted row varies, the forest does not: edges are compared
// by (key, id).

#include "csr_search.cuh"

using namespace mgraph;
using u64 = unsigned long long;

constexpr u32 no_arc = 0xFFFFFFFF;
constexpr u64 no_edge = 0xFFFFFFFFFFFFFFFF;

namespace {

// Orders edges by key, and edges of equal keys by id.
__device__ u64 packed(u32 key, u32 id) { return u64(key) << 32 | id; }

__device__ u32 thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ u32 threads() { return gridDim.x * blockDim.x; }

// The arcs between different colours, and what they become in the contracted graph.
struct contraction {
  const int *indices, *colour;
  const u32 *new_id, *keys, *ids;

  __device__ bool keeps(u32 v, u32 arc) const { return colour[v] != colour[indices[arc]]; }
  __device__ void count(u32 v, u32 arc, u64* degree) const {
    if (keeps(v, arc)) atomicAdd(&degree[new_id[colour[v]]], 1ULL);
  }
  __device__ void write(u32 v, u32 arc, u64* cursor, int* new_indices, u32* new_keys,
                        u32* new_ids) const {
    if (!keeps(v, arc)) return;
    const u64 at = atomicAdd(&cursor[new_id[colour[v]]], 1ULL);
    new_indices[at] = int(new_id[colour[indices[arc]]]);
    new_keys[at] = keys[arc];
    new_ids[at] = ids[arc];
  }
};

}  // namespace

// Before the first round. The id of an edge is its arc from the larger end; of parallel arcs with
// equal keys, the first. Rows ascend, parallel arcs by key.
extern "C" __global__ void boruvka_edge_ids(const long long* indptr, const int* indices,
                                            const u32* keys, u32 n, u32 m, u32* ids) {
  for (u32 arc = thread(); arc < m; arc += threads()) {
    const u32 v = tail_of(indptr, n, arc), u = u32(indices[arc]);
    u32 id = arc, end = arc;
    if (u != v) {
      id = lower_bound(indptr, indices, max(u, v), min(u, v));
      end = lower_bound(indptr, indices, max(u, v), min(u, v) + 1);
    }
    while (id < end) {  // among parallel arcs
      const u32 middle = id + (end - id) / 2;
      if (keys[middle] < keys[arc]) {
        id = middle + 1;
      } else {
        end = middle;
      }
    }
    ids[arc] = id;
  }
}

// Step 1. Each vertex's minimum arc to another vertex, or no_arc. min_edge is not used.
extern "C" __global__ void boruvka_choose_vertex(const long long* indptr, const int* indices,
                                                 const u32* keys, const u32* ids, u32 n, u32 m,
                                                 u64* min_edge, u32* candidate) {
  for (u32 v = thread(); v < n; v += threads()) {
    u64 minimum = no_edge;
    u32 chosen = no_arc;
    for (u32 arc = u32(indptr[v]); arc < u32(indptr[v + 1]); ++arc) {
      const u64 mine = packed(keys[arc], ids[arc]);
      if (mine < minimum && u32(indices[arc]) != v) minimum = mine, chosen = arc;
    }
    candidate[v] = chosen;
  }
}

// The same by one thread per arc, in two launches. Before the first, min_edge[v] is no_edge and
// candidate[v] is no_arc for all v.
extern "C" __global__ void boruvka_choose_edge(const long long* indptr, const int* indices,
                                               const u32* keys, const u32* ids, u32 n, u32 m,
                                               u64* min_edge, u32* candidate) {
  for (u32 arc = thread(); arc < m; arc += threads()) {
    const u32 v = tail_of(indptr, n, arc);
    const u64 mine = packed(keys[arc], ids[arc]);
    if (u32(indices[arc]) != v && mine < min_edge[v]) atomicMin(&min_edge[v], mine);
  }
}
extern "C" __global__ void boruvka_chosen_edge(const long long* indptr, const int* indices,
                                               const u32* keys, const u32* ids, u32 n, u32 m,
                                               u64* min_edge, u32* candidate) {
  for (u32 arc = thread(); arc < m; arc += threads()) {
    const u32 v = tail_of(indptr, n, arc);
    if (u32(indices[arc]) != v && packed(keys[arc], ids[arc]) == min_edge[v]) candidate[v] = arc;
  }
}

// Step 2. Of two vertices that chose each other, the smaller gives up its candidate. The larger one
// keeps its own, so the order of threads does not matter.
extern "C" __global__ void boruvka_remove_mirrored(const int* indices, u32 n, u32* candidate) {
  for (u32 v = thread(); v < n; v += threads()) {
    if (candidate[v] == no_arc) continue;
    const u32 u = u32(indices[candidate[v]]), other = candidate[u];
    if (v < u && other != no_arc && u32(indices[other]) == v) candidate[v] = no_arc;
  }
}

// Step 3. A vertex's colour is the head of its candidate, or the vertex itself if it is a root.
extern "C" __global__ void boruvka_initialise_colours(const int* indices, const u32* candidate,
                                                      u32 n, int* colour) {
  for (u32 v = thread(); v < n; v += threads()) {
    colour[v] = candidate[v] == no_arc ? int(v) : indices[candidate[v]];
  }
}
// Pointer jumping: each launch halves the paths to the roots, until nothing changes.
extern "C" __global__ void boruvka_jump(u32 n, int* colour, int* changed) {
  for (u32 v = thread(); v < n; v += threads()) {
    const int mine = colour[v], next = colour[mine];
    if (mine != next) colour[v] = next, *changed = 1;
  }
}
// The paper's variant: each vertex follows its whole path, so that one launch is enough.
extern "C" __global__ void boruvka_walk(u32 n, int* colour, int* changed) {
  for (u32 v = thread(); v < n; v += threads()) {
    int at = colour[v];
    while (colour[at] != at) at = colour[at];
    colour[v] = at;
  }
}

// Step 4. Flags the roots; an exclusive scan of the flags gives their new ids.
extern "C" __global__ void boruvka_flag(const int* colour, u32 n, u32* flag) {
  for (u32 v = thread(); v < n; v += threads()) flag[v] = colour[v] == int(v);
}

// A step of the naive inclusive scan, which is launched for each power of two `distance`.
extern "C" __global__ void boruvka_scan(const u64* from, long long count, long long distance,
                                        u64* to) {
  for (long long i = thread(); i < count; i += threads()) {
    to[i] = from[i] + (i >= distance ? from[i - distance] : 0);
  }
}

// Step 5, first half. Counts the arcs between different colours. degree: of the new vertices, 0.
extern "C" __global__ void boruvka_count_vertex(const long long* indptr, const int* indices,
                                                const int* colour, const u32* new_id, u32 n, u32 m,
                                                u64* degree) {
  const contraction arcs = {indices, colour, new_id, nullptr, nullptr};
  for (u32 v = thread(); v < n; v += threads()) {
    for (u32 arc = u32(indptr[v]); arc < u32(indptr[v + 1]); ++arc) arcs.count(v, arc, degree);
  }
}
extern "C" __global__ void boruvka_count_edge(const long long* indptr, const int* indices,
                                              const int* colour, const u32* new_id, u32 n, u32 m,
                                              u64* degree) {
  const contraction arcs = {indices, colour, new_id, nullptr, nullptr};
  for (u32 arc = thread(); arc < m; arc += threads())
    arcs.count(tail_of(indptr, n, arc), arc, degree);
}

// Step 5, second half. Writes these arcs. cursor: where each new vertex's row begins.
extern "C" __global__ void boruvka_contract_vertex(const long long* indptr, const int* indices,
                                                   const u32* keys, const u32* ids,
                                                   const int* colour, const u32* new_id, u32 n,
                                                   u32 m, u64* cursor, int* new_indices,
                                                   u32* new_keys, u32* new_ids) {
  const contraction arcs = {indices, colour, new_id, keys, ids};
  for (u32 v = thread(); v < n; v += threads()) {
    for (u32 arc = u32(indptr[v]); arc < u32(indptr[v + 1]); ++arc) {
      arcs.write(v, arc, cursor, new_indices, new_keys, new_ids);
    }
  }
}
extern "C" __global__ void boruvka_contract_edge(const long long* indptr, const int* indices,
                                                 const u32* keys, const u32* ids, const int* colour,
                                                 const u32* new_id, u32 n, u32 m, u64* cursor,
                                                 int* new_indices, u32* new_keys, u32* new_ids) {
  const contraction arcs = {indices, colour, new_id, keys, ids};
  for (u32 arc = thread(); arc < m; arc += threads()) {
    arcs.write(tail_of(indptr, n, arc), arc, cursor, new_indices, new_keys, new_ids);
  }
}
