// Connected components of a graph in rows by union-find; afforest_gpu.py has the launches.
//
// Reading order: begin, compress, sample, link, link_long and flatten, launched one after another.
//
// Source: M. Sutton, T. Ben-Nun, A. Barak, "Optimizing parallel graph connectivity computation via
// subgraph sampling", IPDPS 2018 (Afforest). A few arcs per vertex mostly connect nearly all of the
// component that is the largest in the end. Vertices of it need not be read again: an edge from one
// of them to another component is in the row of its other end as well, if the graph is undirected.
//   begin     each vertex hangs below the first vertex of its row, if that is smaller
//   compress  halves the paths to the roots
//   sample    finds the most frequent root among a sample of the vertices
//   link      joins the ends of the arcs of all vertices whose root is another one
//   flatten   writes each vertex's root, which is the smallest vertex of its component
// Departures from the paper: rows mostly ascend, so that `begin` needs no union-find and connects a
// grid or a graph of preferential attachment completely. A vertex is compared with the root that
// the sample's root has by now, since that changes when a smaller vertex joins the component.
//
// Why no edge is missed: components only grow, so a vertex that is in the sample's component when
// it is passed over stays there; if both ends of an edge are passed over, one component has both,
// and otherwise the row of the end that is not passed over contains the edge.
//
// Load balance: a lane reads a row of up to lane_row arcs, a warp one of up to long_row, and the
// whole grid the longer ones, which `link` lists.
//
// Cost: about 16 bytes and two random sectors per vertex, and the rows outside the largest
// component. Memory: 4 bytes per vertex.
//
// The host defines MGRAPH_VERTEX_T, int or long long: the type of indices.

#include <mgraph/fresh.cuh>
#include <mgraph/hash.cuh>
#include <mgraph/union_find.cuh>

using vertex_t = MGRAPH_VERTEX_T;

constexpr int samples = 1024;  // vertices, one per thread of the block that samples
constexpr int lane_row = 32;   // arcs
constexpr int long_row = 1 << 13;

// The kernel's arguments, which afforest_gpu.py packs.

// A graph; symmetric: whether each arc has its mirror.
struct rows_of_graph {
  const long long* indptr;
  const vertex_t* indices;
  int n;
  int symmetric;
};

// What the kernels write.
struct component_memory {
  int* parent;      // [n]
  int* sampled;     // the most frequent root
  int* long_count;  // 0 at first
  int* long_rows;   // [arcs / long_row + 1]
};

namespace {

__device__ long long thread() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long threads() { return (long long)gridDim.x * blockDim.x; }

// Whether v's row need not be read.
__device__ bool is_passed_over(const rows_of_graph& graph, const component_memory& memory, int v) {
  if (!graph.symmetric) return false;
  int root = *memory.sampled;
  for (int next = mgraph::fresh(&memory.parent[root]); next != root;
       next = mgraph::fresh(&memory.parent[root]))
    root = next;
  return mgraph::find_root(v, memory.parent) == root;
}

// Joins v with the heads of every `stride`-th of its arcs, from number `offset` on.
__device__ void link_row(const rows_of_graph& graph, const component_memory& memory, int v,
                         long long offset, long long stride) {
  const long long stop = graph.indptr[v + 1];
  for (long long arc = graph.indptr[v] + offset; arc < stop; arc += stride) {
    const int u = int(graph.indices[arc]);
    if (memory.parent[u] != memory.parent[v]) mgraph::join(v, u, memory.parent);
  }
}

}  // namespace

extern "C" __global__ void afforest_begin(__grid_constant__ const rows_of_graph graph,
                                          __grid_constant__ const component_memory memory) {
  for (long long v = thread(); v < graph.n; v += threads()) {
    const long long first = graph.indptr[v];
    int parent = int(v);
    if (first < graph.indptr[v + 1]) parent = min(parent, int(graph.indices[first]));
    memory.parent[v] = parent;
  }
  if (thread() == 0) *memory.long_count = 0;
}

extern "C" __global__ void afforest_compress(__grid_constant__ const rows_of_graph graph,
                                             __grid_constant__ const component_memory memory) {
  for (long long v = thread(); v < graph.n; v += threads())
    mgraph::find_root(int(v), memory.parent);
}

// In one block: counts the roots of a sample in a table, and takes the most frequent one.
extern "C" __global__ void afforest_sample(__grid_constant__ const rows_of_graph graph,
                                           __grid_constant__ const component_memory memory) {
  constexpr int places = 2 * samples;
  __shared__ int roots[places], counts[places];
  __shared__ unsigned long long best;
  for (int i = threadIdx.x; i < places; i += samples) roots[i] = -1, counts[i] = 0;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  const unsigned long long drawn = mgraph::mix64(threadIdx.x + 1);
  const int v = int(__umul64hi(drawn, (unsigned long long)graph.n));
  const int root = mgraph::read_root(v, (const int*)memory.parent);
  int place = int(mgraph::mix64(root)) & (places - 1);
  for (;; place = (place + 1) & (places - 1)) {
    const int old = atomicCAS(&roots[place], -1, root);
    if (old == -1 || old == root) break;
  }
  atomicAdd(&counts[place], 1);
  __syncthreads();
  // The largest count; of equal ones, the smallest root.
  const unsigned long long key = (unsigned long long)(counts[place]) << 32 | unsigned(~root);
  atomicMax(&best, key);
  __syncthreads();
  if (threadIdx.x == 0) *memory.sampled = int(~unsigned(best));
}

extern "C" __global__ void afforest_link(__grid_constant__ const rows_of_graph graph,
                                         __grid_constant__ const component_memory memory) {
  const int lane = threadIdx.x & 31;
  for (long long first = thread() - lane; first < graph.n; first += threads()) {
    const long long v = first + lane;
    long long arcs = 0;
    if (v < graph.n && !is_passed_over(graph, memory, int(v)))
      arcs = graph.indptr[v + 1] - graph.indptr[v];
    if (arcs <= lane_row) {
      if (arcs) link_row(graph, memory, int(v), 0, 1);
    } else if (arcs > long_row) {
      memory.long_rows[atomicAdd(memory.long_count, 1)] = int(v);
    }
    unsigned rows = __ballot_sync(~0u, arcs > lane_row && arcs <= long_row);
    for (; rows; rows &= rows - 1) link_row(graph, memory, int(first + __ffs(rows) - 1), lane, 32);
  }
}

extern "C" __global__ void afforest_link_long(__grid_constant__ const rows_of_graph graph,
                                              __grid_constant__ const component_memory memory) {
  for (int i = 0; i < *memory.long_count; ++i)
    link_row(graph, memory, memory.long_rows[i], thread(), threads());
}

// Halving would let another thread put an ancestor in the place of a root that is written already.
extern "C" __global__ void afforest_flatten(__grid_constant__ const rows_of_graph graph,
                                            __grid_constant__ const component_memory memory) {
  for (long long v = thread(); v < graph.n; v += threads())
    memory.parent[v] = mgraph::read_root(int(v), (const int*)memory.parent);
}
