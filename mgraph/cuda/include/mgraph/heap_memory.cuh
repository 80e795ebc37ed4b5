// A heap of sorted nodes in device memory, and what a thread does with its nodes' words and counts.
//
// Hand-overs, each with its flag, its fences, and why it is safe. A block has a barrier between its
// threads' accesses and those of the one thread that uses a flag, so the flag orders all of them.
//   word       A node's lock, in the paper's states (section 3.3). It is acquired by a compare-and-
//              swap with acquire and released by a store with release, or by a fence and a relaxed
//              store, so its holder sees what the last one wrote. The root's word protects the
//              buffer, `buffered`, `removed` and `next_sequence` as well.
//   nodes      Operations claim places by adding to it. A deletion adds removal_phase when it
//              claims the last node, and again, after a fence, when it has vacated it. An insertion
//              that draws an odd phase may have drawn that place or one below it, so it waits until
//              the phase changes, which it loads with acquire.
//   marked     The paper's co-operation. A deletion whose last node is still the target of an
//              insertion marks the target (compare-and-swap with acquire and release). The
//              insertion, which looks at the target's word at each step, acquires the mark, writes
//              its items to the delivery row and stores `delivered` with release; the deletion
//              acquires that and resets it. One row suffices: only the root's holder marks, and it
//              has read the row before it releases the root.
//
// No circular wait: a block that holds a node waits only for nodes below it, or for an insertion
// whose target it has marked or is about to mark. That insertion holds only nodes below the root,
// or holds none and waits for a node above its target; at each step it looks at the mark. An
// insertion waits for its target's parent, which the insertion with a smaller place creates. It
// waits for a phase, or for its place to become empty, only while a deletion holds the root whose
// last node was claimed before that place.
#pragma once

#include <mgraph/ordered.cuh>
#include <mgraph/relaxed.cuh>
#include <mgraph/ticket_lock.cuh>

