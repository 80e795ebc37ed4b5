// Insertions into a heap, top-down and bottom-up: batch_heap_gpu.py explains them.
#pragma once

#include <mgraph/heap_lists.cuh>

namespace mgraph {

// A block's insertion of 1 to K sorted items that it carries. All its threads call the functions.
template <class key_t, class value_t, unsigned K, unsigned threads>
class heap_insertions : public heap_lists<key_t, value_t, K, threads> {
  using lists = heap_lists<key_t, value_t, K, threads>;

 public:
  using lists::carried;
  using lists::lists;

  // Bottom-up only if there are K items, and then mostly without the root.
  __device__ heap_outcome insert(unsigned count, bool bottom_up) {
    return bottom_up && count == K ? insert_bottom_up() : insert_top_down(count);
  }

  // Inserts items `begin` to `end - 1` of those that are carried.
  __device__ void reinsert(unsigned begin, unsigned end) {
    carry(begin, end);
    insert(end - begin, false);
  }

 protected:
  using lists::carry;
  using lists::exchange;
  using lists::heap;
  using lists::in_order;
  using lists::is_first_thread;
  using lists::is_second_thread;
  using lists::is_third_thread;
  using lists::left;
  using lists::load;
  using lists::merge;
  using lists::merge_into_buffer;
  using lists::next_broadcast;
  using lists::next_sequence;
  using lists::on_first_thread;
  using lists::prefetch;
  using lists::release;
  using lists::right;
  using lists::root;
  using lists::root_lock;
  using lists::store;
  using lists::take_smallest_of_buffer;
  using lists::write;
  using typename lists::register_items;

 private:
  // The end of a top-down insertion's time in the queue.
  enum queue_exit : unsigned { root_present, root_missing, offer_accepted, offer_declined };
  struct queue_result {
    queue_exit exit;
    unsigned long long sequence;  // if the offer was accepted
  };
  enum admission : unsigned { admitted, retry, full };
  struct insertion_plan {
    admission answer;
    unsigned buffered;  // items in the buffer, before
    unsigned target;
    unsigned long long sequence;
  };

  __device__ heap_outcome insert_top_down(unsigned count) {
    for (bool may_offer = count == K;;) {
      const queue_result queued = acquire_root_or_offer(may_offer);
      if (queued.exit == offer_accepted) return {true, 0, 0, queued.sequence};
      if (queued.exit == offer_declined) {
        may_offer = false;
        continue;
      }
      const bool has_root = queued.exit == root_present;
      register_items node_items;
      if (has_root) node_items = prefetch(root);
      const insertion_plan plan = on_first_thread([&] { return plan_insertion(count, has_root); });
      if (plan.answer != admitted) {
        release(root, has_root ? node_available : node_empty);
        if (plan.answer == full) return {false, 0, 0, no_sequence};
        continue;
      }
      if (plan.buffered + count < K) {
        merge_into_buffer(count, plan.buffered, has_root);
        release(root, has_root ? node_available : node_empty);
      } else {
        if (!has_root || count < K) take_smallest_of_buffer(count, plan.buffered);
        if (has_root) {
          descend(plan.target, root, node_items);
        } else {
          store(root, carried);
          release(root, node_available);
        }
      }
      return {true, 0, 0, plan.sequence};
    }
  }

  // Acquires the root, present or not, unless a deletion accepts the K items that are carried, if
  // they may be offered: then the insertion is done, and has its sequence number. A deletion that
  // finds no root declines.
  __device__ queue_result acquire_root_or_offer(bool may_offer) {
    struct queue_entry {
      unsigned ticket;
      bool offers;
    };
    const queue_entry entry = on_first_thread([&]() -> queue_entry {
      const unsigned ticket = root_lock().acquire_ticket();
      return {ticket, may_offer && root_lock().wait_for_slot(ticket)};
    });
    if (entry.offers) {
      store(heap.offer_row(entry.ticket), carried);
      __syncthreads();
    }
    const queue_result result = on_first_thread([&] {
      ticket_lock& lock = root_lock();
      if (entry.offers) lock.publish(entry.ticket, ticket_lock::offer);
      bool is_my_turn = lock.wait_for_head(entry.ticket, 0) == 0;
      if (is_my_turn && entry.offers &&
          lock.is_published(entry.ticket + 1, ticket_lock::deletion)) {
        lock.advance_head(entry.ticket + 1);
        is_my_turn = false;
      }
      queue_result result{offer_accepted, 0};
      if (!is_my_turn) {
        if (!lock.wait_for_answer(entry.ticket)) result.exit = offer_declined;
        result.sequence = lock.sequence_of(entry.ticket);
      }
      if (is_my_turn) {
        result.exit = heap.acquire_root() ? root_present : root_missing;
      } else {
        lock.release_slot(entry.ticket);
      }
      return result;
    });
    if (result.exit <= root_missing && is_third_thread()) {
      if (entry.offers) {
        store_relaxed(&root_lock().slot_of(entry.ticket).status, ticket_lock::empty);
      }
      root_lock().advance_head(entry.ticket + 1);
    }
    return result;
  }

