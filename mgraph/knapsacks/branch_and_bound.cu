// 0/1 knapsack by branch and bound on the concurrent heap: section 5.7.2 of Chen et al.,
// "Accelerating concurrent heap on GPUs" (2019), the version with garbage collection. Without a
// table it is the paper's search to the letter, as plain_branch_and_bound_cpu.py describes it.
//
// Reading order: problem.py says what a partial solution is and how it is completed, and
// branch_and_bound_cpu.py is the search on one core, with the table that the paper lacks. Here each
// block repeats: wait for a batch, delete the best nodes from the heap, make their two children (a
// thread has one or two nodes), update the incumbent, store the children that are kept, and insert
// them K at a time. branch_and_bound_gpu.py says when a launch ends and what the host does then.
//
// Hand-overs between blocks:
//   node       Written once, then fenced, then published by the heap (whose locks release and
//              acquire) or by the table, a relaxed store that is read with acquire. Nodes never
//              change, so a table entry is right whenever it is read.
//   incumbent  best_parent and best_step are written under `lock`, taken by compare-and-swap with
//              acquire and released by a store with release. `best` only grows: a block that reads
//              an older one prunes less. The lock's holder waits for no other block.
//   pending    Nodes in the heap or carried by a block; 0 ends the search. A block adds children in
//              the same addition that subtracts their parents, so it cannot fall to 0 too early.
//   ended      The first reason to stop; blocks leave once they have put their own nodes back.
// Cost: per node two bisections of the items and three table look-ups; 32 bytes per node ever made.
//
// The host defines
//   MGRAPH_KEY_T    unsigned or unsigned long long: bounds or profits, all bits complemented
//   MGRAPH_NODE     keys per node of the heap, a power of two
//   MGRAPH_THREADS  threads per block, a power of two, at most as many
// All blocks of a launch must be resident, since they wait for each other.

#include <mgraph/clock.cuh>
#include <mgraph/multi_heap.cuh>
#include <mgraph/relaxed.cuh>

using namespace mgraph;

using i64 = long long;
using u64 = unsigned long long;
using word_t = MGRAPH_KEY_T;
constexpr unsigned K = MGRAPH_NODE, threads = MGRAPH_THREADS, per_thread = K / threads;
constexpr unsigned nothing = 0xFFFFFFFFu, full_warp = 0xFFFFFFFFu;
using block = heap_block<word_t, unsigned, K, threads>;
using heap_arguments = heap_arrays<word_t, unsigned>;

// A partial solution. step: twice the level, plus 1 if the last item was flipped.
constexpr unsigned node_bytes = 32;
struct alignas(node_bytes) node {
  i64 profit, weight, bound;
  unsigned parent, step;

  __device__ unsigned level() const { return step / 2; }
  // Whether this node leads to everything that the other one leads to.
  __device__ bool as_good_as(const node& other) const {
    return level() == other.level() && weight == other.weight && profit >= other.profit;
  }
};

static_assert(sizeof(node) == node_bytes);

// A node as another block wrote it.
__device__ node load(const node* from) {
  const ulonglong2* const halves = reinterpret_cast<const ulonglong2*>(from);
  const ulonglong2 low = __ldcg(halves), high = __ldcg(halves + 1);
  return {i64(low.x), i64(low.y), i64(high.x), unsigned(high.y), unsigned(high.y >> 32)};
}

enum stop_reason : unsigned { running, finished, timed_out, heap_full, nodes_full, refused };

// The counters that all blocks share.
struct search_state {
  i64 best;  // the incumbent's profit
  u64 pending, made, explored;
  unsigned best_parent, best_step;
  unsigned ended, lock;
  unsigned takers, unused;  // takers: blocks that are about to delete nodes from the heap
};

// The items by density, as problem.py has them; per level the items that are decided, begins to
// ends - 1, and the one that it decides next.
struct problem_tables {
  const i64* profits;
  const i64* weights;
  const i64* profits_before;
  const i64* weights_before;
  const int* begins;
  const int* ends;
  const int* decided;
  i64 capacity;
  unsigned size;
};

