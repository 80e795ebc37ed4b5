// The three lists that a block has in shared memory, and how items come into them and out again.
#pragma once

#include <mgraph/heap_memory.cuh>
#include <mgraph/sorted_items.cuh>

namespace mgraph {

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
    unsigned long long told[2][8];
  };
  static constexpr unsigned item_bytes = sizeof(key_t) + has_values<value_t> * sizeof(value_t);
  static_assert(sizeof(scratch) <= 3 * K * item_bytes + 144, "as the host counts it, less 16");

  const list carried;

  __device__ heap_lists(const memory& heap, scratch& s)
      : carried{s.keys[0], s.values[0]}, heap(heap), left{s.keys[1], s.values[1]},
        right{s.keys[2], s.values[2]}, s(s) {}

 protected:
  const memory heap;
  const list left, right;

  // Three that may wait for different words at a time, where there are so many warps.
  __device__ static bool first_thread() { return threadIdx.x == 0; }
  __device__ static bool second_thread() { return threadIdx.x == threads / 2; }
  __device__ static bool third_thread() { return threadIdx.x == threads / 4; }
  // What the first thread found, for all: it writes, then all tell and read. Two places take turns,
  // so that a slow thread still reads while the first one writes for the next time.
  __device__ unsigned long long* to_tell() { return s.told[turn % 2]; }
  __device__ const unsigned long long* tell() {
    __syncthreads();
    return s.told[turn++ % 2];
  }

  // Lets a node go, after all that the block's threads did. That takes the third thread some time, in
  // which the first two may take others.
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
