// The synchronous heap, to compare the concurrent one with (He, Agarwal, Prasad, HiPC 2012):
// operations go down level by level, all levels in step; synchronous_heap_gpu.py explains the
// method.
//
// Reading order: synchronous_heap_run, at the end, is the pipeline: in a cycle it begins one
// operation at the root, then advances those at even levels, then those at odd levels, with a
// barrier of all blocks after each. synchronous_heap::step advances the operation at one level by
// one node: `insert` merges on the way to the target, `sink` replaces a node's keys after a
// deletion. Block b advances levels 2 b and 2 b + 1. A step reads its level's operation and row of
// keys and writes those of the next level, which is at rest meanwhile. Cost: two barriers per
// insertion, three per deletion, and between them the slowest level's merge.
//
// The host defines MGRAPH_KEY_T, MGRAPH_NODE and MGRAPH_THREADS as for batch_heap.cu. All blocks of
// a launch must be resident.

#include <mgraph/grid_barrier.cuh>
#include <mgraph/heap_memory.cuh>
#include <mgraph/sorted_items.cuh>

using namespace mgraph;

using word_t = MGRAPH_KEY_T;
using u64 = unsigned long long;
using list = items<word_t, no_value>;
constexpr unsigned K = MGRAPH_NODE, threads = MGRAPH_THREADS, root = 1;

enum operation_type : unsigned { no_operation, insertion, deletion };

// The operation that has come to a node of a level; it carries the K keys in the level's row.
struct level_operation {
  unsigned type, node, target;
};

// The heap's arrays, and the row of keys and the operation of each level. The rows have one level
// more, for operations that are done. `present` and the levels' types are 0 at the launch.
struct synchronous_heap_arrays {
  word_t* keys;
  unsigned* present;  // per node: whether it has keys
  unsigned places;
  word_t* rows;
  level_operation* levels;
  unsigned depth;  // levels
  u64* arrived;    // of the grid barrier, 0 at the launch
};

// Operation j inserts the K sorted keys at keys + j * K if sizes[j] is not 0; otherwise it deletes
// K keys, which there must be, and writes them there.
struct operation_list {
  const unsigned* sizes;
  word_t* keys;
  u64 count;
};

constexpr unsigned scratch_lists = 3;

class synchronous_heap {
 public:
  struct scratch {
    word_t keys[scratch_lists][K];
  };

  __device__ synchronous_heap(const synchronous_heap_arrays& arrays, scratch& s)
      : keys(arrays.keys), present(arrays.present), places(arrays.places), rows(arrays.rows),
        levels(arrays.levels), carried{s.keys[0], nullptr}, left{s.keys[1], nullptr},
        right{s.keys[2], nullptr} {}

  // Begins to insert K sorted keys as the `nodes`-th node.
  __device__ void begin_insertion(unsigned nodes, const word_t* new_keys) {
    load(carried, new_keys);
    begin({insertion, root, bit_reversed_place(nodes)});
  }

  // Deletes the root's keys; those of the last node, the `nodes`-th, begin to sink from there. An
  // operation may still be carrying them, to that node or from it: then it ends.
  __device__ void begin_deletion(unsigned nodes, word_t* deleted_keys) {
    load(carried, node_keys(root));
    store(deleted_keys, carried);
    const unsigned last = bit_reversed_place(nodes);
    __syncthreads();
    if (last == root) {
      if (threadIdx.x == 0) present[root] = 0;
      return;
    }
    int carrier = -1;
    // Between two cycles all operations are at even levels.
    for (int at = 2; at <= int(level(last)); at += 2) {
      const unsigned type = fresh(&levels[at].type);
      const unsigned node = fresh(type == insertion ? &levels[at].target : &levels[at].node);
      if (type != no_operation && node == last) carrier = at;
    }
    load(carried, carrier < 0 ? node_keys(last) : rows + carrier * K);
    if (threadIdx.x == 0) {
      present[last] = 0;
      if (carrier >= 0) levels[carrier].type = no_operation;
    }
    begin({deletion, root, 0});
  }