struct problem : problem_tables {
  struct completion {
    i64 bound, profit;  // -1 if there is none
  };

  // Dantzig's completion: items that fit are added, or, if it is too heavy, items are taken out.
  __device__ completion complete(i64 partial_profit, i64 partial_weight, unsigned level) const {
    const bool fits = partial_weight <= capacity;
    const unsigned edge = fits ? ends[level] : begins[level];
    const i64 target = weights_before[edge] + capacity - partial_weight;
    if (target < 0) return {-1, -1};
    const unsigned limit = fits ? size : edge;
    unsigned low = fits ? edge : 0, high = limit;
    while (low < high) {
      const unsigned middle = (low + high + 1) / 2;
      if (weights_before[middle] <= target) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    const i64 value = partial_profit + profits_before[low] - profits_before[edge];
    if (low == limit) return {value, value};
    return {value + (target - weights_before[low]) * profits[low] / weights[low], value};
  }

  // A child of a node, without its bound and parent.
  __device__ node child(const node& parent, unsigned flipped) const {
    const unsigned level = parent.level();
    const int item = decided[level];
    const i64 sign = !flipped ? 0 : item < begins[level] ? -1 : 1;
    return {parent.profit + sign * profits[item], parent.weight + sign * weights[item], 0, nothing,
            2 * (level + 1) + flipped};
  }
};

// All nodes that were made, and the table of nodes by level and weight: each of its places holds
// the index of the latest one. The paper's own search has no table (null).
struct node_arrays {
  node* nodes;
  unsigned* table;
  unsigned mask;  // the table's size - 1
};

struct node_table : node_arrays {
  __device__ unsigned* place_of(const node& n) const {
    const u64 mixed = (u64(n.weight) + (u64(n.level()) << 40)) * 0x9E3779B97F4A7C15ULL;
    return table + (unsigned(mixed >> 32) & mask);
  }
  // Whether the table has a node other than this one, whose index is `own`, that is as good.
  __device__ bool supersedes(const node& n, unsigned own) const {
    if (!table) return false;
    const unsigned other = load_acquire(place_of(n));
    return other != own && load(nodes + other).as_good_as(n);
  }
};

// When a launch ends, and the order in which it explores. The heap has room for max_pending nodes
// and the array for max_made, besides 2 K for each block.
struct launch_options {
  u64 max_pending, max_made;
  u64 nanoseconds;
  int by_bound;
};

enum next_step : unsigned { stop, take, give };

// What the threads of a block share in one round.
struct round_state {
  i64 best;
  u64 first;
  unsigned kept, explored, finder, heap;  // heap: to delete from
  next_step next;
};

// Shared memory: the round's state, the block's scratch, the saved nodes.
constexpr unsigned round_words = 6;
static_assert(sizeof(round_state) <= 8 * round_words);

// By one thread: waits until the heaps have nodes for this block, or the search has ended. A block
// that has saved some nodes is to give them if the heaps have less than a batch per block.
__device__ next_step wait_for_batch(search_state& state, const multi_heap<block>& heaps,
                                    bool has_saved, const launch_options& options, u64 deadline) {
  for (unsigned pause = 50;; pause = min(2 * pause, 500u)) {
    if (load_acquire(&state.ended) != running) return stop;
    const u64 pending = load_acquire(&state.pending);
    unsigned reason = running;
    if (!pending) {
      reason = finished;
    } else if (nanoseconds() >= deadline) {
      reason = timed_out;
    } else if (pending > options.max_pending) {
      reason = heap_full;
    } else if (load_acquire(&state.made) > options.max_made) {
      reason = nodes_full;
    }
    if (reason != running) {
      compare_exchange_acq_rel(&state.ended, unsigned(running), reason);
      return stop;
    }
    const u64 batches = heaps.count_batches();
    if (has_saved && batches < gridDim.x) return give;
    if (batches) {  // more blocks than batches would queue for nothing
      if (atomicAdd(&state.takers, 1u) < batches) return take;
      atomicSub(&state.takers, 1u);
    }
    __nanosleep(pause);
  }
}

// Explores nodes, the best first, until none is left or another reason ends the launch.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    branch_and_bound_explore(__grid_constant__ const heap_arguments arguments,
                             __grid_constant__ const problem_tables tables,
                             __grid_constant__ const node_arrays arrays, search_state* state,
                             __grid_constant__ const launch_options options) {
  extern __shared__ __align__(16) u64 shared[];
  round_state& round = *reinterpret_cast<round_state*>(shared);
  block::scratch& scratch = *reinterpret_cast<block::scratch*>(shared + round_words);
  const multi_heap<block> heaps(arguments);
  block heap = heaps.at(0, scratch);  // for what the block carries
  word_t* const saved_keys =
      reinterpret_cast<word_t*>(shared + round_words + (sizeof(block::scratch) + 7) / 8);
  // Nodes that are saved until they fill a batch, which enters the heap without its root.
  const mgraph::items<word_t, unsigned> saved{saved_keys,
                                              reinterpret_cast<unsigned*>(saved_keys + K)};
  const problem instance{tables};
  const node_table known{arrays};
  node* const nodes = arrays.nodes;
  const bool is_plain = !arrays.table;  // then a node is a solution, without being completed
  const u64 begun = nanoseconds();
  const u64 limit = options.nanoseconds;
  const u64 deadline = limit < ~0ULL - begun ? begun + limit : ~0ULL;

  unsigned saved_count = 0, draws = 0;
  // The same to all threads of a block, which call it as often as each other.
  const auto draw = [&] { return mix64(u64(blockIdx.x) << 32 | draws++); };
  const auto insert = [&](unsigned count) {
    heap.sort(count);
    bool done = false;
    const unsigned first = unsigned(draw() % heaps.count);
    for (unsigned i = 0; i < heaps.count && !done; ++i) {  // one may be full
      done = heaps.at((first + i) % heaps.count, scratch).insert(count, true).done;
      __syncthreads();
    }
    if (!done && threadIdx.x == 0)
      compare_exchange_acq_rel(&state->ended, unsigned(running), unsigned(refused));
  };
  for (;;) {
    const u64 random = draw();
    if (threadIdx.x == 0) {
      round.next = wait_for_batch(*state, heaps, saved_count, options, deadline);
      round.heap = heaps.better_of_two(random);
      round.kept = round.explored = 0;
      round.finder = nothing;
      round.best = load_relaxed(&state->best);
    }
    __syncthreads();
    const next_step next = round.next;
    if (next != take) {
      for (unsigned i = threadIdx.x; i < saved_count; i += threads) heap.carried.copy(i, saved, i);
      __syncthreads();
      if (saved_count) insert(saved_count);
      if (next == stop) return;
      saved_count = 0;
      __syncthreads();
      continue;
    }
    const unsigned popped = heaps.at(round.heap, scratch).remove().count;
    if (threadIdx.x == 0) atomicSub(&state->takers, 1u);
    __syncthreads();

    node child[2 * per_thread];
    i64 profit[2 * per_thread];  // of the solution that the child leads to at once
    unsigned index[per_thread], explored = 0;
    i64 best = round.best, max_profit = -1;
    for (unsigned i = 0; i < per_thread; ++i) {
      const unsigned position = threadIdx.x + i * threads;
      index[i] = position < popped ? heap.carried.values[position] : nothing;
      for (unsigned flipped = 0; flipped < 2; ++flipped) child[2 * i + flipped].bound = -1;
      if (index[i] == nothing) continue;
      const node parent = load(nodes + index[i]);
      if (parent.bound <= best || known.supersedes(parent, index[i])) continue;
      ++explored;
      for (unsigned flipped = 0; flipped < 2; ++flipped) {
        node& c = child[2 * i + flipped];
        c = instance.child(parent, flipped);
        const problem::completion end = instance.complete(c.profit, c.weight, c.level());
        c.bound = end.bound;
        c.parent = index[i];
        profit[2 * i + flipped] = is_plain && end.bound >= 0 ? c.profit : end.profit;
        max_profit = max(max_profit, profit[2 * i + flipped]);
      }
    }
    if (explored) atomicAdd(&round.explored, explored);

    // Is a completion better than the incumbent?
    if (__syncthreads_or(max_profit > best)) {
      if (max_profit > best) atomicMax(&round.best, max_profit);
      __syncthreads();
      best = round.best;
      if (max_profit == best && atomicCAS(&round.finder, nothing, threadIdx.x) == nothing) {
        while (!compare_exchange_acq_rel(&state->lock, 0u, 1u)) __nanosleep(50);
        if (best > load_relaxed(&state->best)) {
          for (unsigned i = 0; i < 2 * per_thread; ++i) {
            if (child[i].bound < 0 || profit[i] != best) continue;
            state->best_parent = child[i].parent;
            state->best_step = child[i].step;
          }
          store_relaxed(&state->best, best);
        }
        store_release(&state->lock, 0u);
      }
    }

    // Which children may lead to a better solution? They are numbered within the block.
    unsigned rank[2 * per_thread];
    for (unsigned i = 0; i < 2 * per_thread; ++i) {
      const bool keep = child[i].bound > best && child[i].level() < tables.size &&
                        !known.supersedes(child[i], nothing);
      const unsigned votes = __ballot_sync(full_warp, keep);
      unsigned first = 0;
      if (votes && threadIdx.x % 32 == 0) first = atomicAdd(&round.kept, __popc(votes));
      first = __shfl_sync(full_warp, first, 0);
      rank[i] = keep ? first + __popc(votes & ((1u << threadIdx.x % 32) - 1)) : nothing;
    }
    __syncthreads();
    const unsigned kept = round.kept;
    if (threadIdx.x == 0) {
      round.first = kept ? atomicAdd(&state->made, u64(kept)) : 0;
      atomicAdd(&state->pending, u64(kept) - popped);
      if (round.explored) atomicAdd(&state->explored, u64(round.explored));
    }
    __syncthreads();
    const unsigned first = unsigned(round.first);
    for (unsigned i = 0; i < 2 * per_thread; ++i) {
      if (rank[i] != nothing) nodes[first + rank[i]] = child[i];
    }
    fence();  // before the table publishes them
    for (unsigned i = 0; i < 2 * per_thread; ++i) {
      if (rank[i] != nothing && !is_plain) {
        store_relaxed(known.place_of(child[i]), first + rank[i]);
      }
    }
    __syncthreads();

    // The saved nodes and the kept ones enter the heap in full batches; the remainder is saved.
    const unsigned total = saved_count + kept;
    for (unsigned base = 0; base < total; base += K) {
      const bool is_full = total - base >= K;
      const auto to = select(is_full, heap.carried, saved);
      if (base == 0 && is_full) {
        for (unsigned i = threadIdx.x; i < saved_count; i += threads) to.copy(i, saved, i);
      }
      __syncthreads();
      for (unsigned i = 0; i < 2 * per_thread; ++i) {
        const unsigned position = saved_count + rank[i] - base;
        if (rank[i] == nothing || saved_count + rank[i] < base || position >= K) continue;
        to.keys[position] = word_t(~u64(options.by_bound ? child[i].bound : profit[i]));
        to.values[position] = first + rank[i];
      }
      __syncthreads();
      if (is_full) insert(K);
    }
    saved_count = total % K;
    __syncthreads();
  }
}

// By one thread: for each level of a node, whether it flipped its item.
extern "C" __global__ void branch_and_bound_path(const node* nodes, unsigned parent, unsigned step,
                                                 unsigned char* flips) {
  while (step > 1) {
    flips[step / 2 - 1] = step % 2;
    step = nodes[parent].step;
    parent = nodes[parent].parent;
  }
}
