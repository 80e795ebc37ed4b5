// A heap of sorted nodes that many blocks work on at once: batch_heap_gpu.py explains the method.
#pragma once

#include <mgraph/heap_lists.cuh>

namespace mgraph {

// What an operation came to.
struct heap_outcome {
  bool done;                  // an insertion: false where there was no room, and nothing changed
  unsigned count;             // a deletion's items
  unsigned long long first;   // how many items were deleted before them
  unsigned long long ticket;  // its turn at the root; `no_ticket` where it did not need it
};

constexpr unsigned long long no_ticket = ~0ULL;

// A block that works on a heap. Its operations take and give items in `carried`, sorted; all its
// threads call them. K and `threads` are powers of two, threads <= K.
template <class key_t, class value_t, unsigned K, unsigned threads>
class heap_block : public heap_lists<key_t, value_t, K, threads> {
  using lists = heap_lists<key_t, value_t, K, threads>;
  using typename lists::fetched;
  using typename lists::list;
  using lists::heap;
  using lists::left;
  using lists::right;
  using lists::first_thread;
  using lists::second_thread;
  using lists::third_thread;
  using lists::to_tell;
  using lists::tell;
  using lists::release;
  using lists::load;
  using lists::fetch;
  using lists::fetch_if;
  using lists::put;
  using lists::store;
  using lists::in_order;
  using lists::merge;

 public:
  using lists::carried;
  using lists::lists;
  using typename lists::memory;
  using typename lists::scratch;

  __device__ void sort(unsigned count) { sort_items<K, threads>(carried, count); }

  // Inserts 1 to K items. From below only where they are K, and then mostly without the root.
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

  // Deletes the K smallest items, or all where there are fewer.
  __device__ heap_outcome remove() {
    unsigned number;  // the first thread's
    if (first_thread()) {
      number = line().take_number();
      const bool sits = line().wait_for_seat(number);
      if (sits) line().sit(number, heap_line::deletion);
      line().wait(number, 0);
      if (sits) line().stand_up(number);
      to_tell()[0] = heap.take_root();
    }
    if (!tell()[0]) {
      if (first_thread()) {
        if (line().sits(number - 1, heap_line::offer)) line().sit(number - 1, heap_line::declined);
        line().call(number + 1);
      }
      return remove_buffered();
    }
    // Until the root's items come, one thread looks for others to put into their place: those of an
    // insertion that waits, or else of the last node. Two take the children.
    const fetched its = fetch(root);
    unsigned long long* const to_all = to_tell();
    if (first_thread()) {
      to_all[1] = __ldcg(&heap.counts->buffered);
      to_all[2] = count_removed(K);
      to_all[3] = next_ticket();
      const unsigned long long next = to_all[3] + 1;
      const bool before = line().accept(number - 1, next);
      const bool behind = !before && line().accept(number + 1, next);
      if (before || behind) next_ticket();
      to_all[7] = number + (behind ? 2 : 1);
      to_all[0] = before || behind ? 0 : heap.take_count();
      to_all[4] = before          ? heap.offered(number - 1)
                  : behind        ? heap.offered(number + 1)
                  : to_all[0] > 3 ? take_last(place(unsigned(to_all[0])))
                                  : root;
    }
    if (second_thread()) to_all[5] = heap.take_if_there(2);
    if (third_thread()) to_all[6] = heap.take_if_there(3);
    const unsigned long long* const told = tell();
    const unsigned nodes = unsigned(told[0]), buffered = unsigned(told[1]);
    const heap_outcome outcome{true, K, told[2], told[3]};
    if (nodes == 1) {
      if (first_thread()) {
        line().call(unsigned(told[7]));
        heap.last_has_left();
      }
      release(root, node_empty);
    } else {
      const unsigned next_number = unsigned(told[7]);
      unsigned items_of_last = unsigned(told[4]), children = unsigned(told[5] | told[6] << 1);
      const unsigned last = nodes ? place(nodes) : 0;
      if (last && last <= 3) {  // then a child is the last node, and held if it is there
        if (first_thread()) to_tell()[0] = children & (last - 1) ? last : take_last(last);
        items_of_last = unsigned(tell()[0]);
        children &= ~(last - 1);
      }
      const fetched lasts = fetch(items_of_last), first = fetch_if(children & 1, 2),
                    second = fetch_if(children & 2, 3);
      put(carried, lasts);
      if (buffered) {
        load(left, buffer, buffered);
        __syncthreads();
        if (!in_order(carried, left)) {
          merge(carried, K, left, buffered, K);
          store(buffer, left, buffered);
        }
        __syncthreads();
      }
      put(left, first);
      put(right, second);
      __syncthreads();
      if (third_thread()) {
        line().call(next_number);
        if (last) {
          heap.let_go(last, node_empty);
          heap.last_has_left();
        }
      }
      sink(children);
    }
    put(carried, its);
    __syncthreads();
    return outcome;
  }

 private:
  static constexpr unsigned root = memory::root, buffer = memory::buffer;

