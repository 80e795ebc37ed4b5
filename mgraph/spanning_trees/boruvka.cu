// Borůvka's algorithm in the paper's five steps, a kernel a step or part of one; boruvka_cpu.py has the steps,
// boruvka_gpu.py the order of the launches. <step>_vertex: a thread a vertex, as the paper began;
// <step>_edge: a thread an arc, which finds its vertex by binary search.

#include "csr_search.cuh"

using namespace mgraph;
using u64 = unsigned long long;

namespace {

constexpr u32 none = ~0u;

// Among edges of one weight the one of the lower id is lighter.
__device__ u64 lightness(u32 key, u32 id) { return u64(key) << 32 | id; }

__device__ u32 thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ u32 threads() { return gridDim.x * blockDim.x; }

// Of an arc between two colours: what the contracted graph has in its place.
struct contraction {
  const int *indices, *colour;
  const u32 *new_id, *keys, *ids;

  __device__ bool keeps(u32 v, u32 arc) const { return colour[v] != colour[indices[arc]]; }
  __device__ void count(u32 v, u32 arc, u64* degree) const {
    if (keeps(v, arc)) atomicAdd(&degree[new_id[colour[v]]], 1ULL);
  }
  __device__ void write(u32 v, u32 arc, u64* cursor, int* new_indices, u32* new_keys, u32* new_ids) const {
    if (!keeps(v, arc)) return;
    const u64 at = atomicAdd(&cursor[new_id[colour[v]]], 1ULL);
    new_indices[at] = int(new_id[colour[indices[arc]]]);
    new_keys[at] = keys[arc];
    new_ids[at] = ids[arc];
  }
};

}  // namespace

// Before the first round: each arc's edge, which is an arc from the larger end; of parallel ones of a weight the
// first.
extern "C" __global__ void boruvka_edge_ids(const long long* indptr, const int* indices, const u32* keys,
                                            u32 n, u32 m, u32* ids) {
  for (u32 arc = thread(); arc < m; arc += threads()) {
    const u32 v = tail_of(indptr, n, arc), u = u32(indices[arc]);
    u32 id = arc, end = arc;
    if (u != v) {
      id = lower_bound(indptr, indices, max(u, v), min(u, v));
      end = lower_bound(indptr, indices, max(u, v), min(u, v) + 1);
    }
    while (id < end) {  // among parallel arcs, which ascend by weight
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

// Step 1. Each vertex's lightest arc to another vertex, or none.
extern "C" __global__ void boruvka_choose_vertex(const long long* indptr, const int* indices,
                                                 const u32* keys, const u32* ids, u32 n, u32 m,
                                                 u64* best_of_vertex, u32* candidate) {
  for (u32 v = thread(); v < n; v += threads()) {
    u64 best = ~0ULL;
    u32 chosen = none;
    for (u32 arc = u32(indptr[v]); arc < u32(indptr[v + 1]); ++arc) {
      const u64 mine = lightness(keys[arc], ids[arc]);
      if (mine < best && u32(indices[arc]) != v) best = mine, chosen = arc;
    }
    candidate[v] = chosen;
  }
}

// The same, an arc a thread, in two launches: best[v] must be ~0 before the first, candidate[v] none.
extern "C" __global__ void boruvka_choose_edge(const long long* indptr, const int* indices,
                                               const u32* keys, const u32* ids, u32 n, u32 m, u64* best,
                                               u32* candidate) {
  for (u32 arc = thread(); arc < m; arc += threads()) {
    const u32 v = tail_of(indptr, n, arc);
    const u64 mine = lightness(keys[arc], ids[arc]);
    if (u32(indices[arc]) != v && mine < best[v]) atomicMin(&best[v], mine);
  }
}
extern "C" __global__ void boruvka_chosen_edge(const long long* indptr, const int* indices,
                                               const u32* keys, const u32* ids, u32 n, u32 m, u64* best,
                                               u32* candidate) {
  for (u32 arc = thread(); arc < m; arc += threads()) {
    const u32 v = tail_of(indptr, n, arc);
    if (u32(indices[arc]) != v && lightness(keys[arc], ids[arc]) == best[v]) candidate[v] = arc;
  }
}

// Step 2. Of two vertices that chose each other the smaller gives its choice up.
extern "C" __global__ void boruvka_remove_mirrored(const int* indices, u32 n, u32* candidate) {
  for (u32 v = thread(); v < n; v += threads()) {
    if (candidate[v] == none) continue;
    const u32 u = u32(indices[candidate[v]]), other = candidate[u];  // the larger keeps its own
    if (v < u && other != none && u32(indices[other]) == v) candidate[v] = none;
  }
}

// Step 3. A vertex's colour is where its choice leads, its own if it has none; then, until nothing changes, …
extern "C" __global__ void boruvka_initialise_colours(const int* indices, const u32* candidate, u32 n,
                                                      int* colour) {
  for (u32 v = thread(); v < n; v += threads()) {
    colour[v] = candidate[v] == none ? int(v) : indices[candidate[v]];
  }
}
// … that of its colour: halves the way to the root each time.
extern "C" __global__ void boruvka_jump(u32 n, int* colour, int* changed) {
  for (u32 v = thread(); v < n; v += threads()) {
    const int mine = colour[v], next = colour[mine];
    if (mine != next) colour[v] = next, *changed = 1;
  }
}
// Or each vertex goes all the way by itself, as in the paper: once is enough.
extern "C" __global__ void boruvka_walk(u32 n, int* colour, int* changed) {
  for (u32 v = thread(); v < n; v += threads()) {
    int at = colour[v];
    while (colour[at] != at) at = colour[at];
    colour[v] = at;
  }
}

// Step 4. 1 for roots; its exclusive scan is their new ids.
extern "C" __global__ void boruvka_flag(const int* colour, u32 n, u32* flag) {
  for (u32 v = thread(); v < n; v += threads()) flag[v] = colour[v] == int(v);
}

// An inclusive scan as a beginner writes it, a launch for each power of two: what lies so far back is added.
extern "C" __global__ void boruvka_scan(const u64* from, long long count, long long back, u64* to) {
  for (long long i = thread(); i < count; i += threads()) {
    to[i] = from[i] + (i >= back ? from[i - back] : 0);
  }
}

// Step 5. The arcs between colours: count them, and after a scan write them. degree, cursor: of the new vertices.
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
  for (u32 arc = thread(); arc < m; arc += threads()) arcs.count(tail_of(indptr, n, arc), arc, degree);
}
extern "C" __global__ void boruvka_contract_vertex(const long long* indptr, const int* indices,
                                                   const u32* keys, const u32* ids, const int* colour,
                                                   const u32* new_id, u32 n, u32 m, u64* cursor,
                                                   int* new_indices, u32* new_keys, u32* new_ids) {
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
