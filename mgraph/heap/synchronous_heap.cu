// The synchronous heap: operations go down level by level, all in step; synchronous_heap_gpu.py
// explains the method. The host defines MGRAPH_KEY_T, MGRAPH_NODE and MGRAPH_THREADS as
// batch_heap.cu has it. All blocks of a launch must be resident.

#include <mgraph/grid_barrier.cuh>
#include <mgraph/heap_memory.cuh>
#include <mgraph/sorted_items.cuh>

using namespace mgraph;

using word_t = MGRAPH_KEY_T;
using u64 = unsigned long long;
using list = items<word_t, no_value>;
constexpr unsigned K = MGRAPH_NODE, threads = MGRAPH_THREADS, root = 1;

// What has come to a node of a level, with K keys in the level's row.
enum operation_kind : unsigned { nothing, insertion, deletion };

struct level_operation {
  unsigned kind, node, target;
};

class synchronous_heap {
 public:
  struct scratch {
    word_t keys[3][K];
  };

  __device__ synchronous_heap(word_t* keys, unsigned* there, unsigned places, word_t* rows,
                              level_operation* levels, scratch& s)
      : keys(keys), there(there), places(places), rows(rows), levels(levels),
        carried{s.keys[0], nullptr}, left{s.keys[1], nullptr}, right{s.keys[2], nullptr} {}

  // Begins to insert K sorted keys as the `nodes`-th node.
  __device__ void begin_insertion(unsigned nodes, const word_t* its) {
    load(carried, its);
    begin({insertion, root, place(nodes)});
  }

  // Deletes the root's keys; those of the last node, the `nodes`-th, begin to sink. They may be on
  // their way, there or from there: then that is over.
  __device__ void begin_deletion(unsigned nodes, word_t* its) {
    load(carried, node_at(root));
    store(its, carried);
    const unsigned last = place(nodes);
    __syncthreads();
    if (last == root) {
      if (threadIdx.x == 0) there[root] = 0;
      return;
    }
    int from = -1;
    for (int at = 2; at <= int(level(last)); at += 2) {  // where all is, between two cycles
      const unsigned kind = fresh(&levels[at].kind);
      const unsigned node = fresh(kind == insertion ? &levels[at].target : &levels[at].node);
      if (kind != nothing && node == last) from = at;
    }
    load(carried, from < 0 ? node_at(last) : rows + from * K);
    if (threadIdx.x == 0) {
      there[last] = 0;
      if (from >= 0) levels[from].kind = nothing;
    }
    begin({deletion, root, 0});
  }

  // What is at a level goes on to the next one.
  __device__ void step(unsigned at) {
    const level_operation now{fresh(&levels[at].kind), fresh(&levels[at].node),
                              fresh(&levels[at].target)};
    if (now.kind == nothing) return;
    load(carried, rows + at * K);
    const unsigned next = now.kind == insertion ? insert(now) : sink(now.node);
    if (next) store(rows + (at + 1) * K, carried);
    __syncthreads();
    if (threadIdx.x == 0) {
      levels[at].kind = nothing;
      if (next) levels[at + 1] = {now.kind, next, now.target};
    }
    __syncthreads();
  }

 private:
  word_t* const keys;
  unsigned* const there;  // for each node whether it has keys
  const unsigned places;
  word_t* const rows;
  level_operation* const levels;
  const list carried, left, right;

  __device__ void begin(const level_operation& now) {
    store(rows, carried);
    __syncthreads();
    if (threadIdx.x == 0) levels[0] = now;
    __syncthreads();
  }

  __device__ word_t* node_at(unsigned node) const { return keys + u64(node) * K; }
  __device__ static void load(const list& to, const word_t* from) {
    for (unsigned i = threadIdx.x; i < K; i += threads) to.keys[i] = __ldcg(from + i);
    __syncthreads();
  }
  __device__ static void store(word_t* to, const list& from) {
    for (unsigned i = threadIdx.x; i < K; i += threads) to[i] = from.keys[i];
  }
  __device__ static bool in_order(const list& low, const list& high) {
    return !(high.keys[0] < low.keys[K - 1]);
  }
  __device__ static void order(const list& low, const list& high) {
    if (!in_order(low, high)) merge_full_lists<K, threads>(low, high);
  }

  // The larger keys go on to the node returned; 0: all have arrived.
  __device__ unsigned insert(const level_operation& now) {
    if (now.node == now.target) {
      store(node_at(now.node), carried);
      __syncthreads();
      if (threadIdx.x == 0) there[now.node] = 1;
      return 0;
    }
    load(left, node_at(now.node));
    order(left, carried);
    store(node_at(now.node), left);
    return towards(now.target, now.node);
  }

  __device__ unsigned sink(unsigned node) {
    const unsigned child = 2 * node;
    const bool has_left = child <= places && fresh(&there[child]);
    const bool has_right = child < places && fresh(&there[child + 1]);
    if (has_left) load(left, node_at(child));
    if (has_right) load(right, node_at(child + 1));
    if ((!has_left || in_order(carried, left)) && (!has_right || in_order(carried, right))) {
      store(node_at(node), carried);
      return 0;
    }
    unsigned way = has_left ? 0 : 1;
    if (has_left && has_right) way = left.keys[K - 1] > right.keys[K - 1];
    const list up = either(way, right, left), down = either(way, left, right);
    if (has_left && has_right) {
      order(up, down);
      store(node_at(child + 1 - way), down);
    }
    order(up, carried);
    store(node_at(node), up);
    return child + way;
  }
};

// Operations one after another: number j inserts the K sorted keys at its_keys + j * K where
// sizes[j] is not 0, and else deletes K keys, which there must be, and puts them there. A cycle is
// even levels, odd levels, and before them a deletion's beginning, while nothing else goes on.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    synchronous_heap_run(word_t* keys, unsigned* there, unsigned places, word_t* rows,
                         level_operation* levels, const unsigned* sizes, u64 operations,
                         word_t* its_keys, unsigned depth, u64* arrived) {
  extern __shared__ __align__(16) u64 shared[];
  synchronous_heap heap(keys, there, places, rows, levels,
                        *reinterpret_cast<synchronous_heap::scratch*>(shared));
  grid_barrier barrier{arrived, 0};
  const bool at_root = blockIdx.x == 0;
  unsigned nodes = 0;
  for (u64 j = 0; j < operations + depth / 2; ++j) {
    if (j < operations && sizes[j]) {
      ++nodes;
      if (at_root) heap.begin_insertion(nodes, its_keys + j * K);
    } else if (j < operations) {
      if (at_root) heap.begin_deletion(nodes, its_keys + j * K);
      --nodes;
      barrier.wait();
    }
    for (unsigned parity = 0; parity < 2; ++parity) {
      for (unsigned at = 2 * blockIdx.x + parity; at < depth; at += 2 * gridDim.x) heap.step(at);
      barrier.wait();
    }
  }
}
