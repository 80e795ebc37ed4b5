// The stages of a near-far search as the paper has them, a kernel each, for the paper's controller,
// which runs on the CPU between them (paper_search_gpu.py): S. Karamati, J. Young, R. Vuduc, "An
// energy-efficient single-source shortest path algorithm" (IPDPS 2018), sections 3.1 and 4.6.
// near_far.cu is the fast search.
//
//   paper_begin    the sources are the frontier
//   paper_advance  advance and filter: each block relaxes about as many arcs of the frontier, and
//                  the vertices that this improves are listed, each once
//   paper_bisect   bisect-frontier: they go to the next frontier, or to a partition of the far
//                  queue; also the rebalancer, where the threshold falls
//   paper_take     bisect-far-queue, and the rebalancer, where the threshold rises: a partition's
//                  vertices within the threshold go to the frontier, and the others stay
//   paper_nearest  the distances of the nearest queued vertex, and of the targets
//
// A frontier is a list of vertices, each with the number of the first of its arcs among those of
// the frontier. Both come from one word that counts vertices and arcs at a time, so that the list
// ascends by arcs, and a thread finds the vertex of an arc by bisection.
//
// A partition of the far queue is a list to which vertices are appended; place[v] says where v is.
// Entries that place[v] does not name are stale. A list has room for 2·n entries, and the host has
// one read (paper_take) before it could be full. Reading writes to the list's other side, which
// place[v] tells apart.
//
// Cost: 12 to 20 bytes per arc relaxed, and about 40 per vertex that is improved or taken; three
// launches and one copy to the host per iteration.
#include <mgraph/fresh.cuh>
#include <mgraph/path_length.cuh>
#include <mgraph/warp.cuh>