  // Advances the operation at a level to the next level.
  __device__ void step(unsigned at) {
    const level_operation operation{fresh(&levels[at].type), fresh(&levels[at].node),
                                    fresh(&levels[at].target)};
    if (operation.type == no_operation) return;
    load(carried, rows + at * K);
    const unsigned next = operation.type == insertion ? insert(operation) : sink(operation.node);
    if (next) store(rows + (at + 1) * K, carried);
    __syncthreads();
    if (threadIdx.x == 0) {
      levels[at].type = no_operation;
      if (next) levels[at + 1] = {operation.type, next, operation.target};
    }
    __syncthreads();
  }

 private:
  word_t* const keys;
  unsigned* const present;
  const unsigned places;
  word_t* const rows;
  level_operation* const levels;
  const list carried, left, right;

  __device__ void begin(const level_operation& operation) {
    store(rows, carried);
    __syncthreads();
    if (threadIdx.x == 0) levels[0] = operation;
    __syncthreads();
  }

  __device__ word_t* node_keys(unsigned node) const { return keys + u64(node) * K; }
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

  // Merges what is carried with a node on the path. Returns the next node for the larger keys, or 0
  // if they are at the target.
  __device__ unsigned insert(const level_operation& operation) {
    if (operation.node == operation.target) {
      store(node_keys(operation.node), carried);
      __syncthreads();
      if (threadIdx.x == 0) present[operation.node] = 1;
      return 0;
    }
    load(left, node_keys(operation.node));
    order(left, carried);
    store(node_keys(operation.node), left);
    return child_towards(operation.target, operation.node);
  }

  // Puts what is carried, or smaller keys of the node's children, into the node. Returns the child
  // to which the larger keys sink, or 0 if none do.
  __device__ unsigned sink(unsigned node) {
    const unsigned child = 2 * node;
    const bool has_left = child <= places && fresh(&present[child]);
    const bool has_right = child < places && fresh(&present[child + 1]);
    if (has_left) load(left, node_keys(child));
    if (has_right) load(right, node_keys(child + 1));
    if ((!has_left || in_order(carried, left)) && (!has_right || in_order(carried, right))) {
      store(node_keys(node), carried);
      return 0;
    }
    unsigned way = has_left ? 0 : 1;
    if (has_left && has_right) way = left.keys[K - 1] > right.keys[K - 1];
    const list up = select(way, right, left), down = select(way, left, right);
    if (has_left && has_right) {
      order(up, down);
      store(node_keys(child + 1 - way), down);
    }
    order(up, carried);
    store(node_keys(node), up);
    return child + way;
  }
};

// Runs operations one after another. A cycle advances even levels, then odd levels; before them a
// deletion begins, alone.
extern "C" __global__ void __launch_bounds__(MGRAPH_THREADS)
    synchronous_heap_run(__grid_constant__ const synchronous_heap_arrays arrays,
                         __grid_constant__ const operation_list operations) {
  extern __shared__ __align__(16) u64 shared[];
  synchronous_heap heap(arrays, *reinterpret_cast<synchronous_heap::scratch*>(shared));
  grid_barrier barrier{arrays.arrived, 0};
  const unsigned depth = arrays.depth;
  const bool is_root_block = blockIdx.x == 0;
  unsigned nodes = 0;
  for (u64 j = 0; j < operations.count + depth / 2; ++j) {
    if (j < operations.count && operations.sizes[j]) {
      ++nodes;
      if (is_root_block) heap.begin_insertion(nodes, operations.keys + j * K);
    } else if (j < operations.count) {
      if (is_root_block) heap.begin_deletion(nodes, operations.keys + j * K);
      --nodes;
      barrier.wait();
    }
    for (unsigned parity = 0; parity < 2; ++parity) {
      for (unsigned at = 2 * blockIdx.x + parity; at < depth; at += 2 * gridDim.x) heap.step(at);
      barrier.wait();
    }
  }
}
