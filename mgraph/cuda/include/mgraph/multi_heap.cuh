// Several heaps as one queue without a strict order: an insertion may go to any of them, a deletion
// goes to that of two random ones whose first key is smaller (H. Rihani, P. Sanders, R. Dementiev,
// "MultiQueues: simpler, faster, and better relaxed concurrent priority queues", 2015). Blocks at
// different heaps do not wait for each other. With one heap the order is strict.
//
//   const mgraph::multi_heap<block> heaps(arguments);    // block: heap_block<…>
//   const unsigned chosen = heaps.better_of_two(random); // by one thread, which broadcasts it
//   heaps.at(chosen, scratch).remove();                  // by all
//
// A block barrier is needed between an operation on one heap and the next operation on another.
#pragma once

#include <mgraph/hash.cuh>
#include <mgraph/heap.cuh>

namespace mgraph {

template <class block> class multi_heap {
  using memory = typename block::memory;
  using arrays = typename memory::arrays;

 public:
  const unsigned count;

  __device__ explicit multi_heap(const arrays& all) : count(all.heaps), all(all) {}

  __device__ block at(unsigned i, typename block::scratch& scratch) const {
    return block(memory_of(i), scratch);
  }

  // Full nodes of all heaps, and one for each buffer that is not empty: about so many, since other
  // blocks change them meanwhile.
  __device__ unsigned long long count_batches() const {
    unsigned long long batches = 0;
    for (unsigned i = 0; i < count; ++i) {
      batches += unsigned(load_relaxed(&all.counts[i].nodes));
      batches += load_relaxed(&all.counts[i].buffered) > 0;
    }
    return batches;
  }

  // By one thread. Of two heaps without items neither is better: then the next one that has some.
  __device__ unsigned better_of_two(unsigned long long random) const {
    if (count == 1) return 0;
    const unsigned one = unsigned(random) % count, other = unsigned(random >> 32) % count;
    const first_item first = peek(one), second = peek(other);
    if (second.is_present && (!first.is_present || second.key < first.key)) return other;
    if (first.is_present) return one;
    for (unsigned i = 1; i < count; ++i) {
      if (peek((one + i) % count).is_present) return (one + i) % count;
    }
    return one;
  }

 private:
  using key_t = typename block::key_type;
  struct first_item {
    bool is_present;
    key_t key;
  };

  const arrays& all;

  __device__ memory memory_of(unsigned i) const {
    const size_t row = size_t(i) * (all.places + memory::spare_rows);
    constexpr size_t row_items = memory::node_items;
    return {all.keys + row * row_items,
            all.values + row * row_items,
            all.words + row,
            all.counts + i,
            all.capacity,
            all.places,
            1};
  }

  // A guess, since other blocks change the heap meanwhile.
  __device__ first_item peek(unsigned i) const {
    const memory heap = memory_of(i);
    const unsigned nodes = unsigned(load_relaxed(&heap.counts->nodes));
    if (!nodes && !__ldcg(&heap.counts->buffered)) return {false, 0};
    const unsigned row = nodes ? memory::root : memory::buffer;
    return {true, __ldcg(heap.keys + size_t(row) * memory::node_items)};
  }
};

}  // namespace mgraph
