// Insertions into a heap, from above and from below: batch_heap_gpu.py explains them.
#pragma once

#include <mgraph/heap_lists.cuh>

namespace mgraph {

// By a block, all its threads, of 1 to K items that it carries, sorted.
template <class key_t, class value_t, unsigned K, unsigned threads>
class heap_insertions : public heap_lists<key_t, value_t, K, threads> {
  using lists = heap_lists<key_t, value_t, K, threads>;

 public:
  using lists::carried;
  using lists::lists;

  // From below only where they are K, and then mostly without the root.
  __device__ heap_outcome insert(unsigned count, bool from_below) {
    return from_below && count == K ? insert_from_below() : insert_from_above(count);
  }

  // Inserts items `begin` to `end - 1` of those that are carried.
  __device__ void put_back(unsigned begin, unsigned end) {
    __syncthreads();
    for (unsigned i = begin + threadIdx.x; i < end; i += threads) left.move(i - begin, carried, i);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < end - begin; i += threads) carried.move(i, left, i);
    __syncthreads();
    insert(end - begin, false);
  }

 protected:
  using typename lists::fetched;
  using lists::buffer;
  using lists::fetch;
  using lists::first_thread;
  using lists::first_thread_finds;
  using lists::heap;
  using lists::in_order;
  using lists::left;
  using lists::line;
  using lists::load;
  using lists::merge;
  using lists::next_place;
  using lists::next_ticket;
  using lists::put;
  using lists::release;
  using lists::right;
  using lists::root;
  using lists::second_thread;
  using lists::store;
  using lists::third_thread;

 private:
  // How an insertion from above comes to the root, and what it then does.
  enum way : unsigned { root_there, root_empty, given, not_wanted };
  struct way_in {
    way is;
    unsigned long long ticket;
  };
  enum may_be : unsigned { possible, later, refused };
  struct plan {
    may_be answer;
    unsigned buffered;  // items, before
    unsigned target;
    unsigned long long ticket;
  };

  __device__ heap_outcome insert_from_above(unsigned count) {
    for (bool may_give = count == K;;) {
      const way_in got = take_root_or_give(may_give);
      if (got.is == given) return {true, 0, 0, got.ticket};
      if (got.is == not_wanted) {
        may_give = false;
        continue;
      }
      const bool there = got.is == root_there;
      fetched its;
      if (there) its = fetch(root);
      const plan now = first_thread_finds([&] { return make_plan(count, there); });
      if (now.answer != possible) {
        release(root, there ? node_available : node_empty);
        if (now.answer == refused) return {false, 0, 0, no_ticket};
        continue;
      }
      if (now.buffered + count < K) {
        put_into_buffer(count, now.buffered, there);
        release(root, there ? node_available : node_empty);
      } else {
        if (!there || count < K) take_smallest_of_buffer(count, now.buffered);
        if (there) {
          go_down(now.target, root, its);
        } else {
          store(root, carried);
          release(root, node_available);
        }
      }
      return {true, 0, 0, now.ticket};
    }
  }

  // Takes the root, be it there or not, unless a deletion accepts the K items that are carried, if
  // it may: then the insertion is done, and has its ticket. A deletion that finds no root declines.
  __device__ way_in take_root_or_give(bool may_give) {
    struct in_line {
      unsigned number;
      bool offers;
    };
    const in_line mine = first_thread_finds([&]() -> in_line {
      const unsigned number = line().take_number();
      return {number, may_give && line().wait_for_seat(number)};
    });
    if (mine.offers) {
      store(heap.offered(mine.number), carried);
      __syncthreads();
    }
    const way_in got = first_thread_finds([&] {
      if (mine.offers) line().sit(mine.number, heap_line::offer);
      bool my_turn = line().wait(mine.number, 0) == 0;
      if (my_turn && mine.offers && line().sits(mine.number + 1, heap_line::deletion)) {
        line().call(mine.number + 1);
        my_turn = false;
      }
      way_in got{given, 0};
      if (!my_turn) {
        if (!line().is_accepted(mine.number)) got.is = not_wanted;
        got.ticket = line().ticket(mine.number);
      }
      if (my_turn) {
        got.is = heap.take_root() ? root_there : root_empty;
      } else {
        line().stand_up(mine.number);
      }
      return got;
    });
    if (got.is <= root_empty && third_thread()) {
      if (mine.offers) store_relaxed(&line().seat_of(mine.number).who, heap_line::nobody);
      line().call(mine.number + 1);
    }
    return got;
  }

  // By one thread, while the root is held: what becomes of the items that are carried, and a place
  // for a node of them, where there is one.
  __device__ plan make_plan(unsigned count, bool there) {
    plan now{possible, unsigned(__ldcg(&heap.counts->buffered)), 0, 0};
    const bool is_batch = count == K || now.buffered + count >= K;
    if (is_batch && !there) {
      const unsigned long long found = load_relaxed(&heap.counts->nodes);
      if (unsigned(found) || !heap.add_to_count(found)) now.answer = later;
    } else if (is_batch) {
      unsigned long long found;
      do {
        found = load_relaxed(&heap.counts->nodes);
        now.target = place(unsigned(found) + 1);
        now.answer = refused;
        if (unsigned(found) < heap.capacity) {
          now.answer = heap.is_there(now.target / 2) ? possible : later;
        }
      } while (now.answer == possible && !heap.add_to_count(found));
      if (now.answer == possible) heap.reserve(now.target);
    }
    if (now.answer != possible) return now;
    if (!is_batch || count < K) {
      heap.counts->buffered = now.buffered + count - (is_batch ? K : 0);
    }
    now.ticket = next_ticket();
    return now;
  }

