// What insertions into a heap and deletions have in common: the three lists that a block has in
// shared memory, how items come into them and out again, and how its threads tell each other.
#pragma once

#include <mgraph/heap_memory.cuh>
#include <mgraph/sorted_items.cuh>

namespace mgraph {

// What an operation came to.
struct heap_outcome {
  bool done;                  // an insertion: false where there was no room, and nothing changed
  unsigned count;             // a deletion's items
  unsigned long long first;   // how many items were deleted before them
  unsigned long long ticket;  // its turn at the root; `no_ticket` where it did not need it
};

constexpr unsigned long long no_ticket = ~0ULL;

// What some of a block's threads find out for all: they write their parts of `is`, then it is told.
template <class T> struct finding {
  static_assert(sizeof(T) <= 48, "has a place");
  T& is;

  __device__ explicit finding(void* place) : is(*static_cast<T*>(place)) {}
  __device__ T told() const {
    __syncthreads();
    return is;
  }
};

// Of a block that works on a heap; all its threads call what is here. K and `threads` are powers of
// two, threads <= K.
template <class key_t, class value_t, unsigned K, unsigned threads> class heap_lists {
 protected:
  using list = items<key_t, value_t>;
  static constexpr unsigned each = K / threads;

 public:
  using memory = heap_memory<key_t, value_t, K>;
  struct scratch {
    key_t keys[3][K];
    value_t values[3][has_values<value_t> ? K : 1];
    unsigned long long found[2][6];
  };
  static constexpr unsigned item_bytes = sizeof(key_t) + has_values<value_t> * sizeof(value_t);
  static_assert(sizeof(scratch) <= 3 * K * item_bytes + 112, "as the host counts it");

  const list carried;

  __device__ heap_lists(const memory& heap, scratch& s)
      : carried{s.keys[0], s.values[0]}, heap(heap), left{s.keys[1], s.values[1]},
        right{s.keys[2], s.values[2]}, s(s) {}

 protected:
  static constexpr unsigned root = memory::root, buffer = memory::buffer;
  const memory heap;
  const list left, right;

  // Three that may wait for different words at a time, where there are so many warps.
  __device__ static bool first_thread() { return threadIdx.x == 0; }
  __device__ static bool second_thread() { return threadIdx.x == threads / 2; }
  __device__ static bool third_thread() { return threadIdx.x == threads / 4; }
  // Where a finding stands. Two places take turns, so that a slow thread still reads one while
  // others write the next.
  __device__ void* next_place() { return s.found[turn++ % 2]; }
  template <class find_t> __device__ auto first_thread_finds(find_t find) {
    finding<decltype(find())> its(next_place());
    if (first_thread()) its.is = find();
    return its.told();
  }

  __device__ heap_line& line() const { return heap.counts->line; }

  // By one thread, while the root is held.
  __device__ unsigned long long next_ticket() { return heap.counts->tickets++; }

  // Lets a node go, after all that the block's threads did. That takes the third thread some time,
  // in which the first two may take others.
  __device__ void release(unsigned node, node_state state) {
    __syncthreads();
    if (third_thread()) heap.let_go(node, state);
  }

  __device__ void load(const list& to, unsigned node, unsigned count = K) const {
    const unsigned long long at = (unsigned long long)node * K;
    for (unsigned i = threadIdx.x; i < count; i += threads) {
      to.keys[i] = __ldcg(heap.keys + at + i);
      if constexpr (has_values<value_t>) to.values[i] = __ldcg(heap.values + at + i);
    }
  }

  // A node's K items in registers: until they are put somewhere there is time for other things.
  struct fetched {
    key_t keys[each];
    value_t values[each];
  };

  __device__ fetched fetch(unsigned node) const {
    const unsigned long long at = (unsigned long long)node * K + threadIdx.x;
    fetched its;
    for (unsigned i = 0; i < each; ++i) {
      its.keys[i] = __ldcg(heap.keys + at + i * threads);
      if constexpr (has_values<value_t>) its.values[i] = __ldcg(heap.values + at + i * threads);
    }
    return its;
  }

  __device__ fetched fetch_if(bool there, unsigned node) const {
    fetched its{};
    if (there) its = fetch(node);
    return its;
  }

  __device__ static void put(const list& to, const fetched& its) {
    for (unsigned i = 0; i < each; ++i) {
      to.keys[threadIdx.x + i * threads] = its.keys[i];
      if constexpr (has_values<value_t>) to.values[threadIdx.x + i * threads] = its.values[i];
    }
  }

  __device__ void store(unsigned node, const list& from, unsigned count = K) const {
    const unsigned long long at = (unsigned long long)node * K;
    for (unsigned i = threadIdx.x; i < count; i += threads) {
      heap.keys[at + i] = from.keys[i];
      if constexpr (has_values<value_t>) heap.values[at + i] = from.values[i];
    }
  }

  // Whether all of `low`, K items, stand before all of `high`.
  __device__ static bool in_order(const list& low, const list& high) {
    return !(high.keys[0] < low.keys[K - 1]);
  }

  // The first list gets the K smallest of both, which have K each,
  __device__ static void merge(const list& first, const list& second) {
    merge_full_lists<K, threads>(first, second);
  }
  // or, where they may have fewer, the `low` smallest.
  __device__ static void merge(const list& first, unsigned in_first, const list& second,
                               unsigned in_second, unsigned low) {
    merge_lists<K, threads>(first, in_first, second, in_second, low);
  }

 private:
  scratch& s;
  unsigned turn = 0;
};

}  // namespace mgraph
