// The heap of sorted nodes, many blocks at once; batch_heap_gpu.py explains the method. The host
// defines
//   MGRAPH_KEY_T    unsigned or unsigned long long
//   MGRAPH_VALUE_T  the same, or mgraph::no_value
//   MGRAPH_NODE     keys a node, a power of two
//   MGRAPH_THREADS  threads a block, a power of two, at most as many
// All blocks of a launch must be resident, since they wait for each other.

#include <mgraph/clock.cuh>
#include <mgraph/heap.cuh>

using namespace mgraph;

using word_t = MGRAPH_KEY_T;
using value_t = MGRAPH_VALUE_T;
using u64 = unsigned long long;
constexpr unsigned K = MGRAPH_NODE, threads = MGRAPH_THREADS;
using block = heap_block<word_t, value_t, K, threads>;

// The next piece of work, the same for all threads of a block.
class work {
 public:
  __device__ work(u64* taken, u64* told) : taken(taken), told(told) {}
  __device__ u64 next() {
    if (threadIdx.x == 0) told[turn % 2] = atomicAdd(taken, 1ULL);
    __syncthreads();
    return told[turn++ % 2];
  }

 private:
  u64* const taken;
  u64* const told;
  unsigned turn = 0;
};

// Items `first` to `first + count - 1` of an array, sorted, as those that a block carries.
__device__ void carry(block& heap, const word_t* keys, const value_t* values, u64 first,
                      unsigned count) {
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count; i += threads) {
    heap.carried.keys[i] = keys[first + i];
    if constexpr (has_values<value_t>) heap.carried.values[i] = values[first + i];
  }
  __syncthreads();
  heap.sort(count);
}

// Inserts `count` items, K at a time; `refused` becomes 1 where there is no room.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    batch_heap_push(word_t* keys, value_t* values, heap_word* words, heap_counts* counts,
                    unsigned capacity, unsigned places, const word_t* more,
                    const value_t* more_values, u64 count, int from_below, u64* taken,
                    unsigned* refused) {
  extern __shared__ __align__(16) u64 shared[];
  block heap({keys, values, words, counts, capacity, places},
             *reinterpret_cast<block::scratch*>(shared + 2));
  work batches(taken, shared);
  for (u64 first; (first = batches.next() * K) < count;) {
    const unsigned some = unsigned(min(count - first, u64(K)));
    carry(heap, more, more_values, first, some);
    if (!heap.insert(some, from_below).done && threadIdx.x == 0) *refused = 1;
  }
}

// Deletes the `count` smallest items, which there must be, and puts them into arrays in order. No
// item has been deleted yet, as counts->removed says.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    batch_heap_pop(word_t* keys, value_t* values, heap_word* words, heap_counts* counts,
                   unsigned capacity, unsigned places, word_t* out, value_t* out_values, u64 count,
                   u64* taken) {
  extern __shared__ __align__(16) u64 shared[];
  block heap({keys, values, words, counts, capacity, places},
             *reinterpret_cast<block::scratch*>(shared + 2));
  work batches(taken, shared);
  while (batches.next() * K < count) {
    const heap_outcome found = heap.remove();
    const unsigned wanted = unsigned(min(u64(found.count), count - min(count, found.first)));
    for (unsigned i = threadIdx.x; i < wanted; i += threads) {
      out[found.first + i] = heap.carried.keys[i];
      if constexpr (has_values<value_t>) out_values[found.first + i] = heap.carried.values[i];
    }
    if (wanted < found.count) heap.put_back(wanted, found.count);
  }
}

// Operations in whatever order: operation j inserts sizes[j] items, from item j * K on, or deletes
// some where that is 0. What came of it: record[j], and what was deleted from item j * K on.
struct history {
  u64 begin, end, done, count, first, ticket;  // begin, end: nanoseconds
};

extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    batch_heap_history(word_t* keys, value_t* values, heap_word* words, heap_counts* counts,
                       unsigned capacity, unsigned places, const unsigned* sizes, u64 operations,
                       word_t* its_keys, value_t* its_values, int from_below, u64* taken,
                       history* record) {
  extern __shared__ __align__(16) u64 shared[];
  block heap({keys, values, words, counts, capacity, places},
             *reinterpret_cast<block::scratch*>(shared + 2));
  work all(taken, shared);
  for (u64 j; (j = all.next()) < operations;) {
    const unsigned size = sizes[j];
    if (size) carry(heap, its_keys, its_values, j * K, size);
    const u64 begin = nanoseconds();
    const heap_outcome found = size ? heap.insert(size, from_below) : heap.remove();
    __syncthreads();
    if (threadIdx.x == 0) {
      record[j] = {begin, nanoseconds(), found.done, found.count, found.first, found.ticket};
    }
    for (unsigned i = threadIdx.x; i < found.count; i += threads) {
      its_keys[j * K + i] = heap.carried.keys[i];
      if constexpr (has_values<value_t>) its_values[j * K + i] = heap.carried.values[i];
    }
  }
}
