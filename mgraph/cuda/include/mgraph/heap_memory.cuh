// A heap of sorted nodes in device memory, and what a thread does with its nodes' words and counts.
#pragma once

#include <mgraph/heap_line.cuh>
#include <mgraph/ordered.cuh>
#include <mgraph/relaxed.cuh>

namespace mgraph {

// What a node's word says.
enum node_state : unsigned {
  node_empty,      // there is none
  node_available,  // a node that nobody works on
  node_in_use,     // one that somebody works on
  node_target,     // none yet: where an insertion that is under way will end
  node_marked,     // a deletion takes its items: from here, or from that insertion
};

struct alignas(32) heap_word {
  unsigned state;
};

// All 0 at first. Who holds the root may change `removed` and `tickets`, and `buffered`.
struct heap_counts {
  // Nodes that there are or will be: insertions add theirs beforehand. Above bit 32, how often a
  // deletion has begun or ended to take the last one away.
  alignas(32) unsigned long long nodes;
  alignas(32) unsigned delivered;  // 1: an insertion that was asked has put its items into the root
  alignas(32) unsigned long long buffered;
  unsigned long long removed, tickets;
  heap_line line;
};

static_assert(sizeof(heap_counts) == 288);
constexpr unsigned long long last_leaves = 1ULL << 32;

__device__ inline unsigned level(unsigned node) { return 31 - __clz(node); }
// The i-th node that is filled, from 1. In each level these are in the order of reversed bits, so
// that two in turn have nothing but the root in common.
__device__ inline unsigned place(unsigned i) {
  const unsigned first = 1u << level(i);
  return i == first ? i : first + (__brev(i - first) >> (32 - level(i)));
}
// The child of a node on the way to another below it.
__device__ inline unsigned towards(unsigned target, unsigned node) {
  return target >> (level(target) - level(node) - 1);
}

// In device memory. Nodes are numbered from 1, the root; item i of node v is at v * K + i. Node 0
// is the buffer: fewer than K items, none below the root's. After the last place come a row for
// what an insertion gives the deletion that asks, and one for each seat in the line: spare_rows in
// all, with the buffer. All words are node_empty at first.
template <class key_t, class value_t, unsigned K> struct heap_memory {
  static constexpr unsigned root = 1, buffer = 0, spare_rows = 2 + line_seats;

  key_t* keys;
  value_t* values;
  heap_word* words;
  heap_counts* counts;
  unsigned capacity;  // nodes
  unsigned places;    // the last of them may stand anywhere in its level: 2^levels - 1

  __device__ unsigned delivery() const { return places + 1; }
  __device__ unsigned offered(unsigned number) const { return places + 2 + number % line_seats; }

  // The following are for one thread.
  __device__ unsigned* word(unsigned node) const { return &words[node].state; }
  __device__ unsigned state(unsigned node) const { return load_acquire(word(node)); }
  __device__ void let_go(unsigned node, node_state state = node_available) const {
    store_release(word(node), state);
  }
  __device__ void let_go_of_both(unsigned one, unsigned other) const {
    fence();
    store_relaxed(word(one), node_available);
    store_relaxed(word(other), node_available);
  }
  __device__ bool exchange(unsigned node, node_state from, node_state to) const {
    return compare_take(word(node), from, to) == unsigned(from);
  }
  // Whether a node has items, or will have without this block.
  __device__ bool is_there(unsigned node) const {
    const unsigned its = state(node);
    return its == node_available || its == node_in_use;
  }

  // Takes a node that is there.
  __device__ void take(unsigned node) const {
    while (!exchange(node, node_available, node_in_use)) __nanosleep(20);
  }

  // Takes a node if it is there. Whether it is.
  __device__ bool take_if_there(unsigned node) const {
    if (node > places) return false;
    for (;;) {
      const unsigned old = compare_take(word(node), node_available, node_in_use);
      if (old != node_in_use) return old == node_available;
      __nanosleep(20);
    }
  }

  // Takes the root, be it there or empty. Whether it is there.
  __device__ bool take_root() const {
    for (;;) {
      const unsigned old = compare_take(word(root), node_available, node_in_use);
      if (old == node_available) return true;
      if (old == node_empty && exchange(root, node_empty, node_in_use)) return false;
    }
  }

  // Counts one node fewer than were seen, or are there now. That node is then to be taken. Returns
  // how many there were. What is more than there is room for are insertions about to be refused.
  __device__ unsigned take_count(unsigned long long nodes) const {
    for (;;) {
      const unsigned long long fewer = nodes + last_leaves - 1, seen = nodes;
      if (unsigned(nodes) > capacity) {
        nodes = load_relaxed(&counts->nodes);
      } else if ((nodes = compare_take(&counts->nodes, seen, fewer)) == seen) {
        return unsigned(nodes);
      }
    }
  }

  __device__ bool add_to_count(unsigned long long found) const {
    return compare_take(&counts->nodes, found, found + 1) == found;
  }

  // Once a deletion has taken the last node's items: lets it go.
  __device__ void last_has_left(unsigned last) const {
    store_relaxed(word(last), node_empty);
    atomicAdd(&counts->nodes, last_leaves);
  }

  // Makes a node a target, once a deletion that takes its old items has done so.
  __device__ void reserve(unsigned target) const {
    while (!exchange(target, node_empty, node_target)) __nanosleep(20);
  }

  __device__ key_t largest_of(unsigned node) const {
    return __ldcg(keys + (unsigned long long)node * K + K - 1);
  }
};

}  // namespace mgraph
