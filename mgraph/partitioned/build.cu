// Edges to the rows of ranks; build.py explains the passes, and build_gpu.py launches the kernels.
//
//   build_survey       arcs per bucket of vertices, and edges with an invalid end
//   build_count_owners, build_divide
//                      the arcs of some edges by the owner of their tail, in any order
//   build_count_rows   arcs per row; a bit for each head that the rank does not own
//   build_count_words  the bits of each word, build_list_ghosts the positions of ghosts
//   build_place        arcs into their rows, in any order, with local numbers of their heads
//
// Rows are sorted afterwards, so that no order of atomics is seen. Cost: 2 reads of each edge, per
// arc 16 bytes at random in the rank's memory, once for its row and once for the bit of its head.

using vertex_t = MGRAPH_VERTEX_T;  // of edges
using head_t = MGRAPH_HEAD_T;      // of arcs that were sent
using weight_t = MGRAPH_WEIGHT_T;  // an integer of the weight's size
using u32 = unsigned int;
using u64 = unsigned long long;

constexpr weight_t minus_zero = weight_t(u64(1) << (8 * sizeof(weight_t) - 1));  // its bits

namespace {

__device__ long long first_item() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long stride() { return (long long)gridDim.x * blockDim.x; }

__device__ int owner_of(long long vertex, const long long* bounds, int size) {
  int low = 0, high = size - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (vertex >= bounds[middle + 1]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// A place after *cursor for each lane that asks, all lanes of a warp together; lanes with the same
// owner get neighbouring places.
__device__ u64 take_place(u64* cursors, int owner, bool asks) {
  const u32 lanes = __match_any_sync(~0u, asks ? owner : -1);
  const int lane = threadIdx.x & 31, leader = __ffs(lanes) - 1;
  u64 place = 0;
  if (asks && lane == leader) place = atomicAdd(&cursors[owner], u64(__popc(lanes)));
  return __shfl_sync(~0u, place, leader) + __popc(lanes & ((1u << lane) - 1));
}

// Calls visit(is_arc, tail, head, edge) for each arc, all lanes of a warp together.
template <class Visit>
__device__ void for_each_arc(const vertex_t* src, const vertex_t* dst, long long count,
                             bool has_mirrors, Visit visit) {
  const long long rounded = (count + 31) / 32 * 32;
  for (long long i = first_item(); i < rounded; i += stride()) {
    const bool is_edge = i < count && src[i] != dst[i];
    const long long u = is_edge ? src[i] : 0, v = is_edge ? dst[i] : 0;
    visit(is_edge, u, v, i);
    if (has_mirrors) visit(is_edge, v, u, i);
  }
}

}  // namespace

extern "C" __global__ void build_survey(const vertex_t* src, const vertex_t* dst, long long count,
                                        long long n, int shift, int has_mirrors, u64* buckets,
                                        u64* invalid) {
  for (long long i = first_item(); i < count; i += stride()) {
    const long long u = src[i], v = dst[i];
    if (u64(u) >= u64(n) || u64(v) >= u64(n)) {
      atomicAdd(invalid, 1ULL);
    } else if (u != v) {
      atomicAdd(&buckets[u >> shift], 1ULL);
      if (has_mirrors) atomicAdd(&buckets[v >> shift], 1ULL);
    }
  }
}

extern "C" __global__ void build_count_owners(const vertex_t* src, const vertex_t* dst,
                                              long long count, int has_mirrors,
                                              const long long* bounds, int size, u64* totals) {
  for_each_arc(src, dst, count, has_mirrors,
               [&](bool is_arc, long long tail, long long, long long) {
                 take_place(totals, owner_of(tail, bounds, size), is_arc);
               });
}

// cursors: where the arcs of each owner begin. weights: null if none are sent.
extern "C" __global__ void build_divide(const vertex_t* src, const vertex_t* dst,
                                        const weight_t* weights, long long count, int has_mirrors,
                                        const long long* bounds, int size, u64* cursors, u32* tails,
                                        head_t* heads, weight_t* sent) {
  for_each_arc(src, dst, count, has_mirrors,
               [&](bool is_arc, long long tail, long long head, long long edge) {
                 const int owner = owner_of(tail, bounds, size);
                 const u64 place = take_place(cursors, owner, is_arc);
                 if (!is_arc) return;
                 tails[place] = u32(tail - bounds[owner]);
                 heads[place] = head_t(head);
                 if (weights) sent[place] = weights[edge];
               });
}

// is_ghost: a bit per vertex of the graph.
extern "C" __global__ void build_count_rows(const u32* tails, const head_t* heads, long long count,
                                            long long first, long long owned, u64* degree,
                                            u32* is_ghost) {
  for (long long i = first_item(); i < count; i += stride()) {
    atomicAdd(&degree[tails[i]], 1ULL);
    const u64 head = u64(heads[i]);
    if (head - u64(first) < u64(owned)) continue;
    const u32 bit = 1u << (head & 31);
    if (!(is_ghost[head / 32] & bit)) atomicOr(&is_ghost[head / 32], bit);
  }
}

extern "C" __global__ void build_count_words(const u32* is_ghost, long long words, u64* counts) {
  for (long long i = first_item(); i < words; i += stride()) counts[i] = __popc(is_ghost[i]);
}

// before: the ghosts in earlier words.
extern "C" __global__ void build_list_ghosts(const u32* is_ghost, long long words,
                                             const u64* before, const long long* bounds, int size,
                                             u32* ghosts) {
  for (long long i = first_item(); i < words; i += stride()) {
    u64 place = before[i];
    for (u32 word = is_ghost[i]; word; word &= word - 1) {
      const long long vertex = 32 * i + __ffs(word) - 1;
      ghosts[place++] = u32(vertex - bounds[owner_of(vertex, bounds, size)]);
    }
  }
}

// below: the number of ghosts below the own vertices. -0.0 is written as 0, since rows are sorted
// by bits. An addition of 0 would also make 0 of the least floats.
extern "C" __global__ void build_place(const u32* tails, const head_t* heads,
                                       const weight_t* weights, int is_float, long long count,
                                       u64* cursors, const u32* is_ghost, const u64* before,
                                       long long first, long long owned, long long below,
                                       u32* out_heads, weight_t* out_weights) {
  for (long long i = first_item(); i < count; i += stride()) {
    const u64 head = u64(heads[i]), position = head - u64(first);
    u64 local = u64(below) + position;
    if (position >= u64(owned)) {
      const u32 earlier = is_ghost[head / 32] & ((1u << (head & 31)) - 1);
      local = before[head / 32] + __popc(earlier) + (head >= u64(first) ? owned : 0);
    }
    const u64 place = atomicAdd(&cursors[tails[i]], 1ULL);
    out_heads[place] = u32(local);
    if (!weights) continue;
    const weight_t weight = weights[i];
    out_weights[place] = is_float && weight == minus_zero ? 0 : weight;
  }
}
