// A heap of sorted nodes that many blocks work on at once: batch_heap_gpu.py explains the method,
// and batch_heap.cu uses it. A kernel makes one of these in each of its blocks:
//
//   using block = mgraph::heap_block<unsigned, mgraph::no_value, 1024, 512>;
//   using heap_arguments = block::memory::arrays;  // the type of a parameter of the kernel
//   extern __shared__ __align__(16) unsigned long long shared[];
//   block heap({arguments}, *reinterpret_cast<block::scratch*>(shared));
//   heap.carried.keys[i] = …;   // by the block's threads, then a block barrier
//   heap.sort(count);           // sorts what the block carries,
//   heap.insert(count, true);   // and inserts it
//   heap.remove().count;        // deletes that many items, which the block then carries
//
// Blocks wait for each other, so all blocks of a launch must be resident: launch it cooperatively.
// Keys are unsigned words; mgraph.heap.key_order converts others. On the host, batch_heap_gpu.Heap
// owns the memory, grows it, and packs the kernel's argument: `memory`. `scratch_bytes` is the size
// of the scratch; the include path is mgraph.cuda.source.INCLUDE.
#pragma once

#include <mgraph/heap_insertion.cuh>

namespace mgraph {

// A block that works on a heap. Its operations take and give items in `carried`, sorted; all its
// threads call them. K and `threads` are powers of two, threads <= K.
template <class key_t, class value_t, unsigned K, unsigned threads>
class heap_block : public heap_insertions<key_t, value_t, K, threads> {
  using insertions = heap_insertions<key_t, value_t, K, threads>;

 protected:
  using insertions::buffer;
  using insertions::heap;
  using insertions::in_order;
  using insertions::is_first_thread;
  using insertions::is_second_thread;
  using insertions::is_third_thread;
  using insertions::left;
  using insertions::load;
  using insertions::merge;
  using insertions::next_broadcast;
  using insertions::next_sequence;
  using insertions::on_first_thread;
  using insertions::prefetch;
  using insertions::prefetch_if;
  using insertions::release;
  using insertions::right;
  using insertions::root;
  using insertions::root_lock;
  using insertions::store;
  using insertions::write;
  using typename insertions::list;
  using typename insertions::register_items;

 public:
  using insertions::carried;
  using insertions::insertions;

  __device__ void sort(unsigned count) { sort_items<K, threads>(carried, count); }

  // Deletes the K smallest items, or all if there are fewer.
  __device__ heap_outcome remove() {
    const root_access access = on_first_thread([&] { return acquire_root_in_turn(); });
    if (!access.is_present) return remove_buffered(access.ticket);
    // While the root's items are on their way, one thread looks for others to replace them, and two
    // acquire the children.
    const register_items root_items = prefetch(root);
    block_broadcast<deletion_start> start(next_broadcast());
    if (is_first_thread()) start.value.plan = plan_deletion(access.ticket);
    if (is_second_thread()) start.value.held.left = heap.acquire_if_present(2);
    if (is_third_thread()) start.value.held.right = heap.acquire_if_present(3);
    const auto [plan, held] = start.read();
    if (plan.nodes == 1) {
      __syncthreads();
      if (is_third_thread()) end_turn(plan, root);
    } else {
      replace_root(plan, held);
    }
    write(carried, root_items);
    __syncthreads();
    return {true, K, plan.deleted_before, plan.sequence};
  }

 private:
  struct root_access {
    unsigned ticket;
    bool is_present;  // the root
  };
  // The states in which to release a node's children, which this block holds if they are present.
  struct held_children {
    node_state left, right;
  };
  struct deletion_plan {
    unsigned buffered;         // items in the buffer
    unsigned nodes;            // before the last one is removed; 0: an offer replaces its items
    unsigned replacement_row;  // of the items for the root; not known yet if nodes is 2 or 3
    unsigned ticket;           // the deletion's
    unsigned donor;            // the ticket whose offer it accepts, or its own
    unsigned next_ticket;      // to pass the head to
    unsigned long long deleted_before, sequence;
  };
  struct deletion_start {
    deletion_plan plan;
    held_children held;
  };

