// Shortest paths by a frontier, the nearest of whose vertices a heap picks where there are many:
// heap_search_gpu.py explains the method. path_length.cuh says what the host defines, and also
//   MGRAPH_NODE     keys a node of the heaps, a power of two
//   MGRAPH_THREADS  threads a block, a power of two, at most as many
//   MGRAPH_LARGE    arcs of a vertex beyond which all blocks share them
// All blocks of a launch must be resident, since they wait for each other.

#include <mgraph/clock.cuh>
#include <mgraph/grid_barrier.cuh>
#include <mgraph/heap.cuh>
#include <mgraph/path_length.cuh>

using namespace mgraph;

using u64 = unsigned long long;
using word_t = unsigned_of<sizeof(key_t)>::type;
constexpr unsigned K = MGRAPH_NODE, threads = MGRAPH_THREADS, warps = (threads + 31) / 32;
constexpr unsigned each = K / threads, full_warp = 0xFFFFFFFFu;
using block_of_heap = heap_block<word_t, unsigned, K, threads>;

// What became of an iteration, all blocks together.
struct iteration_sums {
  unsigned updated, large;  // vertices that wait for the next one, and for all blocks
  unsigned picked, unused;  // by the heaps
  u64 expanded, arcs, pushed, popped;
};

struct search_graph {
  const long long* indptr;
  const int* indices;
  const weight_t* weights;  // null: every weight is 1
};

// A block's part in a search.
class block_search {
 public:
  struct scratch {
    long long begin[threads];  // of each thread's vertex: its first arc, how many arcs the vertices
    unsigned start[threads];   // before it have, and its distance
    key_t key[threads];
    unsigned warp_total[warps];
    int staged[warps][64];  // vertices on their way to the list
    key_t bound;
    unsigned expanded;
  };

  __device__ block_search(const search_graph& graph, key_t* distance, unsigned* stamps,
                          scratch& s)
      : graph(graph), distance(distance), stamps(stamps), s(s) {}

  // Where what is found in this iteration goes, and the longest path worth while.
  __device__ void begin(unsigned round, int* updated, int* large, iteration_sums* sums,
                        key_t most) {
    this->round = round;
    this->updated = updated;
    this->large = large;
    this->sums = sums;
    bound = most;
    arcs = 0;
    staged = 0;
    if (threadIdx.x == 0) s.expanded = 0;
    __syncthreads();
  }

  // By all threads, a vertex each perhaps. Expands those within the bound.
  __device__ void expand(int v, bool there) {
    const key_t key = there ? fresh(&distance[v]) : no_key;
    there = there && key <= bound;
    const long long first = there ? graph.indptr[v] : 0;
    long long degree = there ? graph.indptr[v + 1] - first : 0;
    if (degree > MGRAPH_LARGE) {
      large[atomicAdd(&sums->large, 1u)] = v;
      degree = 0;
    } else if (there) {
      atomicAdd(&s.expanded, 1u);
    }
    const unsigned before = sum_before(unsigned(degree));
    s.begin[threadIdx.x] = first;
    s.start[threadIdx.x] = before;
    s.key[threadIdx.x] = key;
    __syncthreads();
    const unsigned all = total();
    for (unsigned base = 0; base < all; base += threads) {
      const unsigned position = base + threadIdx.x;
      unsigned owner = 0;  // the last that begins at the position, or before: the others are empty
      for (unsigned step = threads / 2; step; step /= 2) {
        if (s.start[owner + step] <= position) owner += step;
      }
      relax(s.key[owner], s.begin[owner] + (position - s.start[owner]), position < all);
    }
    if (threadIdx.x == 0) arcs += all;
    __syncthreads();
  }

  // All blocks share the arcs of a vertex of many.
  __device__ void expand_large(int v) {
    const key_t key = fresh(&distance[v]);  // which may become less: threads need not agree
    const long long first = graph.indptr[v], end = graph.indptr[v + 1];
    const long long stride = (long long)gridDim.x * threads;
    for (long long base = first + blockIdx.x * threads; base < end; base += stride) {
      const long long arc = base + threadIdx.x;
      relax(key, arc, arc < end && key <= bound);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      arcs += end - first;
      ++s.expanded;
    }
  }

