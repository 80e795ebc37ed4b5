// A priority queue of many keys on many blocks: the generalized heap of Chen, Hua, Jin and Zhang,
// "Accelerating concurrent heap on GPUs" (2019), sections 3 and 4.
//
// Reading order: batch_heap_cpu.py has the heap and its operations without concurrency;
// batch_heap_gpu.py says how blocks work on it at once, where that departs from the paper, and why.
// Then, each including the one before:
//   sorted_items.cuh    a block sorts and merges lists in shared memory (sections 4.1, 4.2)
//   ticket_lock.cuh     the queue for the root, in which insertions and deletions combine
//   heap_memory.cuh     nodes and their locks (3.3.1), the order in which nodes are filled (4.3)
//   heap_lists.cuh      a block's lists, and how items get into them and out again
//   heap_insertion.cuh  top-down and bottom-up insertions
//   heap.cuh            deletions; the class heap_block that a kernel uses
//   multi_heap.cuh      several heaps as one queue without a strict order
//   paper_heap.cuh      the paper's own bottom-up insertion, for comparison
// The heads of ticket_lock.cuh and heap_memory.cuh argue each hand-over between blocks. Cost: an
// operation merges 2 K keys once per level (an insertion) or twice (a deletion).
//
// The host defines
//   MGRAPH_HEAP     heap_block or paper_heap_block
//   MGRAPH_KEY_T    unsigned or unsigned long long
//   MGRAPH_VALUE_T  the same, or mgraph::no_value
//   MGRAPH_NODE     keys per node, a power of two
//   MGRAPH_THREADS  threads per block, a power of two, at most as many
// All blocks of a launch must be resident, since they wait for each other.

#include <mgraph/clock.cuh>
#include <mgraph/multi_heap.cuh>
#include <mgraph/paper_heap.cuh>

using namespace mgraph;

using word_t = MGRAPH_KEY_T;
using value_t = MGRAPH_VALUE_T;
using u64 = unsigned long long;
constexpr unsigned K = MGRAPH_NODE, threads = MGRAPH_THREADS;
using block = MGRAPH_HEAP<word_t, value_t, K, threads>;
using heap_arguments = heap_arrays<word_t, value_t>;

// The items that a launch inserts or deletes, in batches of K.
struct item_batches {
  word_t* keys;
  value_t* values;
  u64 count;        // items
  u64* next_batch;  // 0 at the launch
};

// Operations in any order: operation j inserts sizes[j] items, from item j * K on, or deletes if
// sizes[j] is 0, and then writes the items from j * K on. history[j] is its outcome.
struct operation_record {
  u64 begin, end, done, count, deleted_before, sequence;  // begin, end: nanoseconds
};
struct operation_list {
  const unsigned* sizes;
  word_t* keys;
  value_t* values;
  u64 count;  // operations
  operation_record* history;
  u64* next_operation;  // 0 at the launch
};

// Shared memory: the task counter's words, then the block's scratch.
constexpr unsigned counter_words = 2;

// Numbers tasks 0, 1, 2, … among the blocks of a launch: each `next` returns one, the same to all
// threads of the block.
class task_counter {
 public:
  __device__ task_counter(u64* counter, u64* broadcast) : counter(counter), broadcast(broadcast) {}
  __device__ u64 next() {
    if (threadIdx.x == 0) broadcast[draws % 2] = atomicAdd(counter, 1ULL);
    __syncthreads();
    return broadcast[draws++ % 2];
  }

 private:
  u64* const counter;
  u64* const broadcast;
  unsigned draws = 0;
};

// The block carries items `first` to `first + count - 1` of an array, sorted.
__device__ void load_batch(block& heap, const word_t* keys, const value_t* values, u64 first,
                           unsigned count) {
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count; i += threads) {
    heap.carried.keys[i] = keys[first + i];
    if constexpr (has_values<value_t>) heap.carried.values[i] = values[first + i];
  }
  __syncthreads();
  heap.sort(count);
}

// Writes `count` items that the block carries, from `first` on; those beyond the end go back into
// the heap.
__device__ void store_batch(block& heap, const item_batches& items, u64 first, unsigned count) {
  const unsigned kept = unsigned(min(u64(count), items.count - min(items.count, first)));
  for (unsigned i = threadIdx.x; i < kept; i += threads) {
    items.keys[first + i] = heap.carried.keys[i];
    if constexpr (has_values<value_t>) items.values[first + i] = heap.carried.values[i];
  }
  if (kept < count) heap.reinsert(kept, count);
}