  // By one thread: waits in the queue, then acquires the root.
  __device__ root_access acquire_root_in_turn() const {
    ticket_lock& lock = root_lock();
    const unsigned ticket = lock.acquire_ticket();
    const bool has_slot = lock.wait_for_slot(ticket);
    if (has_slot) lock.publish(ticket, ticket_lock::deletion);
    lock.wait_for_head(ticket, 0);
    if (has_slot) store_relaxed(&lock.slot_of(ticket).status, ticket_lock::empty);
    return {ticket, heap.acquire_root()};
  }

  // By one thread, while the root is held. Its first loads are all on their way at once.
  __device__ deletion_plan plan_deletion(unsigned ticket) {
    const auto status = [&](unsigned other) {
      return load_relaxed(&root_lock().slot_of(other).status);
    };
    const auto offer_of = [](unsigned other) {
      return ticket_lock::status_of(other, ticket_lock::offer);
    };
    const unsigned long long before = status(ticket - 1);
    const unsigned long long behind[3] = {status(ticket + 1), status(ticket + 2),
                                          status(ticket + 3)};
    const unsigned long long nodes = load_relaxed(&heap.counts->nodes);
    deletion_plan plan{unsigned(__ldcg(&heap.counts->buffered)),
                       0,
                       root,
                       ticket,
                       ticket,
                       ticket + 1,
                       __ldcg(&heap.counts->removed),
                       __ldcg(&heap.counts->next_sequence)};
    bool next_offers = behind[0] == offer_of(ticket + 1);
    if (before == offer_of(ticket - 1)) {
      plan.donor = ticket - 1;
    } else if (next_offers) {
      plan.donor = ticket + 1;
      plan.next_ticket = ticket + 2;
      next_offers = behind[1] == offer_of(ticket + 2);
    }
    // An insertion that offers would pass the head on to a deletion behind it: that is done for it.
    const unsigned long long after_next = plan.next_ticket == ticket + 1 ? behind[1] : behind[2];
    plan.next_ticket += next_offers && after_next == ticket_lock::status_of(plan.next_ticket + 1,
                                                                            ticket_lock::deletion);
    const bool has_donor = plan.donor != ticket;
    if (has_donor) fence();  // acquires the offer
    heap.counts->removed = plan.deleted_before + K;
    heap.counts->next_sequence = plan.sequence + 1 + has_donor;
    if (has_donor) {
      root_lock().slot_of(plan.donor).sequence = plan.sequence + 1;
      plan.replacement_row = heap.offer_row(plan.donor);
    } else {
      plan.nodes = heap.begin_removal(nodes);
      if (plan.nodes > 3) plan.replacement_row = acquire_last(bit_reversed_place(plan.nodes));
    }
    return plan;
  }

  // By one thread, once all have read the replacement: accepts the donor's offer, passes the head
  // on, and releases the last node, if it was acquired.
  __device__ void end_turn(const deletion_plan& plan, unsigned last) {
    fence();
    if (plan.donor != plan.ticket) {
      store_relaxed(&root_lock().slot_of(plan.donor).status,
                    ticket_lock::status_of(plan.donor, ticket_lock::accepted));
    }
    store_relaxed(&root_lock().head, plan.next_ticket);
    if (last) heap.end_removal(last);
  }

  // By one thread, while the root is held: acquires the last node and returns the row of its items:
  // its own, or the delivery row if they are still on their way to it with an insertion.
  __device__ unsigned acquire_last(unsigned last) const {
    for (unsigned old;;) {
      old = compare_exchange_acquire(heap.word(last), node_available, node_marked);
      if (old == node_available) return last;
      if (old == node_rising || old == node_modified) {
        if (heap.try_change(last, node_state(old), node_marked)) return last;
      }
      if (old == node_target && compare_exchange_acq_rel(heap.word(last), node_target, node_marked))
        break;
    }
    while (!load_acquire(&heap.counts->delivered)) __nanosleep(20);
    heap.counts->delivered = 0;
    return heap.delivery_row();
  }

