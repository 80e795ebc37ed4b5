// A heap of sorted nodes that many blocks work on at once: batch_heap_gpu.py explains the method,
// and batch_heap.cu uses it. A kernel makes one of these in each of its blocks:
//
//   extern __shared__ __align__(16) unsigned long long shared[];
//   using block = mgraph::heap_block<unsigned, mgraph::no_value, 1024, 512>;
//   block heap({keys, values, words, counts, capacity, places},
//              *reinterpret_cast<block::scratch*>(shared));
//   heap.carried.keys[i] = …;      // by its threads, then a block barrier,
//   heap.sort(count);              // and those that are carried are in order:
//   heap.insert(count, true);      // now they are in the heap.
//   heap.remove().count;           // as many are carried again.
//
// Blocks wait for each other, so all of a launch must be resident: it is a cooperative one. Keys
// are unsigned words; mgraph.heap.key_order makes others such. On the host, batch_heap_gpu.Heap has
// the memory, grows it, and gives the first argument's parts: `memory`. `shared_bytes` tells a
// scratch's; the include path is mgraph.cuda.source.INCLUDE.
#pragma once

#include <mgraph/heap_insertion.cuh>

namespace mgraph {

// A block that works on a heap. Its operations take and give items in `carried`, sorted; all its
// threads call them. K and `threads` are powers of two, threads <= K.
template <class key_t, class value_t, unsigned K, unsigned threads>
class heap_block : public heap_insertions<key_t, value_t, K, threads> {
  using insertions = heap_insertions<key_t, value_t, K, threads>;
  using typename insertions::fetched;
  using typename insertions::list;
  using insertions::buffer;
  using insertions::fetch;
  using insertions::fetch_if;
  using insertions::first_thread;
  using insertions::first_thread_finds;
  using insertions::heap;
  using insertions::in_order;
  using insertions::left;
  using insertions::line;
  using insertions::load;
  using insertions::merge;
  using insertions::next_place;
  using insertions::next_ticket;
  using insertions::put;
  using insertions::release;
  using insertions::right;
  using insertions::root;
  using insertions::second_thread;
  using insertions::store;
  using insertions::third_thread;

 public:
  using insertions::carried;
  using insertions::insertions;

  __device__ void sort(unsigned count) { sort_items<K, threads>(carried, count); }

  // Deletes the K smallest items, or all where there are fewer.
  __device__ heap_outcome remove() {
    const turn mine = first_thread_finds([&] { return take_root_in_turn(); });
    if (!mine.root_is_there) return remove_buffered(mine.number);
    // Until the root's items come, one thread looks for others to put into their place, and two
    // take the children.
    const fetched its = fetch(root);
    finding<start> found(next_place());
    if (first_thread()) found.is.now = make_plan(mine.number);
    if (second_thread()) found.is.there.left = heap.take_if_there(2);
    if (third_thread()) found.is.there.right = heap.take_if_there(3);
    const auto [now, there] = found.told();
    if (now.nodes == 1) {
      __syncthreads();
      if (third_thread()) end_turn(now, root);
    } else {
      replace_root(now, there);
    }
    put(carried, its);
    __syncthreads();
    return {true, K, now.first, now.ticket};
  }

 private:
  struct turn {
    unsigned number;
    bool root_is_there;
  };
  struct children {
    bool left, right;
  };
  struct plan {
    unsigned buffered;     // items
    unsigned nodes;        // before the last is taken; 0: it is not
    unsigned items_at;     // the row that has the items for the root; not yet, where nodes <= 3
    unsigned number;       // its own
    unsigned giver;        // the insertion's whose items these are, or its own
    unsigned next;         // to be called
    unsigned long long first, ticket;
  };
  struct start {
    plan now;
    children there;
  };

  // By one thread.
  __device__ turn take_root_in_turn() const {
    const unsigned number = line().take_number();
    const bool sits = line().wait_for_seat(number);
    if (sits) line().sit(number, heap_line::deletion);
    line().wait(number, 0);
    if (sits) store_relaxed(&line().seat_of(number).who, heap_line::nobody);
    return {number, heap.take_root()};
  }

  // By one thread, while the root is held. All that it reads first is on its way at once.
  __device__ plan make_plan(unsigned number) {
    const auto who_is = [&](unsigned other) { return load_relaxed(&line().seat_of(other).who); };
    const unsigned long long before = who_is(number - 1);
    const unsigned long long behind[3] = {who_is(number + 1), who_is(number + 2),
                                          who_is(number + 3)};
    const unsigned long long nodes = load_relaxed(&heap.counts->nodes);
    plan now{unsigned(__ldcg(&heap.counts->buffered)), 0, root, number, number, number + 1,
             __ldcg(&heap.counts->removed), __ldcg(&heap.counts->tickets)};
    bool passes = behind[0] == heap_line::who(number + 1, heap_line::offer);
    if (before == heap_line::who(number - 1, heap_line::offer)) {
      now.giver = number - 1;
    } else if (passes) {
      now.giver = number + 1;
      now.next = number + 2;
      passes = behind[1] == heap_line::who(number + 2, heap_line::offer);
    }
    // An insertion would let the deletion behind it go first.
    const unsigned long long after_it = now.next == number + 1 ? behind[1] : behind[2];
    now.next += passes && after_it == heap_line::who(now.next + 1, heap_line::deletion);
    const bool given = now.giver != number;
    if (given) fence();  // the offer was acquired
    heap.counts->removed = now.first + K;
    heap.counts->tickets = now.ticket + 1 + given;
    if (given) {
      line().seat_of(now.giver).ticket = now.ticket + 1;
      now.items_at = heap.offered(now.giver);
    } else {
      now.nodes = heap.take_count(nodes);
      if (now.nodes > 3) now.items_at = take_last(place(now.nodes));
    }
    return now;
  }