// Inserts items, K at a time; `is_full` becomes 1 if the heap has no place for some.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    batch_heap_push(__grid_constant__ const heap_arguments arguments,
                    __grid_constant__ const item_batches items, int bottom_up, unsigned* is_full) {
  extern __shared__ __align__(16) u64 shared[];
  block::scratch& scratch = *reinterpret_cast<block::scratch*>(shared + counter_words);
  const multi_heap<block> heaps(arguments);
  task_counter batches(items.next_batch, shared);
  for (u64 first; (first = batches.next() * K) < items.count;) {
    const unsigned batch_size = unsigned(min(items.count - first, u64(K)));
    bool done = false;
    for (unsigned i = 0; i < heaps.count && !done; ++i) {  // the heaps by turns, unless one is full
      block heap = heaps.at((first / K + i) % heaps.count, scratch);
      if (i == 0) load_batch(heap, items.keys, items.values, first, batch_size);
      __syncthreads();
      done = heap.insert(batch_size, bottom_up).done;
    }
    if (!done && threadIdx.x == 0) *is_full = 1;
  }
}

// Deletes the `items.count` smallest items, which there must be, and writes them in order.
// counts->removed must be 0 at the launch.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    batch_heap_pop(__grid_constant__ const heap_arguments arguments,
                   __grid_constant__ const item_batches items) {
  extern __shared__ __align__(16) u64 shared[];
  block heap({arguments}, *reinterpret_cast<block::scratch*>(shared + counter_words));
  task_counter batches(items.next_batch, shared);
  while (batches.next() * K < items.count) {
    const heap_outcome deleted = heap.remove();
    store_batch(heap, items, deleted.deleted_before, deleted.count);
  }
}

// Deletes `items.count` items, which there must be, from several heaps, and writes them in the
// order in which blocks got them. items.next_batch counts them.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    batch_heap_pop_any(__grid_constant__ const heap_arguments arguments,
                       __grid_constant__ const item_batches items) {
  extern __shared__ __align__(16) u64 shared[];
  block::scratch& scratch = *reinterpret_cast<block::scratch*>(shared + counter_words);
  const multi_heap<block> heaps(arguments);
  for (unsigned turn = 0;; ++turn) {
    if (threadIdx.x == 0) {
      shared[0] = load_relaxed(items.next_batch);
      if (shared[0] < items.count) {
        shared[1] = heaps.better_of_two(mix64(u64(blockIdx.x) << 32 | turn));
      }
    }
    __syncthreads();
    if (shared[0] >= items.count) return;
    block heap = heaps.at(unsigned(shared[1]), scratch);
    const unsigned deleted = heap.remove().count;
    __syncthreads();
    if (threadIdx.x == 0) shared[0] = atomicAdd(items.next_batch, u64(deleted));
    __syncthreads();
    store_batch(heap, items, shared[0], deleted);
    __syncthreads();
  }
}

// Runs operations in any order, for tests of linearizability and for timing.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    batch_heap_history(__grid_constant__ const heap_arguments arguments,
                       __grid_constant__ const operation_list operations, int bottom_up) {
  extern __shared__ __align__(16) u64 shared[];
  block heap({arguments}, *reinterpret_cast<block::scratch*>(shared + counter_words));
  task_counter tasks(operations.next_operation, shared);
  for (u64 j; (j = tasks.next()) < operations.count;) {
    const unsigned size = operations.sizes[j];
    if (size) load_batch(heap, operations.keys, operations.values, j * K, size);
    const u64 begin = nanoseconds();
    const heap_outcome outcome = size ? heap.insert(size, bottom_up) : heap.remove();
    __syncthreads();
    if (threadIdx.x == 0) {
      operations.history[j] = {begin,         nanoseconds(),          outcome.done,
                               outcome.count, outcome.deleted_before, outcome.sequence};
    }
    for (unsigned i = threadIdx.x; i < outcome.count; i += threads) {
      operations.keys[j * K + i] = heap.carried.keys[i];
      if constexpr (has_values<value_t>) operations.values[j * K + i] = heap.carried.values[i];
    }
  }
}