  // Deletes the buffer's items. The root's lock is held, and the heap has no nodes.
  __device__ heap_outcome remove_buffered(unsigned ticket) {
    const heap_outcome outcome = on_first_thread([&]() -> heap_outcome {
      ticket_lock& lock = root_lock();
      if (lock.is_published(ticket - 1, ticket_lock::offer)) {
        lock.publish(ticket - 1, ticket_lock::declined);
      }
      lock.advance_head(ticket + 1);
      const unsigned buffered = unsigned(__ldcg(&heap.counts->buffered));
      const unsigned long long deleted_before = __ldcg(&heap.counts->removed);
      heap.counts->buffered = 0;
      heap.counts->removed = deleted_before + buffered;
      return {true, buffered, deleted_before, next_sequence()};
    });
    load(carried, buffer, outcome.count);
    release(root, node_empty);
    return outcome;
  }

  // Replaces the root's items, which have been read.
  __device__ void replace_root(const deletion_plan& plan, held_children held) {
    const unsigned last = plan.nodes ? bit_reversed_place(plan.nodes) : 0;
    unsigned replacement_row = plan.replacement_row;
    if (last == 2 || last == 3) {  // a child, and held if it is present
      const bool is_held = last == 2 ? held.left : held.right;
      replacement_row = on_first_thread([&] { return is_held ? last : acquire_last(last); });
      held = {last == 2 ? node_empty : held.left, last == 3 ? node_empty : held.right};
    }
    const register_items replacement = prefetch(replacement_row);
    const register_items left_items = prefetch_if(held.left, 2);
    const register_items right_items = prefetch_if(held.right, 3);
    write(carried, replacement);
    if (plan.buffered) {
      load(left, buffer, plan.buffered);
      __syncthreads();
      if (!in_order(carried, left)) {
        merge(carried, K, left, plan.buffered, K);
        store(buffer, left, plan.buffered);
      }
      __syncthreads();
    }
    write(left, left_items);
    write(right, right_items);
    __syncthreads();
    if (is_third_thread()) end_turn(plan, last);
    sink(held);
  }

  // Puts the K items that are carried into the root, which is held and whose items have been taken,
  // or below it. The root's children that are present are held as well, and their items loaded.
  __device__ void sink(held_children held) {
    node_state state = node_available;
    for (unsigned node = root;;) {
      const unsigned child = 2 * node;
      const bool before_left = !held.left || in_order(carried, left);
      const bool before_right = !held.right || in_order(carried, right);
      const bool both = held.left && held.right;
      if (before_left && before_right) {
        store(node, carried);
        __syncthreads();
        if (is_third_thread()) {
          if (held.left) heap.release(child, held.left);
          if (held.right) heap.release(child + 1, held.right);
          heap.release(node, state);
        }
        return;
      }
      // The smaller items of the children go up, the larger ones to the child that has the maximum:
      // there they are no larger than what is below. What is carried goes on from the other child.
      unsigned side = held.left ? 0 : 1;
      if (both) side = left.keys[K - 1] > right.keys[K - 1];
      const list up = select(side, right, left), down = select(side, left, right);
      const unsigned next = child + side;
      if (both && !in_order(up, down)) {
        merge(up, down);
        store(child + 1 - side, down);
      }
      if (!in_order(up, carried)) merge(up, carried);
      store(node, up);
      __syncthreads();
      if (is_third_thread()) {
        if (both) {
          heap.release_both(node, state, child + 1 - side, side ? held.left : held.right);
        } else {
          heap.release(node, state);
        }
      }
      state = side ? held.right : held.left;
      block_broadcast<held_children> children(next_broadcast());
      if (is_first_thread()) children.value.left = heap.acquire_if_present(2 * next);
      if (is_second_thread()) children.value.right = heap.acquire_if_present(2 * next + 1);
      held = children.read();
      const register_items left_items = prefetch_if(held.left, 2 * next);
      const register_items right_items = prefetch_if(held.right, 2 * next + 1);
      write(left, left_items);
      write(right, right_items);
      __syncthreads();
      node = next;
    }
  }
};

}  // namespace mgraph