  __device__ heap_line& line() const { return heap.counts->line; }

  // By one thread, while the root is held.
  __device__ unsigned long long next_ticket() { return heap.counts->tickets++; }
  __device__ unsigned long long count_removed(unsigned long long count) {
    const unsigned long long before = heap.counts->removed;
    heap.counts->removed = before + count;
    return before;
  }

  // Deletes what the buffer has; the root is held, and empty.
  __device__ heap_outcome remove_buffered() {
    if (first_thread()) {
      unsigned long long* const told = to_tell();
      told[0] = __ldcg(&heap.counts->buffered);
      told[1] = count_removed(told[0]);
      told[2] = next_ticket();
      heap.counts->buffered = 0;
    }
    const unsigned long long* const told = tell();
    const heap_outcome outcome{true, unsigned(told[0]), told[1], told[2]};
    load(carried, buffer, outcome.count);
    release(root, node_empty);
    return outcome;
  }

  __device__ heap_outcome insert_from_above(unsigned count) {
    enum { later, refused, possible };
    for (bool may_give = count == K;;) {
      unsigned long long ticket;
      const unsigned got = take_root_or_give(may_give, ticket);
      if (got == given) return {true, 0, 0, ticket};
      if (got == not_wanted) {
        may_give = false;
        continue;
      }
      const bool there = got == root_there;
      fetched its;
      if (there) its = fetch(root);
      if (first_thread()) {
        unsigned long long* const told = to_tell();
        const unsigned long long buffered = __ldcg(&heap.counts->buffered);
        const bool batch = count == K || buffered + count >= K;
        unsigned target = 0, answer = possible;
        if (batch && !there) {
          const unsigned long long found = load_acquire(&heap.counts->nodes);
          const bool first = !unsigned(found) && heap.add_to_count(found);
          answer = first ? possible : later;
        } else if (batch) {
          unsigned long long found;
          do {
            found = load_acquire(&heap.counts->nodes);
            const unsigned nodes = unsigned(found);
            target = place(nodes + 1);
            answer = refused;
            if (nodes < heap.capacity) answer = heap.is_there(target / 2) ? possible : later;
          } while (answer == possible && !heap.add_to_count(found));
          if (answer == possible) heap.reserve(target);
        }
        if (answer == possible && !(batch && count == K)) {
          heap.counts->buffered = buffered + count - (batch ? K : 0);
        }
        told[0] = buffered;
        told[1] = answer;
        told[2] = target;
        if (answer == possible) told[3] = next_ticket();
      }
      const unsigned long long* const told = tell();
      const unsigned buffered = unsigned(told[0]), answer = unsigned(told[1]);
      const unsigned target = unsigned(told[2]);
      if (answer != possible) {
        release(root, there ? node_available : node_empty);
        if (answer == refused) return {false, 0, 0, no_ticket};
        continue;
      }
      const heap_outcome outcome{true, 0, 0, told[3]};
      if (buffered + count < K) {
        put_into_buffer(count, buffered, there);
        release(root, there ? node_available : node_empty);
        return outcome;
      }
      if (!there || count < K) take_smallest_of_buffer(count, buffered);
      if (there) {
        go_down(target, root, its);
      } else {
        store(root, carried);
        release(root, node_available);
      }
      return outcome;
    }
  }

  // Takes the root, be it there or not, unless a deletion accepts the K items that are carried, if
  // it may: then the insertion is done, and has its ticket. A deletion that finds no root declines.
  enum root_or_given : unsigned { root_there, root_empty, given, not_wanted };

