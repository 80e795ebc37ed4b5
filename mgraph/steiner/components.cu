// Components of an undirected graph on a GPU; components_gpu.py has the launches.
//
// Union-find without locks, after Jaiganesh and Burtscher, "A high-performance connected components
// implementation for GPUs", HPDC 2018: a warp per vertex joins the trees of both ends of each arc by a
// compare-and-swap of the larger root's parent, so that a root is the least vertex of its tree, and
// paths are halved on the way. A parent only ever gets smaller, and what a thread reads of it, be it
// old, is still an ancestor: so no order among threads is needed, and a swap that fails goes on from
// the parent that it saw.
//
// The host defines MGRAPH_VERTEX_T, int or long long: the type of indices.

using vertex_t = MGRAPH_VERTEX_T;

__device__ int root_of(int v, int* parent) {
  int above = parent[v];
  while (above != v) {
    const int next = parent[above];
    if (next != above) parent[v] = next;
    v = above;
    above = next;
  }
  return v;
}

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
      if (u >= v) continue;  // each edge stands in the rows of both its ends
      int a = root_of(int(v), parent), b = root_of(u, parent);
      while (a != b) {
        const int larger = max(a, b), smaller = min(a, b);
        const int seen = atomicCAS(&parent[larger], larger, smaller);
        if (seen == larger) break;
        a = root_of(seen, parent);  // below `larger`, so this comes to an end
        b = root_of(smaller, parent);
      }
    }
  }
}

// Each vertex's root; is_root: 1 for those that are, so that their running sum numbers them.
extern "C" __global__ void components_flatten(int n, int* parent, int* is_root) {
  for (long long v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x) {
    int root = int(v);
    while (parent[root] != root) root = parent[root];
    parent[v] = root;  // an ancestor of v before and after, for whoever reads it meanwhile
    is_root[v] = root == v;
  }
}

// The number of each vertex's component. count: the running sum of is_root.
extern "C" __global__ void components_number(int n, const int* root, const int* count, int* label) {
  for (long long v = blockIdx.x * blockDim.x + threadIdx.x; v < n; v += gridDim.x * blockDim.x)
    label[v] = count[root[v]] - 1;
}