namespace mgraph {

enum node_state : unsigned {
  node_empty,      // the heap has no such node
  node_available,  // a node whose lock is free
  node_in_use,     // a node whose lock is held
  node_target,     // no node yet: the place where an insertion under way will end
  node_marked,     // a deletion takes its items: from the node, or from that insertion
  // Of the paper's bottom-up insertion alone (paper_heap.cuh):
  node_rising,    // its INSHOLD: free, and an insertion will come back to let its items rise
  node_modified,  // its DELMOD: a deletion has held it meanwhile
};

constexpr unsigned heap_word_bytes = 32;
struct alignas(heap_word_bytes) heap_word {
  unsigned state;
};

// All 0 at first. The holder of the root may change `removed`, `next_sequence` and `buffered`.
struct heap_counts {
  // Nodes, those of insertions under way included. Above bit 32: how often a deletion has begun or
  // ended to remove the last node.
  alignas(32) unsigned long long nodes;
  alignas(32) unsigned delivered;  // 1: the marked insertion's items are in the delivery row
  alignas(32) unsigned long long buffered;
  unsigned long long removed;        // items deleted since the host set it to 0
  unsigned long long next_sequence;  // operations that have had the root or were combined with one
  ticket_lock root_lock;
};

constexpr unsigned long long removal_phase = 1ULL << 32;

// Where the host finds the counts, in words of 8 bytes, and how many words there are.
enum heap_count : unsigned {
  nodes_word,
  buffered_word = 8,
  removed_word,
  next_sequence_word,
  count_words = 36
};
static_assert(sizeof(heap_counts) == 8 * count_words);
#ifdef offsetof  // NVRTC has none; the tests' compiler does
static_assert(offsetof(heap_counts, nodes) == 8 * nodes_word);
static_assert(offsetof(heap_counts, buffered) == 8 * buffered_word);
static_assert(offsetof(heap_counts, removed) == 8 * removed_word);
static_assert(offsetof(heap_counts, next_sequence) == 8 * next_sequence_word);
#endif

__device__ inline unsigned level(unsigned node) { return 31 - __clz(node); }
// The i-th node that is filled, from 1. In each level nodes are filled in the order of reversed
// bits, so the paths to two consecutive ones share the root alone (section 4.3).
__device__ inline unsigned bit_reversed_place(unsigned i) {
  const unsigned first = 1u << level(i);
  return i == first ? i : first + (__brev(i - first) >> (32 - level(i)));
}
// The child of a node on the way to another below it.
__device__ inline unsigned child_towards(unsigned target, unsigned node) {
  return target >> (level(target) - level(node) - 1);
}

// The arrays of a heap, as the host passes them to a kernel. Nodes are numbered from 1, the root;
// item i of node v is at v * K + i. Node 0 is the partial buffer: fewer than K items, none below
// the root's. After the last place come the delivery row and one row per slot of the queue:
// spare_rows in all, with the buffer. All words are node_empty at first.
template <class key_t, class value_t> struct heap_arrays {
  key_t* keys;
  value_t* values;
  heap_word* words;
  heap_counts* counts;
  unsigned capacity;  // nodes
  unsigned places;    // the last of them may stand anywhere in its level: 2^levels - 1
  unsigned heaps;     // one, or several one after another (multi_heap.cuh)
};

template <class key_t, class value_t, unsigned K> struct heap_memory : heap_arrays<key_t, value_t> {
  static constexpr unsigned root = 1, buffer = 0, spare_rows = 2 + ticket_slots, node_items = K;

  using arrays = heap_arrays<key_t, value_t>;
  using arrays::capacity;
  using arrays::counts;
  using arrays::keys;
  using arrays::places;
  using arrays::words;

  __device__ unsigned delivery_row() const { return places + 1; }
  __device__ unsigned offer_row(unsigned ticket) const {
    return places + 2 + ticket % ticket_slots;
  }

  // One thread of a block calls the following functions.
  __device__ unsigned* word(unsigned node) const { return &words[node].state; }
  __device__ unsigned state(unsigned node) const { return load_acquire(word(node)); }
  __device__ void release(unsigned node, node_state state = node_available) const {
    store_release(word(node), state);
  }
  __device__ void release_both(unsigned one, node_state state_of_one, unsigned other,
                               node_state state_of_other) const {
    fence();
    store_relaxed(word(one), unsigned(state_of_one));
    store_relaxed(word(other), unsigned(state_of_other));
  }
  __device__ bool try_change(unsigned node, node_state from, node_state to) const {
    return compare_exchange_acquire(word(node), from, to) == unsigned(from);
  }
  // Whether a node has items, or will have without this block.
  __device__ bool is_present(unsigned node) const {
    const unsigned current = state(node);
    return current == node_available || current == node_in_use;
  }

  // Acquires a node that is present.
  __device__ void acquire(unsigned node) const {
    while (!try_change(node, node_available, node_in_use)) __nanosleep(20);
  }

  // Acquires a node if it is present, for a deletion. Returns the state in which to release it, or
  // node_empty if it is not present.
  __device__ node_state acquire_if_present(unsigned node) const {
    if (node > places) return node_empty;
    for (;;) {
      const unsigned old = compare_exchange_acquire(word(node), node_available, node_in_use);
      if (old == node_available) return node_available;
      if (old == node_rising || old == node_modified) {
        if (try_change(node, node_state(old), node_in_use)) return node_modified;
      } else if (old != node_in_use) {
        return node_empty;
      }
      __nanosleep(20);
    }
  }

  // Acquires the root, present or not; returns whether it is present.
  __device__ bool acquire_root() const {
    for (;;) {
      const unsigned old = compare_exchange_acquire(word(root), node_available, node_in_use);
      if (old == node_available) return true;
      if (old == node_empty && try_change(root, node_empty, node_in_use)) return false;
    }
  }

  // Claims the last node for a deletion: begins a removal phase and counts one node fewer. `nodes`
  // is a recent value of the count. Returns how many nodes there were, so the last one's number. A
  // count above the capacity includes insertions that are about to be refused.
  __device__ unsigned begin_removal(unsigned long long nodes) const {
    for (;;) {
      const unsigned long long fewer = nodes + removal_phase - 1, seen = nodes;
      if (unsigned(nodes) > capacity) {
        nodes = load_relaxed(&counts->nodes);
      } else if ((nodes = compare_exchange_acquire(&counts->nodes, seen, fewer)) == seen) {
        return unsigned(nodes);
      }
    }
  }

  __device__ bool try_add_node(unsigned long long seen) const {
    return compare_exchange_acquire(&counts->nodes, seen, seen + 1) == seen;
  }

  // Releases the last node, as an empty place, once its items are read; after a fence.
  __device__ void end_removal(unsigned last) const {
    store_relaxed(word(last), node_empty);
    atomicAdd(&counts->nodes, removal_phase);
  }

  // Makes a place the target of an insertion, once a deletion that vacates it has done so.
  __device__ void reserve_target(unsigned target) const {
    while (!try_change(target, node_empty, node_target)) __nanosleep(20);
  }

  __device__ key_t max_key_of(unsigned node) const {
    return __ldcg(keys + (unsigned long long)node * K + K - 1);
  }
};

}  // namespace mgraph