  __device__ unsigned take_root_or_give(bool may_give, unsigned long long& ticket) {
    unsigned number;  // the first thread's
    if (first_thread()) {
      number = line().take_number();
      to_tell()[0] = may_give && line().wait_for_seat(number);
      to_tell()[1] = number;
    }
    const unsigned long long* told = tell();
    const bool offers = told[0];
    if (offers) {
      store(heap.offered(unsigned(told[1])), carried);
      __syncthreads();
    }
    if (first_thread()) {
      if (offers) line().sit(number, heap_line::offer);
      const bool is_called = line().wait(number, 0) == 0;
      const bool lets_go_first = is_called && offers && line().sits(number + 1, heap_line::deletion);
      if (lets_go_first) line().call(number + 1);
      unsigned got = given;
      if (!is_called || lets_go_first) {
        if (!line().is_accepted(number)) got = not_wanted;
        to_tell()[2] = line().ticket(number);
      }
      if (offers) line().stand_up(number);
      if (is_called && !lets_go_first) got = heap.take_root() ? root_there : root_empty;
      to_tell()[0] = got;
      to_tell()[1] = number + 1;
    }
    told = tell();
    const unsigned got = unsigned(told[0]);
    if (got <= root_empty && third_thread()) line().call(unsigned(told[1]));
    ticket = told[2];
    return got;
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
    if (first_thread()) to_tell()[0] = line().is_empty();
    if (!tell()[0]) return insert_from_above(K);  // where a deletion may accept what is carried
    if (first_thread()) {
      const unsigned long long found = atomicAdd(&heap.counts->nodes, 1ULL);
      if (unsigned(found) >= heap.capacity) {
        atomicAdd(&heap.counts->nodes, ~0ULL);
      } else if (found & last_leaves) {  // a deletion may take this node away, or one above it
        while (load_acquire(&heap.counts->nodes) >> 32 == found >> 32) __nanosleep(20);
      }
      to_tell()[0] = unsigned(found);
    }
    const unsigned nodes = unsigned(tell()[0]);
    if (nodes >= heap.capacity) return {false, 0, 0, no_ticket};
    const unsigned target = place(nodes + 1);
    if (target == root) {
      if (first_thread()) {
        while (!heap.exchange(root, node_empty, node_in_use)) __nanosleep(20);
        to_tell()[0] = __ldcg(&heap.counts->buffered);
        to_tell()[1] = next_ticket();
      }
      const unsigned long long* const told = tell();
      const unsigned buffered = unsigned(told[0]);
      const heap_outcome outcome{true, 0, 0, told[1]};
      take_smallest_of_buffer(K, buffered);
      store(root, carried);
      release(root, node_available);
      return outcome;
    }
    if (first_thread()) {
      heap.reserve(target);
      to_tell()[0] = take_start(target);
    }
    const unsigned start = unsigned(tell()[0]);
    if (start) {
      go_down(target, start, fetch(start));
    } else {
      deliver();
    }
    return {true, 0, 0, no_ticket};
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
      unsigned long long* const to_all = to_tell();
      if (first_thread()) {
        to_all[0] = next != target || heap.exchange(target, node_target, node_in_use);
        if (next != target) heap.take(next);
      }
      if (second_thread()) to_all[1] = next == target || heap.state(target) == node_target;
      put(left, its);
      const unsigned long long* const told = tell();
      const bool wanted_here = told[0] && told[1];
      if (wanted_here && next != target) its = fetch(next);
      if (!in_order(left, carried)) {
        merge(left, carried);
        store(node, left);
      }
      release(node, node_available);
      if (!wanted_here) {
        if (next != target && first_thread()) heap.let_go(next);
        return deliver();
      }
      if (next == target) break;
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

  // By one thread, while the root is held: takes the last node, and says where its items are: there,
  // or where the insertion that was to bring them there has put them.
  __device__ unsigned take_last(unsigned last) const {
    for (unsigned old;;) {
      old = compare_take(heap.word(last), node_available, node_marked);
      if (old == node_available) return last;
      if (old == node_target && exchange_if(heap.word(last), node_target, node_marked)) break;
    }
    while (!load_acquire(&heap.counts->delivered)) __nanosleep(20);
    heap.counts->delivered = 0;
    return heap.delivery();
  }

  // Puts what is carried, K items, into the root, which is held and has none, or below it. Those of
  // its children that are there, 1 and 2 added, are held, too, and their items loaded.
  __device__ void sink(unsigned children) {
    for (unsigned node = root;;) {
      const unsigned child = 2 * node;
      const bool there[2] = {bool(children & 1), bool(children & 2)};
      const bool before_left = !there[0] || in_order(carried, left);
      const bool before_right = !there[1] || in_order(carried, right);
      if (before_left && before_right) {
        store(node, carried);
        __syncthreads();
        if (third_thread()) {
          if (there[0]) heap.let_go(child);
          if (there[1]) heap.let_go(child + 1);
          heap.let_go(node);
        }
        return;
      }
      // The smaller items of the children go up, the larger ones to the child that has the largest:
      // there they are no larger than what is below. What is carried goes on from the other child,
      // whose own children are taken, and their items come, meanwhile.
      unsigned way = there[0] ? 0 : 1;
      if (children == 3) way = left.keys[K - 1] > right.keys[K - 1];
      const list up = either(way, right, left), down = either(way, left, right);
      const unsigned next = child + way;
      if (first_thread()) to_tell()[0] = heap.take_if_there(2 * next);
      if (second_thread()) to_tell()[1] = heap.take_if_there(2 * next + 1);
      const unsigned long long* const told = tell();
      const unsigned below = unsigned(told[0] | told[1] << 1);
      const fetched first = fetch_if(below & 1, 2 * next);
      const fetched second = fetch_if(below & 2, 2 * next + 1);
      if (children == 3 && !in_order(up, down)) {
        merge(up, down);
        store(child + 1 - way, down);
      }
      if (in_order(up, carried)) {
        __syncthreads();  // all have seen it: a thread may now change its part of the lists
      } else {
        merge(up, carried);
      }
      store(node, up);
      put(left, first);
      put(right, second);
      __syncthreads();
      if (third_thread()) {
        if (children == 3) {
          heap.let_go_of_both(node, child + 1 - way);
        } else {
          heap.let_go(node);
        }
      }
      node = next;
      children = below;
    }
  }
};

}  // namespace mgraph
