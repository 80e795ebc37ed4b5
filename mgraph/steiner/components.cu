// Connected components of an undirected graph by union-find; components_gpu.py has the launches.
//
// Reading order: begin, join, flatten and number, launched one after another.
//
// Source: J. Jaiganesh, M. Burtscher, "A high-performance connected components implementation for
// GPUs", HPDC 2018. One warp per vertex joins the trees of both ends of each arc: a
// compare-and-swap sets the parent of the larger root to the smaller one, so that the root of a
// tree is its smallest vertex; paths are halved on the way to a root.
//
// Why no lock or fence is needed: a parent only ever gets smaller, and whatever a thread reads of
// it, an old value included, is still an ancestor. A swap that fails returns the parent that
// another thread has set, and the join goes on from there. Launches order the four kernels.
//
// Cost: each arc is read once; near-linear.
//
// The host defines MGRAPH_VERTEX_T, int or long long: the type of indices.

#include <mgraph/union_find.cuh>

using vertex_t = MGRAPH_VERTEX_T;

// Make each vertex its own root.
extern "C" __global__ void components_begin(int n, int* parent) {
  for (long long v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x)
    parent[v] = int(v);
}

extern "C" __global__ void components_join(int n, const long long* indptr, const vertex_t* indices,
                                           int* parent) {
  const int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  for (long long v = (blockIdx.x * blockDim.x + threadIdx.x) / 32; v < n; v += warps) {
    for (long long arc = indptr[v] + lane; arc < indptr[v + 1]; arc += 32) {
      const int u = int(indices[arc]);
      if (u >= v) continue;  // each edge is in the rows of both its ends
      mgraph::join(int(v), u, parent);
    }
  }
}

// Write each vertex's root. is_root: 1 for roots, so that its running sum numbers the components.
extern "C" __global__ void components_flatten(int n, int* parent, int* is_root) {
  for (long long v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) {
    int root = int(v);
    while (parent[root] != root) root = parent[root];
    parent[v] = root;  // an ancestor of v before and after, for other threads that read it
    is_root[v] = root == v;
  }
}

// Write the number of each vertex's component. count: the running sum of is_root.
extern "C" __global__ void components_number(int n, const int* root, const int* count, int* label) {
  for (long long v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x)
    label[v] = count[root[v]] - 1;
}