namespace mgraph {

using u32 = unsigned;
using u64 = unsigned long long;

constexpr int threads = 256;
constexpr int tile_arcs = 1024;  // that a block relaxes at a time
constexpr u32 all_lanes = 0xFFFFFFFF;
constexpr int arc_bits = 33;  // of a frontier's word; above them the vertices
constexpr u64 nowhere = ~u64(0);

// What the host reads after an iteration's bisect-frontier.
enum counter {
  frontier_word,  // of the two frontiers in turn
  updated_count = 2,
  update_count,  // how often a distance was improved
  max_updated,
  above_min_queued,  // the complement of min_queued, so that 0 is the start of all counters
  list_length,       // of the two sides of the two partitions, stale entries included
  far_size = 10,     // of the two partitions
  counters = 12      // behind them: the distances of the targets
};

struct graph {
  const long long* indptr;
  const int* indices;
  const weight_t* weights;  // null: each is 1
};

// Of a search on n vertices.
struct search_memory {
  key_t* distance;
  u32* updated_in;  // the last iteration that improved each vertex, counted from 1
  int* updated;     // the vertices that this one improved
  int* frontier;    // two of n
  u64* first_arc;   // of the frontiers' vertices
  int* far;         // two sides of two partitions of 2·n
  u64* place;       // of each vertex in far, with its partition and side in the lowest bits
  u64* count;       // [counters]
  long long n;
};

__device__ u64 place_of(u64 index, int partition, int side) {
  return index << 2 | u64(side << 1 | partition);
}

__device__ double as_double(key_t key) { return double(as_length(key)); }

// The thread's number in the grid, and the grid's threads.
__device__ long long first_item() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long stride() { return (long long)gridDim.x * blockDim.x; }

// A number of its own for each lane that asks, from a counter. By all lanes of a warp.
__device__ u64 reserve(u64* count, bool asks) {
  const u32 asking = __ballot_sync(all_lanes, asks);
  u64 first = 0;
  if (asking && (threadIdx.x & 31) == 0) first = atomicAdd(count, u64(__popc(asking)));
  return __shfl_sync(all_lanes, first, 0) + __popc(asking & lanes_below());
}

__device__ int* far_list(const search_memory& memory, int partition, int side) {
  return memory.far + size_t(2 * partition + side) * 2 * memory.n;
}

__device__ u64* far_length(const search_memory& memory, int partition, int side) {
  return &memory.count[list_length + 2 * partition + side];
}

// Append vertices to a frontier. By all lanes of a warp.
__device__ void append(const graph& graph_, const search_memory& memory, int which, bool has_vertex,
                       int v) {
  const u32 lane = threadIdx.x & 31;
  const u64 degree = has_vertex ? u64(graph_.indptr[v + 1] - graph_.indptr[v]) : 0;
  u64 counted = u64(has_vertex) << arc_bits | degree, through = counted;
  for (int step = 1; step < 32; step *= 2) {
    const u64 other = __shfl_up_sync(all_lanes, through, step);
    if (int(lane) >= step) through += other;
  }
  u64 first = 0;
  if (lane == 31 && through) first = atomicAdd(&memory.count[frontier_word + which], through);
  first = __shfl_sync(all_lanes, first, 31) + through - counted;
  if (!has_vertex) return;
  const size_t at = which * size_t(memory.n) + (first >> arc_bits);
  memory.frontier[at] = v;
  memory.first_arc[at] = first & ((u64(1) << arc_bits) - 1);
}

// The last of the vertices from low to high whose first arc is at most this one.
__device__ u32 find_vertex(const u64* first_arc, u64 arc, u32 low, u32 high) {
  while (low < high) {
    const u32 middle = high - (high - low) / 2;
    if (first_arc[middle] <= arc) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

__device__ key_t warp_max(key_t key) {
  for (int reach = 16; reach > 0; reach /= 2) {
    const key_t other = __shfl_xor_sync(all_lanes, key, reach);
    key = other > key ? other : key;
  }
  return key;
}

}  // namespace mgraph

using namespace mgraph;

extern "C" __global__ void __launch_bounds__(threads)
    paper_begin(__grid_constant__ const graph graph_, __grid_constant__ const search_memory memory,
                const int* sources, int source_count) {
  for (long long base = first_item() - (threadIdx.x & 31); base < source_count; base += stride()) {
    const long long i = base + (threadIdx.x & 31);
    const int v = i < source_count ? sources[i] : 0;
    if (i < source_count) memory.distance[v] = 0;
    append(graph_, memory, 0, i < source_count, v);
  }
}

// which: the frontier. iteration: counted from 1.
extern "C" __global__ void __launch_bounds__(threads)
    paper_advance(__grid_constant__ const graph graph_,
                  __grid_constant__ const search_memory memory, int which, u32 iteration,
                  key_t cutoff) {
  __shared__ u32 bounds[2];
  const u64 word = memory.count[frontier_word + which];
  const u64 arcs = word & ((u64(1) << arc_bits) - 1);
  const int* const frontier = memory.frontier + which * size_t(memory.n);
  const u64* const first_arc = memory.first_arc + which * size_t(memory.n);
  const u32 last = u32(word >> arc_bits) - 1;
  u32 updates = 0;
  for (u64 tile = u64(blockIdx.x) * tile_arcs; tile < arcs; tile += u64(gridDim.x) * tile_arcs) {
    const u64 end = tile + tile_arcs < arcs ? tile + tile_arcs : arcs;
    __syncthreads();
    if (threadIdx.x < 2) {
      bounds[threadIdx.x] = find_vertex(first_arc, threadIdx.x ? end - 1 : tile, 0, last);
    }
    __syncthreads();
    for (u64 base = tile; base < end; base += blockDim.x) {
      const u64 rank = base + threadIdx.x;
      bool improves = rank < end, is_first = false;
      int head = 0;
      if (improves) {
        const u32 i = find_vertex(first_arc, rank, bounds[0], bounds[1]);
        const int tail = frontier[i];
        const long long arc = graph_.indptr[tail] + (long long)(rank - first_arc[i]);
        head = graph_.indices[arc];
        const weight_t weight = graph_.weights ? graph_.weights[arc] : weight_t(1);
        const key_t key = extended(fresh(&memory.distance[tail]), weight);
        improves = key <= cutoff && key < fresh(&memory.distance[head]) &&
                   key < atomicMin(&memory.distance[head], key);
        updates += improves;
        is_first = improves && atomicExch(&memory.updated_in[head], iteration) != iteration;
      }
      const u64 at = reserve(&memory.count[updated_count], is_first);
      if (is_first) memory.updated[at] = head;
    }
  }
  updates = __reduce_add_sync(all_lanes, updates);
  if (updates && (threadIdx.x & 31) == 0) atomicAdd(&memory.count[update_count], u64(updates));
}

// Divide the vertices that were improved, or with `from` the frontier of this number, among the
// frontier `to` and the far queue. nearer: the partition of those up to `bound`. sides: that of
// each partition, a bit each.
extern "C" __global__ void __launch_bounds__(threads)
    paper_bisect(__grid_constant__ const graph graph_, __grid_constant__ const search_memory memory,
                 int from, int to, double threshold, double bound, int nearer, int sides) {
  const long long count = from < 0 ? (long long)memory.count[updated_count]
                                   : (long long)(memory.count[frontier_word + from] >> arc_bits);
  const int* const vertices = from < 0 ? memory.updated : memory.frontier + from * size_t(memory.n);
  key_t farthest = 0;
  for (long long base = first_item() - (threadIdx.x & 31); base < count; base += stride()) {
    const long long i = base + (threadIdx.x & 31);
    const bool exists = i < count;
    const int v = exists ? vertices[i] : 0;
    const key_t key = exists ? memory.distance[v] : key_t(0);
    const u64 place = exists ? memory.place[v] : nowhere;
    const bool near = exists && as_double(key) <= threshold;
    const int partition = as_double(key) <= bound ? nearer : 1 - nearer;
    const bool was_far = place != nowhere;
    const bool moves = exists && !near && !(was_far && int(place & 1) == partition);
    const bool leaves = was_far && (near || moves);
    farthest = key > farthest ? key : farthest;
    append(graph_, memory, to, near, v);
    for (int p = 0; p < 2; ++p) {
      const bool comes = moves && partition == p;
      const int side = sides >> p & 1;
      const u64 at = reserve(far_length(memory, p, side), comes);
      if (comes) {
        far_list(memory, p, side)[at] = v;
        memory.place[v] = place_of(at, p, side);
      }
      const u32 coming = __ballot_sync(all_lanes, comes);
      const u32 leaving = __ballot_sync(all_lanes, leaves && int(place & 1) == p);
      if ((coming | leaving) && (threadIdx.x & 31) == 0) {
        atomicAdd(&memory.count[far_size + p], u64(__popc(coming)) - u64(__popc(leaving)));
      }
    }
    if (near && was_far) memory.place[v] = nowhere;
  }
  farthest = warp_max(farthest);
  if (farthest > 0 && (threadIdx.x & 31) == 0) {
    atomicMax((long long*)&memory.count[max_updated], (long long)farthest);
  }
}

// Read a partition's list on a side: what lies within the threshold goes to the frontier `to`, and
// the rest to the other side, whose length is 0.
extern "C" __global__ void __launch_bounds__(threads)
    paper_take(__grid_constant__ const graph graph_, __grid_constant__ const search_memory memory,
               int partition, int side, double threshold, int to) {
  const long long length = (long long)*far_length(memory, partition, side);
  const int* const vertices = far_list(memory, partition, side);
  int* const kept = far_list(memory, partition, 1 - side);
  for (long long base = first_item() - (threadIdx.x & 31); base < length; base += stride()) {
    const long long i = base + (threadIdx.x & 31);
    const int v = i < length ? vertices[i] : 0;
    const bool is_current = i < length && memory.place[v] == place_of(u64(i), partition, side);
    const bool near = is_current && as_double(memory.distance[v]) <= threshold;
    if (near) memory.place[v] = nowhere;
    append(graph_, memory, to, near, v);
    const u64 at = reserve(far_length(memory, partition, 1 - side), is_current && !near);
    if (is_current && !near) {
      kept[at] = v;
      memory.place[v] = place_of(at, partition, 1 - side);
    }
    const u32 leaving = __ballot_sync(all_lanes, near);
    if (leaving && (threadIdx.x & 31) == 0) {
      atomicAdd(&memory.count[far_size + partition], ~u64(__popc(leaving)) + 1);
    }
  }
}

// Find the distance of the nearest vertex of a frontier and of the far queue, and list those of the
// targets.
extern "C" __global__ void __launch_bounds__(threads)
    paper_nearest(__grid_constant__ const search_memory memory, int which, int sides,
                  const int* targets, int target_count) {
  key_t nearest = no_key;
  const long long count = (long long)(memory.count[frontier_word + which] >> arc_bits);
  for (long long i = first_item(); i < count; i += stride()) {
    const key_t key = memory.distance[memory.frontier[which * size_t(memory.n) + i]];
    nearest = key < nearest ? key : nearest;
  }
  for (int p = 0; p < 2; ++p) {
    const int side = sides >> p & 1;
    const int* const vertices = far_list(memory, p, side);
    const long long length = (long long)*far_length(memory, p, side);
    for (long long i = first_item(); i < length; i += stride()) {
      const int v = vertices[i];
      if (memory.place[v] != place_of(u64(i), p, side)) continue;
      nearest = memory.distance[v] < nearest ? memory.distance[v] : nearest;
    }
  }
  nearest = -warp_max(-nearest);
  if (nearest < no_key && (threadIdx.x & 31) == 0) {
    atomicMax(&memory.count[above_min_queued], ~u64(nearest));
  }
  for (long long i = first_item(); i < target_count; i += stride()) {
    memory.count[counters + i] = u64(memory.distance[targets[i]]);
  }
}
