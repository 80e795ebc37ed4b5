// 0/1 knapsack by branch and bound on the concurrent heap; branch_and_bound_gpu.py explains the
// method. The host defines
//   MGRAPH_KEY_T    unsigned or unsigned long long: bounds or profits, all bits turned over
//   MGRAPH_NODE     keys a node of the heap, a power of two
//   MGRAPH_THREADS  threads a block, a power of two, at most as many
// All blocks of a launch must be resident, since they wait for each other.

#include <mgraph/clock.cuh>
#include <mgraph/heap.cuh>
#include <mgraph/relaxed.cuh>

using namespace mgraph;

using i64 = long long;
using u64 = unsigned long long;
using word_t = MGRAPH_KEY_T;
constexpr unsigned K = MGRAPH_NODE, threads = MGRAPH_THREADS, each = K / threads;
constexpr unsigned nothing = 0xFFFFFFFFu, full_warp = 0xFFFFFFFFu;
using block = heap_block<word_t, unsigned, K, threads>;

// A partial solution. step: twice the level, and 1 where the last item was flipped.
struct alignas(32) node {
  i64 profit, weight, bound;
  unsigned parent, step;

  __device__ unsigned level() const { return step / 2; }
  __device__ bool as_good_as(const node& other) const {
    return level() == other.level() && weight == other.weight && profit >= other.profit;
  }
};

// As another block wrote it.
__device__ node load(const node* from) {
  const ulonglong2* const halves = reinterpret_cast<const ulonglong2*>(from);
  const ulonglong2 low = __ldcg(halves), high = __ldcg(halves + 1);
  return {i64(low.x), i64(low.y), i64(high.x), unsigned(high.y), unsigned(high.y >> 32)};
}

enum reason : unsigned { going, done, stopped, heap_full, nodes_full, failed };

// What all blocks know. Nodes are pending while they wait in the heap or a block carries them.
struct search {
  i64 best;
  u64 pending, made, looked;
  unsigned best_parent, best_step;
  unsigned ended, lock;
  unsigned takers, unused;  // blocks that are about to take nodes from the heap
};

// The items by density, and for each level which are decided and which is the next.
struct problem {
  const i64 *profit, *weight, *profits_before, *weights_before;
  const int *begins, *ends, *turns;
  i64 capacity;
  unsigned size;

  struct completion {
    i64 bound, profit;  // -1 where there is none
  };

  // Dantzig's: what fits is added, or, where it is too heavy, items are taken out.
  __device__ completion complete(i64 its_profit, i64 its_weight, unsigned level) const {
    const bool fits = its_weight <= capacity;
    const unsigned edge = fits ? ends[level] : begins[level];
    const i64 target = weights_before[edge] + capacity - its_weight;
    if (target < 0) return {-1, -1};
    const unsigned most = fits ? size : edge;
    unsigned low = fits ? edge : 0, high = most;
    while (low < high) {
      const unsigned middle = (low + high + 1) / 2;
      if (weights_before[middle] <= target) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    const i64 found = its_profit + profits_before[low] - profits_before[edge];
    if (low == most) return {found, found};
    return {found + (target - weights_before[low]) * profit[low] / weight[low], found};
  }

  // The node's child; its bound and parent are not known yet.
  __device__ node child(const node& of, unsigned flipped) const {
    const unsigned level = of.level();
    const int item = turns[level];
    const i64 sign = !flipped ? 0 : item < begins[level] ? -1 : 1;
    return {of.profit + sign * profit[item], of.weight + sign * weight[item], 0, nothing,
            2 * (level + 1) + flipped};
  }
};

// Nodes by level and weight, one a place, the latest.
struct table {
  const node* nodes;
  unsigned* places;
  unsigned mask;

