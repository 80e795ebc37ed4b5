// Union-find on a device: roots by path halving. Whatever a thread reads of a parent, an old value
// included, is an ancestor, since parents only ever get smaller (see steiner/components.cu).
#pragma once

namespace mgraph {

__device__ inline int find_root(int v, int* parent) {
  int ancestor = parent[v];
  while (ancestor != v) {
    const int next = parent[ancestor];
    if (next != ancestor) parent[v] = next;
    v = ancestor;
    ancestor = next;
  }
  return v;
}

// Join the trees of two vertices: the larger root comes to hang below the smaller one.
__device__ inline void join(int first, int second, int* parent) {
  int a = find_root(first, parent), b = find_root(second, parent);
  while (a != b) {
    const int larger = max(a, b), smaller = min(a, b);
    const int old = atomicCAS(&parent[larger], larger, smaller);
    if (old == larger) break;
    a = find_root(old, parent);  // smaller than `larger`, so that this ends
    b = find_root(smaller, parent);
  }
}

}  // namespace mgraph