  // What is left goes to the list, and what was done to the sums.
  __device__ void finish() {
    flush();
    __syncthreads();
    if (threadIdx.x == 0) {
      if (s.expanded) atomicAdd(&sums->expanded, u64(s.expanded));
      if (arcs) atomicAdd(&sums->arcs, arcs);
    }
  }

  // The tentative distance of the targets, of the nearest or the farthest: longer paths are of no
  // use. No target: `most`.
  __device__ key_t target_bound(const int* targets, int count, bool first, key_t most) {
    if (!count) return most;
    if (threadIdx.x == 0) s.bound = first ? no_key : 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += threads) {
      const key_t key = fresh(&distance[targets[i]]);
      if (first) {
        atomicMin(&s.bound, key);
      } else {
        atomicMax(&s.bound, key);
      }
    }
    __syncthreads();
    return min(most, s.bound);
  }

  // By whole warps, a vertex each perhaps: they wait for the next iteration, if they do not yet.
  __device__ void keep(int v, bool there) {
    there = there && atomicExch(&stamps[v], round) != round;
    const unsigned found = __ballot_sync(full_warp, there), lane = threadIdx.x % 32;
    if (there) s.staged[threadIdx.x / 32][staged + __popc(found & ((1u << lane) - 1))] = v;
    staged += __popc(found);
    __syncwarp();
    if (staged > 32) flush();
  }

 private:
  const search_graph graph;
  key_t* const distance;
  unsigned* const stamps;  // of each vertex, the last iteration that has updated it
  scratch& s;
  unsigned round;
  int *updated, *large;
  iteration_sums* sums;
  key_t bound;
  u64 arcs;
  unsigned staged;  // of the warp

  // By whole warps: an arc each perhaps.
  __device__ void relax(key_t from, long long arc, bool there) {
    bool nearer = false;
    int v = 0;
    if (there) {
      v = graph.indices[arc];
      const key_t key = extended(from, graph.weights ? graph.weights[arc] : weight_t(1));
      nearer = key <= bound && key < fresh(&distance[v]) && key < atomicMin(&distance[v], key);
    }
    keep(v, nearer);
  }

  __device__ void flush() {
    if (!staged) return;
    const unsigned lane = threadIdx.x % 32;
    unsigned first = 0;
    if (lane == 0) first = atomicAdd(&sums->updated, staged);
    first = __shfl_sync(full_warp, first, 0);
    for (unsigned i = lane; i < staged; i += 32) {
      updated[first + i] = s.staged[threadIdx.x / 32][i];
    }
    __syncwarp();
    staged = 0;
  }

  // The sum of the values of the threads before this one.
  __device__ unsigned sum_before(unsigned value) {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned sum = value;
    for (unsigned step = 1; step < 32; step *= 2) {
      const unsigned other = __shfl_up_sync(full_warp, sum, step);
      if (lane >= step) sum += other;
    }
    if (lane == 31) s.warp_total[warp] = sum;
    __syncthreads();
    unsigned before = sum - value;
    for (unsigned w = 0; w < warp; ++w) before += s.warp_total[w];
    return before;
  }
  __device__ unsigned total() const {
    unsigned all = 0;
    for (unsigned w = 0; w < warps; ++w) all += s.warp_total[w];
    return all;
  }
};