  // By one thread, once all have the items: accepts what was given, calls the next, and lets the
  // last node go, if it was taken.
  __device__ void end_turn(const plan& now, unsigned last) {
    fence();
    if (now.giver != now.number) {
      store_relaxed(&line().seat_of(now.giver).who,
                    heap_line::who(now.giver, heap_line::accepted));
    }
    store_relaxed(&line().called, now.next);
    if (last) heap.last_has_left(last);
  }

  // By one thread, while the root is held: takes the last node, and says where its items are:
  // there, or where the insertion that was to bring them there has put them.
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

  // Deletes what the buffer has; the root is held, and empty.
  __device__ heap_outcome remove_buffered(unsigned number) {
    const heap_outcome outcome = first_thread_finds([&]() -> heap_outcome {
      if (line().sits(number - 1, heap_line::offer)) line().sit(number - 1, heap_line::declined);
      line().call(number + 1);
      const unsigned buffered = unsigned(__ldcg(&heap.counts->buffered));
      const unsigned long long first = __ldcg(&heap.counts->removed);
      heap.counts->buffered = 0;
      heap.counts->removed = first + buffered;
      return {true, buffered, first, next_ticket()};
    });
    load(carried, buffer, outcome.count);
    release(root, node_empty);
    return outcome;
  }

  // Puts others into the place of the root's items, which have been read.
  __device__ void replace_root(const plan& now, children there) {
    const unsigned last = now.nodes ? place(now.nodes) : 0;
    unsigned items_at = now.items_at;
    if (last == 2 || last == 3) {  // a child, and held if it is there
      const bool is_held = last == 2 ? there.left : there.right;
      items_at = first_thread_finds([&] { return is_held ? last : take_last(last); });
      there = {there.left && last != 2, there.right && last != 3};
    }
    const fetched new_ones = fetch(items_at);
    const fetched of_left = fetch_if(there.left, 2), of_right = fetch_if(there.right, 3);
    put(carried, new_ones);
    if (now.buffered) {
      load(left, buffer, now.buffered);
      __syncthreads();
      if (!in_order(carried, left)) {
        merge(carried, K, left, now.buffered, K);
        store(buffer, left, now.buffered);
      }
      __syncthreads();
    }
    put(left, of_left);
    put(right, of_right);
    __syncthreads();
    if (third_thread()) end_turn(now, last);
    sink(there);
  }

  // Puts what is carried, K items, into the root, which is held and has none, or below it. Those of
  // its children that are there are held, too, and their items loaded.
  __device__ void sink(children there) {
    for (unsigned node = root;;) {
      const unsigned child = 2 * node;
      const bool before_left = !there.left || in_order(carried, left);
      const bool before_right = !there.right || in_order(carried, right);
      const bool both = there.left && there.right;
      if (before_left && before_right) {
        store(node, carried);
        __syncthreads();
        if (third_thread()) {
          if (there.left) heap.let_go(child);
          if (there.right) heap.let_go(child + 1);
          heap.let_go(node);
        }
        return;
      }
      // The smaller items of the children go up, the larger ones to the child that has the largest:
      // there they are no larger than what is below. What is carried goes on from the other child.
      unsigned way = there.left ? 0 : 1;
      if (both) way = left.keys[K - 1] > right.keys[K - 1];
      const list up = either(way, right, left), down = either(way, left, right);
      const unsigned next = child + way;
      if (both && !in_order(up, down)) {
        merge(up, down);
        store(child + 1 - way, down);
      }
      if (!in_order(up, carried)) merge(up, carried);
      store(node, up);
      __syncthreads();
      if (third_thread()) {
        if (both) {
          heap.let_go_of_both(node, child + 1 - way);
        } else {
          heap.let_go(node);
        }
      }
      finding<children> found(next_place());
      if (first_thread()) found.is.left = heap.take_if_there(2 * next);
      if (second_thread()) found.is.right = heap.take_if_there(2 * next + 1);
      there = found.told();
      const fetched of_left = fetch_if(there.left, 2 * next);
      const fetched of_right = fetch_if(there.right, 2 * next + 1);
      put(left, of_left);
      put(right, of_right);
      __syncthreads();
      node = next;
    }
  }
};

}  // namespace mgraph