  // Adds what is carried to the buffer, where it has room; the root is held.
  __device__ void put_into_buffer(unsigned count, unsigned buffered, bool root_is_there) {
    const unsigned all = buffered + count;
    load(left, buffer, buffered);
    if (root_is_there) load(right, root);
    __syncthreads();
    merge(carried, count, left, buffered, all);
    if (root_is_there && !in_order(right, carried)) {
      merge(right, K, carried, all, K);
      store(root, right);
    }
    store(buffer, carried, all);
  }

  // Of what is carried and the buffer, K items or more, carries the K smallest; the root is held.
  __device__ void take_smallest_of_buffer(unsigned count, unsigned buffered) {
    if (!buffered) return;
    load(left, buffer, buffered);
    __syncthreads();
    merge(carried, count, left, buffered, K);
    store(buffer, left, buffered + count - K);
  }

  __device__ heap_outcome insert_from_below() {
    // Where there is a line, a deletion may accept what is carried.
    const bool is_alone = first_thread_finds([&] { return line().is_empty(); });
    if (!is_alone) return insert_from_above(K);
    const unsigned nodes = first_thread_finds([&] {
      const unsigned long long found = atomicAdd(&heap.counts->nodes, 1ULL);
      if (unsigned(found) >= heap.capacity) {
        atomicAdd(&heap.counts->nodes, ~0ULL);
      } else if (found & last_leaves) {  // a deletion may take this node away, or one above it
        while (load_acquire(&heap.counts->nodes) >> 32 == found >> 32) __nanosleep(20);
      }
      return unsigned(found);
    });
    if (nodes >= heap.capacity) return {false, 0, 0, no_ticket};
    const unsigned target = place(nodes + 1);
    if (target == root) return insert_first();
    const unsigned start = first_thread_finds([&] {
      heap.reserve(target);
      return take_start(target);
    });
    if (start) {
      go_down(target, start, fetch(start));
    } else {
      deliver();
    }
    return {true, 0, 0, no_ticket};
  }

  // Makes K items the root, where there was none.
  __device__ heap_outcome insert_first() {
    const plan now = first_thread_finds([&]() -> plan {
      while (!heap.exchange(root, node_empty, node_in_use)) __nanosleep(20);
      return {possible, unsigned(__ldcg(&heap.counts->buffered)), root, next_ticket()};
    });
    take_smallest_of_buffer(K, now.buffered);
    store(root, carried);
    release(root, node_available);
    return {true, 0, 0, now.ticket};
  }

  // By one thread: takes the lowest node above the target that has no item to give to those that
  // are carried, so that these belong below it; it may be the root. The target's parent must be
  // there: then all on the way are, until a deletion asks for the target. Where one does, 0.
  __device__ unsigned take_start(unsigned target) {
    const key_t least = carried.keys[0];
    while (!heap.is_there(target / 2)) {
      if (heap.state(target) == node_marked) return 0;
      __nanosleep(20);
    }
    unsigned node = target / 2;
    while (node > root && least < heap.largest_of(node)) node /= 2;  // a guess: others work there
    for (;; node /= 2) {
      while (!heap.exchange(node, node_available, node_in_use)) {
        if (heap.state(target) == node_marked) return 0;
        __nanosleep(20);
      }
      if (node == root || !(least < heap.largest_of(node))) return node;
      heap.let_go(node);
    }
  }

  // Carries K items from a node that is held, whose items are given, down to an empty one.
  __device__ void go_down(unsigned target, unsigned node, fetched its) {
    for (;;) {
      const unsigned next = towards(target, node);
      const bool arrives = next == target;
      struct wishes {
        bool taken, seen;
      };
      finding<wishes> found(next_place());
      if (first_thread()) {
        found.is.taken = !arrives || heap.exchange(target, node_target, node_in_use);
        if (!arrives) heap.take(next);
      }
      if (second_thread()) found.is.seen = arrives || heap.state(target) == node_target;
      put(left, its);
      const auto [taken, seen] = found.told();
      const bool wanted_here = taken && seen;
      if (wanted_here && !arrives) its = fetch(next);
      if (!in_order(left, carried)) {
        merge(left, carried);
        store(node, left);
      }
      release(node, node_available);
      if (!wanted_here) {
        if (!arrives && first_thread()) heap.let_go(next);
        return deliver();
      }
      if (arrives) break;
      node = next;
    }
    store(target, carried);
    release(target, node_available);
  }

  // Gives what is carried to the deletion that asked for it, which holds the root.
  __device__ void deliver() {
    store(heap.delivery(), carried);
    __syncthreads();
    if (first_thread()) store_release(&heap.counts->delivered, 1);
  }
};

}  // namespace mgraph
