// The paper's heap with bottom-up insertion, BU-INS/TD-DEL (section 3.3.4), to compare ours with: a
// kernel that both inserts and deletes gets wrong results from it. batch_heap_gpu.py says why, and
// tests/heap/test_paper_bottom_up.py shows it step by step. Deletions are those of heap.cuh.
//
// An insertion holds the root first, for the buffer and for a place. It puts a batch there and lets
// it rise: it releases the node as `rising`, acquires the parent, then the node again, so that
// locks are taken from the parent to the child. If a deletion has had the node meanwhile
// (`modified`), the insertion goes on from the parent; if one has taken the node away, the
// insertion ends. A parent that is `rising` or `modified` itself is waited for.
//
// No circular wait: an insertion that waits for a parent holds nothing, and one that waits for a
// node holds its parent. It does not wait for a marked node: its deletion may wait for that parent.
#pragma once

#include <mgraph/heap.cuh>

namespace mgraph {

template <class key_t, class value_t, unsigned K, unsigned threads>
class paper_heap_block : public heap_block<key_t, value_t, K, threads> {
  using base = heap_block<key_t, value_t, K, threads>;
  using base::heap;
  using base::in_order;
  using base::left;
  using base::load;
  using base::merge;
  using base::on_first_thread;
  using base::release;
  using base::root;
  using base::root_lock;
  using base::store;

 public:
  using base::base;
  using base::carried;

  // Inserts 1 to K sorted items that the block carries.
  __device__ heap_outcome insert(unsigned count, bool) {
    const placement place = on_first_thread([&] { return find_place(count); });
    const node_state root_state = place.has_root ? node_available : node_empty;
    if (place.is_full || place.buffered + count < K) {
      if (!place.is_full) base::merge_into_buffer(count, place.buffered, place.has_root);
      release(root, root_state);
    } else {
      base::take_smallest_of_buffer(count, place.buffered);
      if (place.target != root) release(root, root_state);
      store(place.target, carried);
      rise(place.target);
    }
    return {!place.is_full, 0, 0, no_sequence};
  }

  __device__ void reinsert(unsigned begin, unsigned end) {
    base::carry(begin, end);
    insert(end - begin, true);
  }

 private:
  struct placement {
    bool is_full, has_root;
    unsigned buffered;  // items in the buffer, before
    unsigned target;    // of a batch: a node that is held
  };
  enum rise_step : unsigned { at_node, at_parent, ended };

  // By one thread: acquires the root, and a place for a batch if the items make one.
  __device__ placement find_place(unsigned count) {
    const unsigned ticket = root_lock().acquire_ticket();
    root_lock().wait_for_head(ticket, 0);
    placement place{false, heap.acquire_root(), unsigned(__ldcg(&heap.counts->buffered)), root};
    root_lock().advance_head(ticket + 1);
    const unsigned total = place.buffered + count;
    if (total >= K) {
      unsigned long long nodes;
      do {  // a deletion that has vacated the root may still be about to end its phase
        nodes = load_relaxed(&heap.counts->nodes);
        place.is_full = unsigned(nodes) >= heap.capacity;
        if (place.is_full) return place;
      } while (!heap.try_add_node(nodes));
      place.target = bit_reversed_place(unsigned(nodes) + 1);
      if (place.target != root) heap.try_change(place.target, node_empty, node_in_use);
    }
    heap.counts->buffered = total % K;
    return place;
  }

  // Lets the items of a node that is held rise, until they are in order with the parent's.
  __device__ void rise(unsigned node) {
    for (; node != root; node /= 2) {
      const unsigned parent = node / 2;
      release(node, node_rising);
      const rise_step step = on_first_thread([&] { return acquire_pair(parent, node); });
      if (step == ended) return;
      if (step == at_parent) continue;
      load(left, parent);
      load(carried, node);
      __syncthreads();
      const bool is_in_order = in_order(left, carried);
      if (!is_in_order) {
        merge(left, carried);
        store(parent, left);
        store(node, carried);
      }
      release(node, node_available);
      if (is_in_order) return release(parent, node_available);
    }
    release(root, node_available);
  }

  // By one thread: acquires the parent, then the node if no deletion has had it. If one has, the
  // parent alone is held; if one has taken the node away, neither is.
  __device__ rise_step acquire_pair(unsigned parent, unsigned node) const {
    while (!heap.try_change(parent, node_available, node_in_use)) {
      const unsigned state = heap.state(parent);
      if (state == node_empty || state == node_marked) return ended;
      __nanosleep(20);
    }
    for (;;) {
      const unsigned state = heap.state(node);
      if (state == node_empty || state == node_marked) {
        heap.release(parent);
        return ended;
      }
      if (state == node_available) return at_parent;  // another insertion's by now, which has ended
      if (state == node_modified && heap.try_change(node, node_modified, node_available)) {
        return at_parent;
      }
      if (state == node_rising && heap.try_change(node, node_rising, node_in_use)) return at_node;
      __nanosleep(20);
    }
  }
};

}  // namespace mgraph