  __device__ unsigned* place(const node& one) const {
    const u64 mixed = (u64(one.weight) + (u64(one.level()) << 40)) * 0x9E3779B97F4A7C15ULL;
    return places + (unsigned(mixed >> 32) & mask);
  }
  // Whether a node that the table remembers, not this one itself, is as good.
  __device__ bool knows_one_as_good(const node& one, unsigned itself) const {
    const unsigned other = load_acquire(place(one));
    return other != itself && load(nodes + other).as_good_as(one);
  }
};

enum next_step : unsigned { stop, take, give };

// What a block finds out together.
struct together {
  i64 best;
  u64 first;
  unsigned kept, looked, finder;
  next_step next;
};

// By one thread: waits until the heap has nodes to take, or the search has ended. A block that has
// nodes left is to give them where the heap has less than a batch for each block.
__device__ next_step wait_for_nodes(search& all, const heap_counts& heap, bool has_left,
                                    u64 most_pending, u64 most_made, u64 stop_at) {
  for (unsigned pause = 50;; pause = min(2 * pause, 500u)) {
    if (load_acquire(&all.ended) != going) return stop;
    const u64 pending = load_acquire(&all.pending);
    unsigned why = going;
    if (!pending) {
      why = done;
    } else if (nanoseconds() >= stop_at) {
      why = stopped;
    } else if (pending > most_pending) {
      why = heap_full;
    } else if (load_acquire(&all.made) > most_made) {
      why = nodes_full;
    }
    if (why != going) {
      exchange_if(&all.ended, unsigned(going), why);
      return stop;
    }
    const u64 batches = unsigned(load_acquire(&heap.nodes)) + (load_acquire(&heap.buffered) > 0);
    if (has_left && batches < gridDim.x) return give;
    if (batches) {  // more blocks than that would queue up for nothing
      if (atomicAdd(&all.takers, 1u) < batches) return take;
      atomicSub(&all.takers, 1u);
    }
    __nanosleep(pause);
  }
}

// Looks at nodes, the best first, until none is left, or something else ends it. The heap holds
// `most_pending` nodes, and there is room for `most_made`, beside twice K for each block.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    branch_and_bound_explore(word_t* keys, unsigned* values, heap_word* words, heap_counts* counts,
                             unsigned capacity, unsigned places, const i64* items,
                             const int* levels, i64 room, unsigned size, node* nodes,
                             unsigned* remembered, unsigned mask, search* all, u64 most_pending,
                             u64 most_made, u64 nanoseconds_left, int by_bound) {
  extern __shared__ __align__(16) u64 shared[];
  together& now = *reinterpret_cast<together*>(shared);
  block heap({keys, values, words, counts, capacity, places},
             *reinterpret_cast<block::scratch*>(shared + 6));
  word_t* const keys_left =
      reinterpret_cast<word_t*>(shared + 6 + (sizeof(block::scratch) + 7) / 8);
  const mgraph::items<word_t, unsigned> left{keys_left,
                                             reinterpret_cast<unsigned*>(keys_left + K)};
  const problem its{items,           items + (size + 1), items + 2 * (size + 1),
                    items + 3 * (size + 1), levels, levels + (size + 1), levels + 2 * (size + 1),
                    room,            size};
  const table known{nodes, remembered, mask};
  const u64 begun = nanoseconds();
  const u64 stop_at = nanoseconds_left < ~0ULL - begun ? begun + nanoseconds_left : ~0ULL;

  // Nodes that wait until they fill a batch, which goes into the heap without its root.
  unsigned in_left = 0;
  const auto insert = [&](unsigned count) {
    heap.sort(count);
    const bool done = heap.insert(count, true).done;
    if (!done && threadIdx.x == 0) exchange_if(&all->ended, unsigned(going), unsigned(failed));
  };
  for (;;) {
    if (threadIdx.x == 0) {
      now.next = wait_for_nodes(*all, *counts, in_left, most_pending, most_made, stop_at);
      now.kept = now.looked = 0;
      now.finder = nothing;
      now.best = load_relaxed(&all->best);
    }
    __syncthreads();
    const next_step next = now.next;
    if (next != take) {
      for (unsigned i = threadIdx.x; i < in_left; i += threads) heap.carried.move(i, left, i);
      __syncthreads();
      if (in_left) insert(in_left);
      if (next == stop) return;
      in_left = 0;
      __syncthreads();
      continue;
    }
    const unsigned popped = heap.remove().count;
    if (threadIdx.x == 0) atomicSub(&all->takers, 1u);
    __syncthreads();

    node child[2 * each];
    i64 found[2 * each];
    unsigned index[each], mine = 0;
    i64 best = now.best, most = -1;
    for (unsigned i = 0; i < each; ++i) {
      const unsigned at = threadIdx.x + i * threads;
      index[i] = at < popped ? heap.carried.values[at] : nothing;
      for (unsigned flipped = 0; flipped < 2; ++flipped) child[2 * i + flipped].bound = -1;
      if (index[i] == nothing) continue;
      const node one = load(nodes + index[i]);
      if (one.bound <= best || known.knows_one_as_good(one, index[i])) continue;
      ++mine;
      for (unsigned flipped = 0; flipped < 2; ++flipped) {
        node& its_child = child[2 * i + flipped];
        its_child = its.child(one, flipped);
        const problem::completion end =
            its.complete(its_child.profit, its_child.weight, its_child.level());
        its_child.bound = end.bound;
        its_child.parent = index[i];
        found[2 * i + flipped] = end.profit;
        most = max(most, end.profit);
      }
    }
    if (mine) atomicAdd(&now.looked, mine);

    // A better solution than any before?
    if (__syncthreads_or(most > best)) {
      if (most > best) atomicMax(&now.best, most);
      __syncthreads();
      best = now.best;
      if (most == best && atomicCAS(&now.finder, nothing, threadIdx.x) == nothing) {
        while (!exchange_if(&all->lock, 0u, 1u)) __nanosleep(50);
        if (best > load_relaxed(&all->best)) {
          for (unsigned i = 0; i < 2 * each; ++i) {
            if (child[i].bound < 0 || found[i] != best) continue;
            all->best_parent = child[i].parent;
            all->best_step = child[i].step;
          }
          store_relaxed(&all->best, best);
        }
        store_release(&all->lock, 0u);
      }
    }

    // Which children may lead to something better?
    unsigned at[2 * each];
    for (unsigned i = 0; i < 2 * each; ++i) {
      const bool keep = child[i].bound > best && child[i].level() < size &&
                        !known.knows_one_as_good(child[i], nothing);
      const unsigned votes = __ballot_sync(full_warp, keep);
      unsigned first = 0;
      if (votes && threadIdx.x % 32 == 0) first = atomicAdd(&now.kept, __popc(votes));
      first = __shfl_sync(full_warp, first, 0);
      at[i] = keep ? first + __popc(votes & ((1u << threadIdx.x % 32) - 1)) : nothing;
    }
    __syncthreads();
    const unsigned kept = now.kept;
    if (threadIdx.x == 0) {
      now.first = kept ? atomicAdd(&all->made, u64(kept)) : 0;
      atomicAdd(&all->pending, u64(kept) - popped);
      if (now.looked) atomicAdd(&all->looked, u64(now.looked));
    }
    __syncthreads();
    const unsigned first = unsigned(now.first);
    for (unsigned i = 0; i < 2 * each; ++i) {
      if (at[i] != nothing) nodes[first + at[i]] = child[i];
    }
    // The table may tell of them once they are there.
    fence();
    for (unsigned i = 0; i < 2 * each; ++i) {
      if (at[i] != nothing) store_relaxed(known.place(child[i]), first + at[i]);
    }
    __syncthreads();

    // Batch after batch goes into the heap, those left from before first; the rest is left again.
    const unsigned total = in_left + kept;
    for (unsigned base = 0; base < total; base += K) {
      const bool full = total - base >= K;
      const auto to = either(full, heap.carried, left);
      if (base == 0 && full) {
        for (unsigned i = threadIdx.x; i < in_left; i += threads) to.move(i, left, i);
      }
      __syncthreads();
      for (unsigned i = 0; i < 2 * each; ++i) {
        const unsigned position = in_left + at[i] - base;
        if (at[i] == nothing || in_left + at[i] < base || position >= K) continue;
        to.keys[position] = word_t(~u64(by_bound ? child[i].bound : found[i]));
        to.values[position] = first + at[i];
      }
      __syncthreads();
      if (full) insert(K);
    }
    in_left = total % K;
    __syncthreads();
  }
}

// For each level of a node, whether it flipped its item. By one thread.
extern "C" __global__ void branch_and_bound_path(const node* nodes, unsigned parent, unsigned step,
                                                 unsigned char* flips) {
  while (step > 1) {
    flips[step / 2 - 1] = step % 2;
    step = nodes[parent].step;
    parent = nodes[parent].parent;
  }
}
