// Connected components of edges in any order; edge_components_gpu.py has the launches.
//
//   begin    makes each vertex its own root
//   join     joins the trees of the ends of a block of edges
//   flatten  writes each vertex's root, which is the smallest vertex of its component
//
// Source: J. Jaiganesh, M. Burtscher, "A high-performance connected components implementation for
// GPUs", HPDC 2018, of whose three kernels one suffices for edges: one thread per edge.
// union_find.cuh says why no lock is needed.
//
// Cost: 8 or 16 bytes per edge, and mostly two random reads of parents. Memory: 4 or 8 bytes per
// vertex.
//
// The host defines
//   MGRAPH_VERTEX_T  int or long long: the type of the edges' ends
//   MGRAPH_LABEL_T   int or long long: the type of labels, which holds n

#include <mgraph/union_find.cuh>

using vertex_t = MGRAPH_VERTEX_T;
using label_t = MGRAPH_LABEL_T;

namespace {

__device__ long long thread() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long threads() { return (long long)gridDim.x * blockDim.x; }

}  // namespace

extern "C" __global__ void edge_components_begin(long long n, label_t* parent) {
  for (long long v = thread(); v < n; v += threads()) parent[v] = label_t(v);
}

// wrong: set to the position of an edge with an end outside [0, n), one of the smallest such.
extern "C" __global__ void edge_components_join(long long count, const vertex_t* src,
                                                const vertex_t* dst, long long n, label_t* parent,
                                                unsigned long long* wrong) {
  using word = unsigned long long;
  for (long long i = thread(); i < count; i += threads()) {
    const long long u = src[i], v = dst[i];
    if (word(u) >= word(n) || word(v) >= word(n)) {
      atomicMin(wrong, word(i));
    } else if (parent[u] != parent[v]) {
      mgraph::join(label_t(u), label_t(v), parent);
    }
  }
}

// In place: nothing halves paths meanwhile, so that what is written stays.
extern "C" __global__ void edge_components_flatten(long long n, label_t* parent) {
  for (long long v = thread(); v < n; v += threads())
    parent[v] = mgraph::read_root(label_t(v), (const label_t*)parent);
}
