// Trees of key vertices, and the best of two trees: the kernels of vertex_exchange_gpu.py.
//
// Mehlhorn's heuristic in parallel. Around each key vertex is a region of the vertices nearest to
// it. exchange_find_vias finds the last arc of each vertex's shortest path, exchange_find_bases the
// key vertex at its begin. Of the arcs between regions a minimum spanning forest is chosen; then
// exchange_take_paths takes the shortest paths to the ends of each chosen arc, which together are a
// tree, and exchange_prune removes the branches that lead to no terminal.
//
// exchange_join and exchange_flatten contract what two trees have in common, by union-find: the
// parent of a root is set to a smaller vertex by compare-and-swap, and whatever a thread reads of a
// parent is an ancestor (see components.cu).
//
// Hand-overs: a path ends where another thread has taken its next vertex, by atomicExch. A leaf's
// only edge is the exclusive or of its edges' ids: who removes an edge writes that first and counts
// the degree down after a fence, and who counts it down to 1 goes on from there after another.
//
// Cost: three passes over the arcs, each vertex's path once, and those of the tree again.
#include <mgraph/fresh.cuh>
#include <mgraph/hash.cuh>
#include <mgraph/union_find.cuh>

using namespace mgraph;

namespace {

constexpr u32 no_arc = 0x7fffffff;

__device__ long long thread() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long threads() { return (long long)gridDim.x * blockDim.x; }

}  // namespace

// via: [n], no_arc at first; the last arc of a shortest path, the first of those.
extern "C" __global__ void exchange_find_vias(const int* tails, const int* heads,
                                              const long long* lengths, const long long* distance,
                                              long long arcs, u32* via) {
  for (long long arc = thread(); arc < arcs; arc += threads()) {
    const long long before = distance[tails[arc]], length = distance[heads[arc]];
    if (before < length && before + lengths[arc] == length) atomicMin(&via[heads[arc]], u32(arc));
  }
}

// base: [n], where each vertex's path begins; itself for a vertex without a path.
extern "C" __global__ void exchange_find_bases(long long n, const u32* via, const int* tails,
                                               int* base) {
  for (long long v = thread(); v < n; v += threads()) {
    int x = int(v);
    while (via[x] != no_arc) x = tails[via[x]];
    base[v] = x;
  }
}

// taken: [n], zeros. in_tree: [edges], zeros; gets a 1 for each edge of the paths.
extern "C" __global__ void exchange_take_paths(const u32* chosen, long long count, const int* tails,
                                               const int* heads, const int* edge_of, const u32* via,
                                               u32* taken, unsigned char* in_tree) {
  for (long long i = thread(); i < 2 * count; i += threads()) {
    const u32 arc = chosen[i / 2];
    in_tree[edge_of[arc]] = 1;
    int x = i % 2 ? tails[arc] : heads[arc];
    while (via[x] != no_arc && !atomicExch(&taken[x], 1)) {
      in_tree[edge_of[via[x]]] = 1;
      x = tails[via[x]];
    }
  }
}

// degree, link: [n], zeros; get the number of each vertex's edges, and their exclusive or.
extern "C" __global__ void exchange_count_degrees(const long long* tree, long long count,
                                                  const int2* ends, u32* degree, u32* link) {
  for (long long i = thread(); i < count; i += threads()) {
    const int2 both = ends[tree[i]];
    atomicAdd(&degree[both.x], 1);
    atomicAdd(&degree[both.y], 1);
    atomicXor(&link[both.x], u32(tree[i]));
    atomicXor(&link[both.y], u32(tree[i]));
  }
}

// Of the vertices whose degree is 1 at the launch each begins a branch, if it is no terminal.
extern "C" __global__ void exchange_prune(const int* leaves, long long count,
                                          const unsigned char* is_terminal, const int2* ends,
                                          u32* degree, u32* link, unsigned char* in_tree) {
  for (long long i = thread(); i < count; i += threads()) {
    int x = leaves[i];
    while (!is_terminal[x]) {
      const u32 edge = fresh(link + x);
      const int2 both = ends[edge];
      const int y = both.x ^ both.y ^ x;
      in_tree[edge] = 0;
      degree[x] = 0;
      atomicXor(&link[y], edge);
      __threadfence();
      if (atomicSub(&degree[y], 1) != 2) break;
      __threadfence();
      x = y;
    }
  }
}

// parent: [n], each vertex itself.
extern "C" __global__ void exchange_join(const long long* edges, long long count, const int2* ends,
                                         int* parent) {
  for (long long i = thread(); i < count; i += threads()) {
    join(ends[edges[i]].x, ends[edges[i]].y, parent);
  }
}

// roots: [count], of the ends of each edge.
extern "C" __global__ void exchange_flatten(const long long* edges, long long count,
                                            const int2* ends, int* parent, int2* roots) {
  for (long long i = thread(); i < count; i += threads()) {
    const int2 both = ends[edges[i]];
    roots[i] = {find_root(both.x, parent), find_root(both.y, parent)};
  }
}
