// What insertions into a heap and deletions have in common: the three lists that a block has in
// shared memory, how items get into them and out again, and how one thread's results reach the
// block's other threads.
#pragma once

#include <mgraph/heap_memory.cuh>
#include <mgraph/sorted_items.cuh>

namespace mgraph {

// The outcome of an operation.
struct heap_outcome {
  bool done;       // of an insertion: false if the heap is full, and then it is unchanged
  unsigned count;  // of a deletion: its items
  // Of a deletion: how many items were deleted before these.
  unsigned long long deleted_before;
  // The place in the linearization order of the operations that had the root or were combined with
  // one that had it; no_sequence for others.
  unsigned long long sequence;
};

constexpr unsigned long long no_sequence = ~0ULL;

// A value that some threads of a block compute for all: they write their parts of `value`, then all
// threads call `read`, which has a block barrier.
template <class T> struct block_broadcast {
  static_assert(sizeof(T) <= 48, "fits its buffer");
  T& value;

  __device__ explicit block_broadcast(void* buffer) : value(*static_cast<T*>(buffer)) {}
  __device__ T read() const {
    __syncthreads();
    return value;
  }
};

// The size of a block's scratch, for the host: scratch_lists lists of K items, and extra bytes.
constexpr unsigned scratch_lists = 3, scratch_extra_bytes = 112;

// The lists of a block that works on a heap. All threads of the block call the functions. K and
// `threads` are powers of two, threads <= K.
template <class key_t, class value_t, unsigned K, unsigned threads> class heap_lists {
 protected:
  using list = items<key_t, value_t>;
  static constexpr unsigned items_per_thread = K / threads;

 public:
  using key_type = key_t;
  using memory = heap_memory<key_t, value_t, K>;
  struct scratch {
    key_t keys[scratch_lists][K];
    value_t values[scratch_lists][has_values<value_t> ? K : 1];
    unsigned long long broadcast[2][6];
  };
  static constexpr unsigned item_bytes = sizeof(key_t) + has_values<value_t> * sizeof(value_t);
  static_assert(sizeof(scratch) <= scratch_lists * K * item_bytes + scratch_extra_bytes);

  const list carried;  // the operation's items

  __device__ heap_lists(const memory& heap, scratch& s)
      : carried{s.keys[0], s.values[0]}, heap(heap), left{s.keys[1], s.values[1]},
        right{s.keys[2], s.values[2]}, s(s) {}

 protected:
  static constexpr unsigned root = memory::root, buffer = memory::buffer;
  const memory heap;
  const list left, right;

  // Three threads that can wait for different words at a time, if the block has several warps.
  __device__ static bool is_first_thread() { return threadIdx.x == 0; }
  __device__ static bool is_second_thread() { return threadIdx.x == threads / 2; }
  __device__ static bool is_third_thread() { return threadIdx.x == threads / 4; }
  // The buffer of the next block_broadcast. Two take turns, so that a slow thread still reads one
  // while others write the next.
  __device__ void* next_broadcast() { return s.broadcast[broadcasts++ % 2]; }
  // The result of `compute`, which the first thread calls, for all threads.
  template <class compute_t> __device__ auto on_first_thread(compute_t compute) {
    block_broadcast<decltype(compute())> result(next_broadcast());
    if (is_first_thread()) result.value = compute();
    return result.read();
  }

  __device__ ticket_lock& root_lock() const { return heap.counts->root_lock; }

  // By one thread, while the root is held.
  __device__ unsigned long long next_sequence() { return heap.counts->next_sequence++; }

  // Releases a node after all that the block's threads did. That takes the third thread some time,
  // in which the first two may acquire others.
  __device__ void release(unsigned node, node_state state) {
    __syncthreads();
    if (is_third_thread()) heap.release(node, state);
  }

  __device__ void load(const list& to, unsigned node, unsigned count = K) const {
    const unsigned long long begin = (unsigned long long)node * K;
    for (unsigned i = threadIdx.x; i < count; i += threads) {
      to.keys[i] = __ldcg(heap.keys + begin + i);
      if constexpr (has_values<value_t>) to.values[i] = __ldcg(heap.values + begin + i);
    }
  }

  // A node's K items in registers, on their way from memory while the block does other things.
  struct register_items {
    key_t keys[items_per_thread];
    value_t values[items_per_thread];
  };

  __device__ register_items prefetch(unsigned node) const {
    const unsigned long long begin = (unsigned long long)node * K + threadIdx.x;
    register_items result;
    for (unsigned i = 0; i < items_per_thread; ++i) {
      result.keys[i] = __ldcg(heap.keys + begin + i * threads);
      if constexpr (has_values<value_t>) {
        result.values[i] = __ldcg(heap.values + begin + i * threads);
      }
    }
    return result;
  }

  __device__ register_items prefetch_if(bool is_present, unsigned node) const {
    register_items result{};
    if (is_present) result = prefetch(node);
    return result;
  }

  __device__ static void write(const list& to, const register_items& from) {
    for (unsigned i = 0; i < items_per_thread; ++i) {
      to.keys[threadIdx.x + i * threads] = from.keys[i];
      if constexpr (has_values<value_t>) to.values[threadIdx.x + i * threads] = from.values[i];
    }
  }

  __device__ void store(unsigned node, const list& from, unsigned count = K) const {
    const unsigned long long begin = (unsigned long long)node * K;
    for (unsigned i = threadIdx.x; i < count; i += threads) {
      heap.keys[begin + i] = from.keys[i];
      if constexpr (has_values<value_t>) heap.values[begin + i] = from.values[i];
    }
  }

  // Whether no item of `high` is before an item of `low`, which has K items.
  __device__ static bool in_order(const list& low, const list& high) {
    return !(high.keys[0] < low.keys[K - 1]);
  }

  // Exchanges K items of two lists. Each thread writes those that it would read in `store`.
  __device__ static void exchange(const list& first, const list& second) {
    __syncthreads();
    for (unsigned i = threadIdx.x; i < K; i += threads) first.swap(i, second, i);
  }

  // The paper's MergeAndSort: the first list gets the K smallest items of both, which have K each,
  // by merge path, as in the paper, if the host defines MGRAPH_MERGE_PATH,
  __device__ static void merge(const list& first, const list& second) {
#ifdef MGRAPH_MERGE_PATH
    merge_lists<K, threads>(first, K, second, K, K);
#else
    merge_full_lists<K, threads>(first, second);
#endif
  }
  // or, if they may have fewer, the `low` smallest.
  __device__ static void merge(const list& first, unsigned in_first, const list& second,
                               unsigned in_second, unsigned low) {
    merge_lists<K, threads>(first, in_first, second, in_second, low);
  }

  // Carries items `begin` to `end - 1` of those that are carried.
  __device__ void carry(unsigned begin, unsigned end) const {
    __syncthreads();
    for (unsigned i = begin + threadIdx.x; i < end; i += threads) left.copy(i - begin, carried, i);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < end - begin; i += threads) carried.copy(i, left, i);
    __syncthreads();
  }

  // Adds what is carried to the buffer, which it does not fill; the root is held.
  __device__ void merge_into_buffer(unsigned count, unsigned buffered, bool has_root) {
    const unsigned total = buffered + count;
    load(left, buffer, buffered);
    if (has_root) load(right, root);
    __syncthreads();
    merge(carried, count, left, buffered, total);
    if (has_root && !in_order(right, carried)) {
      merge(right, K, carried, total, K);
      store(root, right);
    }
    store(buffer, carried, total);
  }

  // Of what is carried and the buffer, K items or more in all, carries the K smallest; the root is
  // held.
  __device__ void take_smallest_of_buffer(unsigned count, unsigned buffered) {
    if (!buffered) return;
    load(left, buffer, buffered);
    __syncthreads();
    merge(carried, count, left, buffered, K);
    store(buffer, left, buffered + count - K);
  }

 private:
  scratch& s;
  unsigned broadcasts = 0;
};

}  // namespace mgraph