// The search. updated: two lists of n vertices, in the first of which are the sources, as
// sums[0].updated says; their distances are 0. large: two lists, too. sums: three, all 0 but for
// that. heaps: how many, each of `capacity` nodes; `most_waiting` vertices fit into all together.
// many: up to so many vertices are expanded without a heap; `pops` batches are about as many.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    heap_search(const long long* indptr, const int* indices, const weight_t* weights, long long n,
                key_t* distance, unsigned* stamps, int* updated, int* large, long long most_large,
                word_t* keys, unsigned* values, heap_word* words, heap_counts* counts,
                unsigned heaps, unsigned capacity, unsigned places, u64 most_waiting,
                unsigned many, unsigned pops, const int* targets, int target_count, int first_target,
                key_t cutoff, iteration_sums* sums, u64* arrived, double* trace, u64 trace_rows,
                u64* iterations) {
  extern __shared__ __align__(16) u64 shared[];
  const auto heap_number = [&](unsigned i) {
    const u64 row = u64(i % heaps) * (places + block_of_heap::memory::spare_rows);
    __syncthreads();
    return block_of_heap({keys + row * K, values + row * K, words + row, counts + i % heaps,
                          capacity, places},
                         *reinterpret_cast<block_of_heap::scratch*>(shared));
  };
  block_search search({indptr, indices, weights}, distance, stamps,
                      *reinterpret_cast<block_search::scratch*>(
                          shared + (sizeof(block_of_heap::scratch) + 15) / 16 * 2));
  grid_barrier barrier{arrived, 0};
  u64 in_heaps = 0;
  for (unsigned round = 0;; ++round) {
    const iteration_sums& last = sums[round % 3];
    unsigned found = fresh(&last.updated);
    const unsigned hubs = fresh(&last.large);
    in_heaps += fresh(&last.pushed) - fresh(&last.popped);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
      sums[(round + 2) % 3] = {};
      if (trace && round < trace_rows) {  // the first tells of the sources
        double* const row = trace + u64(round) * 5;
        row[0] = double(fresh(&last.expanded));
        row[1] = double(fresh(&last.arcs));
        row[2] = found;
        row[3] = double(in_heaps);
        row[4] = double(nanoseconds());
      }
    }
    if (!found && !hubs && !in_heaps) {
      if (blockIdx.x == 0 && threadIdx.x == 0) *iterations = round;
      return;
    }
    int* const list = updated + round % 2 * n;
    int* const hub_list = large + round % 2 * most_large;
    iteration_sums& now = sums[(round + 1) % 3];
    search.begin(round + 1, updated + (round + 1) % 2 * n, large + (round + 1) % 2 * most_large,
                 &now, search.target_bound(targets, target_count, first_target, cutoff));
    const bool at_once = (!in_heaps && found <= many) || in_heaps + found > most_waiting;
    if (!at_once) {
      // Into the heaps, K vertices at a time; then the nearest out of them.
      for (u64 i = blockIdx.x; i * K < found; i += gridDim.x) {
        block_of_heap heap = heap_number(i + round);
        const unsigned count = unsigned(min(u64(K), found - i * K));
        for (unsigned j = threadIdx.x; j < count; j += threads) {
          const int v = fresh(&list[i * K + j]);
          heap.carried.keys[j] = word_t(fresh(&distance[v]));
          heap.carried.values[j] = unsigned(v);
        }
        __syncthreads();
        heap.sort(count);
        const bool done = heap.insert(count, true).done;
        if (threadIdx.x == 0 && done) atomicAdd(&now.pushed, u64(count));
        for (unsigned j = 0; j < each && !done; ++j) {  // the heap is full
          const unsigned at = threadIdx.x + j * threads;
          search.keep(at < count ? int(heap.carried.values[at]) : 0, at < count);
        }
      }
      barrier.wait();
      for (unsigned i = blockIdx.x; i < pops; i += gridDim.x) {
        block_of_heap heap = heap_number(i + round);
        const unsigned popped = heap.remove().count;
        if (threadIdx.x == 0 && popped) atomicAdd(&now.popped, u64(popped));
        for (unsigned j = threadIdx.x; j < popped; j += threads) {
          const int v = int(heap.carried.values[j]);
          // One that has come nearer since waits at that distance, too, or was expanded.
          const bool current = fresh(&distance[v]) == key_t(heap.carried.keys[j]);
          if (current) list[atomicAdd(&now.picked, 1u)] = v;
        }
      }
      barrier.wait();
      found = fresh(&now.picked);
    }
    for (unsigned i = 0; i < hubs; ++i) search.expand_large(fresh(&hub_list[i]));
    const unsigned end = unsigned(u64(found) * (blockIdx.x + 1) / gridDim.x);
    for (unsigned begin = unsigned(u64(found) * blockIdx.x / gridDim.x); begin < end;
         begin += threads) {
      const bool there = begin + threadIdx.x < end;
      search.expand(there ? fresh(&list[begin + threadIdx.x]) : 0, there);
    }
    search.finish();
    barrier.wait();
  }
}
