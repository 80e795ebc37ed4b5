// Union-find on a device, on an array of parents: a root is its own parent, and the smallest vertex
// of its tree. label_t is int, unsigned or long long.
//
// Why no lock or fence is needed: a parent only ever gets smaller, and whatever a thread reads of
// it, an old value included, is still an ancestor. Only the compare-and-swap of join() gives a root
// a parent, so that no two threads do; where it fails, the thread goes on from the parent that the
// other one has set.
//
// Source: J. Jaiganesh, M. Burtscher, "A high-performance connected components implementation for
// GPUs", HPDC 2018, with path halving.
#pragma once

namespace mgraph {

// The root of a tree; paths to it are halved.
template <class label_t> __device__ label_t find_root(label_t v, label_t* parent) {
  label_t ancestor = parent[v];
  while (ancestor != v) {
    const label_t next = parent[ancestor];
    if (next != ancestor) parent[v] = next;
    v = ancestor;
    ancestor = next;
  }
  return v;
}

// The root of a tree, without a write.
template <class label_t> __device__ label_t read_root(label_t v, const label_t* parent) {
  while (parent[v] != v) v = parent[v];
  return v;
}

__device__ inline int swap_if(int* at, int expected, int value) {
  return atomicCAS(at, expected, value);
}

__device__ inline unsigned swap_if(unsigned* at, unsigned expected, unsigned value) {
  return atomicCAS(at, expected, value);
}

__device__ inline long long swap_if(long long* at, long long expected, long long value) {
  using word = unsigned long long;
  return (long long)atomicCAS((word*)at, word(expected), word(value));
}

// Join the trees of two vertices: the larger root comes to hang below the smaller one.
template <class label_t> __device__ void join(label_t first, label_t second, label_t* parent) {
  label_t a = find_root(first, parent), b = find_root(second, parent);
  while (a != b) {
    const label_t larger = a > b ? a : b, smaller = a > b ? b : a;
    const label_t old = swap_if(&parent[larger], larger, smaller);
    if (old == larger) break;
    a = find_root(old, parent);  // smaller than `larger`, so that this ends
    b = find_root(smaller, parent);
  }
}

}  // namespace mgraph