  // By one thread, while the root is held: whether the items that are carried are admitted, and a
  // place for a node of them if they make one.
  __device__ insertion_plan plan_insertion(unsigned count, bool has_root) {
    insertion_plan plan{admitted, unsigned(__ldcg(&heap.counts->buffered)), 0, 0};
    const bool is_batch = count == K || plan.buffered + count >= K;
    if (is_batch && !has_root) {
      const unsigned long long nodes = load_relaxed(&heap.counts->nodes);
      if (unsigned(nodes) || !heap.try_add_node(nodes)) plan.answer = retry;
    } else if (is_batch) {
      unsigned long long nodes;
      do {
        nodes = load_relaxed(&heap.counts->nodes);
        plan.target = bit_reversed_place(unsigned(nodes) + 1);
        plan.answer = full;
        if (unsigned(nodes) < heap.capacity) {
          plan.answer = heap.is_present(plan.target / 2) ? admitted : retry;
        }
      } while (plan.answer == admitted && !heap.try_add_node(nodes));
      if (plan.answer == admitted) heap.reserve_target(plan.target);
    }
    if (plan.answer != admitted) return plan;
    if (!is_batch || count < K) {
      heap.counts->buffered = plan.buffered + count - (is_batch ? K : 0);
    }
    plan.sequence = next_sequence();
    return plan;
  }

  __device__ heap_outcome insert_bottom_up() {
    // If blocks are waiting for the root, a deletion among them may accept what is carried.
    const bool is_queue_empty = on_first_thread([&] { return root_lock().is_queue_empty(); });
    if (!is_queue_empty) return insert_top_down(K);
    const unsigned nodes = on_first_thread([&] {
      const unsigned long long before = atomicAdd(&heap.counts->nodes, 1ULL);
      if (unsigned(before) >= heap.capacity) {
        atomicAdd(&heap.counts->nodes, ~0ULL);
      } else if (before & removal_phase) {  // a deletion may remove this node, or one above it
        while (load_acquire(&heap.counts->nodes) >> 32 == before >> 32) __nanosleep(20);
      }
      return unsigned(before);
    });
    if (nodes >= heap.capacity) return {false, 0, 0, no_sequence};
    const unsigned target = bit_reversed_place(nodes + 1);
    if (target == root) return insert_root();
    const unsigned start = on_first_thread([&] {
      heap.reserve_target(target);
      return acquire_start(target);
    });
    if (start) {
      descend(target, start, prefetch(start));
    } else {
      deliver();
    }
    return {true, 0, 0, no_sequence};
  }

  // Makes K items the root of a heap that has none.
  __device__ heap_outcome insert_root() {
    const insertion_plan plan = on_first_thread([&]() -> insertion_plan {
      while (!heap.try_change(root, node_empty, node_in_use)) __nanosleep(20);
      return {admitted, unsigned(__ldcg(&heap.counts->buffered)), root, next_sequence()};
    });
    take_smallest_of_buffer(K, plan.buffered);
    store(root, carried);
    release(root, node_available);
    return {true, 0, 0, plan.sequence};
  }

  // By one thread: acquires the lowest node above the target none of whose items is larger than one
  // that is carried, so that those belong below it; it may be the root. The target's parent must be
  // present: then all on the path are, until a deletion marks the target. Returns 0 if one does.
  __device__ unsigned acquire_start(unsigned target) {
    const key_t smallest = carried.keys[0];
    while (!heap.is_present(target / 2)) {
      if (heap.state(target) == node_marked) return 0;
      __nanosleep(20);
    }
    unsigned node = target / 2;
    // A guess, since other blocks change these nodes meanwhile.
    while (node > root && smallest < heap.max_key_of(node)) node /= 2;
    for (;; node /= 2) {
      while (!heap.try_change(node, node_available, node_in_use)) {
        if (heap.state(target) == node_marked) return 0;
        __nanosleep(20);
      }
      if (node == root || !(smallest < heap.max_key_of(node))) return node;
      heap.release(node);
    }
  }

  // Carries K items from a node that is held, whose items are given, down to the target. Each node
  // on the path keeps the K smallest of its own and those that are carried.
  __device__ void descend(unsigned target, unsigned node, register_items node_items) {
    for (;;) {
      const unsigned next = child_towards(target, node);
      const bool arrives = next == target;
      struct step_state {
        bool is_acquired, is_unmarked;
      };
      block_broadcast<step_state> step(next_broadcast());
      if (is_first_thread()) {
        step.value.is_acquired = !arrives || heap.try_change(target, node_target, node_in_use);
        if (!arrives) heap.acquire(next);
      }
      if (is_second_thread()) {
        step.value.is_unmarked = arrives || heap.state(target) == node_target;
      }
      write(left, node_items);
      const auto [is_acquired, is_unmarked] = step.read();
      const bool continues = is_acquired && is_unmarked;
      if (continues && !arrives) node_items = prefetch(next);
      if (!in_order(left, carried)) {
        if (in_order(carried, left)) {
          exchange(left, carried);
        } else {
          merge(left, carried);
        }
        store(node, left);
      }
      release(node, node_available);
      if (!continues) {
        if (!arrives && is_first_thread()) heap.release(next);
        return deliver();
      }
      if (arrives) break;
      node = next;
    }
    store(target, carried);
    release(target, node_available);
  }

  // Gives what is carried to the deletion that has marked the target, and which holds the root.
  __device__ void deliver() {
    store(heap.delivery_row(), carried);
    __syncthreads();
    if (is_first_thread()) store_release(&heap.counts->delivered, 1);
  }
};

}  // namespace mgraph
