// The state of one of STAR's searches, and how the blocks of its group agree on the next phase.
//
// `counters` are shared by all blocks of the group, which add to them atomically. At each barrier
// every block copies them into its snapshot (group.cuh), and its first thread decides from the
// snapshot what comes next; so all blocks take the same decision without exchanging it. What is
// read between two barriers is never what is written between them: bucket queue and far lists have
// two halves each, and a counter is set to 0 only in a phase that does not count in it.
#pragma once

#include "star_memory.cuh"
#include "star_tree.cuh"

namespace mgraph {

// The loose path that a search is to find a replacement for.
struct path_attempt {
  int slot;
  u32 order;           // its rank among the attempts of this round
  key_t bound;         // shorter paths are replacements
  length_scale scale;  // of fractional weights
};

struct search_counters {
  u32 bucket[2];          // pieces of arcs in each half of the bucket queue
  u32 far[2][2];          // vertices in each half of each side's far list
  u32 touched[2];         // labelled vertices; touched[above] begins with those of both partitions
  u32 overflows;          // vertices that did not fit into a bucket
  u32 deferred, resumed;  // marked vertices that did not fit into the queue, and those queued since
  u32 target;             // the smallest marked vertex of the partition below
  u32 attempt, abandoned;  // the attempt of the next search; whether this search is to end early
  u64 partition_arcs[2];
  key_t min_far[2][2];  // the smallest distance in each half of each side's far list
  key_t best;           // the length of the shortest path so far, or the bound
};

enum class phase { done, fill, expand };

// Where a search stands; the same in all blocks of a group, in shared memory.
struct search_status {
  search_counters snapshot;  // the counters at the last barrier
  path_attempt attempt;
  phase current;
  key_t radius[2];                       // nearer vertices have their final distance
  key_t bucket_end[2], bucket_width[2];  // distances of the current bucket
  u32 seeds;                             // the number of the partitions' vertices
  bool has_started[2], is_active[2];     // active: the side takes part in the current bucket
  int far_written[2];                    // the half of each far list that is written
  int bucket_read;                       // the half of the bucket queue that is read
  u32 pieces[2];                         // in the last bucket of each side
  u32 overflows;                         // before the current bucket
  key_t mark_lengths[marks_per_row];     // of arcs of the marks' weights, or a little less
};

// Flags: a vertex is in a side's far list; it lies on a shortest path below.
constexpr u32 is_far_above = 1, is_far_below = 2, is_marked = 4;

__device__ __forceinline__ distances load(const label* address) {
  distances loaded;
  if constexpr (sizeof(key_t) == 4) {
    const int2 pair = __ldcg((const int2*)address);
    loaded.distance[0] = pair.x, loaded.distance[1] = pair.y;
  } else {
    const longlong2 pair = __ldcg((const longlong2*)address);
    loaded.distance[0] = pair.x, loaded.distance[1] = pair.y;
  }
  return loaded;
}

__device__ __forceinline__ key_t added(key_t a, key_t b) { return a + b; }

// a - b, but at least 0.
__device__ __forceinline__ key_t saturating_difference(key_t a, key_t b) {
  return a > b ? a - b : key_t(0);
}

__device__ __forceinline__ key_t halved(key_t a) { return max(a / 2, key_t(1)); }

__device__ __forceinline__ key_t warp_min(key_t key) {
  if constexpr (sizeof(key_t) == 4) return __reduce_min_sync(all_lanes, u32(key));
  for (int distance = 16; distance; distance /= 2) {
    key = min(key, __shfl_xor_sync(all_lanes, key, distance));
  }
  return key;
}

struct search_state {
  group blocks;
  star_graph graph;
  size_t n;
  search_memory memory;                        // of this group
  shared_counters<search_counters>* counters;  // in shared memory where the group is one block
  search_status status;
  star_tree tree;       // of the query
  double first_bucket;  // the width of the first bucket, as a range of weights
  key_t min_bucket;     // the same as a length of this search

  __device__ weight_t weight(long long arc) const {
    return graph.weights ? graph.weights[arc] : weight_t(1);
  }
  __device__ arc_length_t arc_length(long long arc) const {
    return whole_length(weight(arc), status.attempt.scale);
  }

  // The arcs of some vertices that are no longer than a limit each, and perhaps more; none of a
  // vertex that is not valid. No load waits for another.
  template <int count>
  __device__ void load_rows(const bool (&valid)[count], const int (&v)[count],
                            const key_t (&limit)[count], arc_range (&arcs)[count]) const {
    if (graph.rows) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const sorted_row& row = graph.rows[valid[i] ? v[i] : 0];
        int mark = 0;
        for (int k = 0; k < marks_per_row - 1; ++k) mark += status.mark_lengths[k] < limit[i];
        arcs[i] = {row.begin, row.counts[mark]};
      }
    } else {
      long long end[count];
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const long long* const row = graph.indptr + (valid[i] ? v[i] : 0);
        arcs[i].begin = row[0];
        end[i] = row[1];
      }
#pragma unroll
      for (int i = 0; i < count; ++i) arcs[i].count = u32(end[i] - arcs[i].begin);
    }
#pragma unroll
    for (int i = 0; i < count; ++i) {
      if (!valid[i]) arcs[i].count = 0;
    }
  }
  __device__ arc_range load_row(bool valid, int v, key_t limit) const {
    arc_range arcs[1];
    load_rows<1>({valid}, {v}, {limit}, arcs);
    return arcs[0];
  }

  // Prefetch what load_rows will read of a vertex.
  __device__ void prefetch_row(int v) const {
    const void* const address =
        graph.rows ? (const void*)(graph.rows + v) : (const void*)(graph.indptr + v);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
  }

  __device__ arc_queue bucket_queue(int half) const {
    const size_t first = size_t(half) * memory.bucket_capacity;
    return {memory.bucket_vertex + first, memory.bucket_arcs + first, memory.bucket_key + first,
            memory.bucket_capacity,       &counters->bucket[half],    graph.tile};
  }
  __device__ int* far_list(int side, int half) const {
    return memory.far + size_t(2 * side + half) * n;
  }

  // The partition that a path's lower end is in, when the attempt's path is cut out.
  __device__ int side_of(int slot) const {
    while (slot >= 0 && slot != status.attempt.slot) slot = tree.paths[slot].up;
    return slot < 0 ? above : below;
  }

  // A barrier of the group, after which the first thread of each block calls decide().
  template <class Decide> __device__ void sync_and_decide(Decide decide) {
    blocks.sync_and_read(counters, status.snapshot);
    if (threadIdx.x == 0) decide();
    __syncthreads();
  }

  // Set the counters for a new search. By one thread, before the barrier at which it begins.
  __device__ void reset_counters(key_t bound) {
    for (int i = 0; i < 2; ++i) {
      counters->bucket[i] = counters->far[0][i] = counters->far[1][i] = counters->touched[i] = 0;
      counters->min_far[0][i] = counters->min_far[1][i] = no_key;
      counters->partition_arcs[i] = 0;
    }
    counters->overflows = counters->abandoned = counters->deferred = counters->resumed = 0;
    counters->target = ~0u;
    counters->best = bound;
  }

  // Give the vertices of both partitions distance 0, one warp per path, and the root.
  __device__ void seed_partitions() {
    const path_step* const steps = tree.steps();
    const int lane = threadIdx.x & 31, stride = blocks.threads() / 32;
    for (int slot = int(blocks.thread() / 32) - 1; slot < tree.slots; slot += stride) {
      if (slot < 0) {
        add_seeds(lane == 0, tree.state->root, above);
        continue;
      }
      const loose_path path = tree.paths[slot];
      if (path.vertex < 0) continue;
      const bool is_removed = slot == status.attempt.slot;
      const int size = is_removed ? 1 : path.size - 1, side = side_of(slot);
      const int first = tree.is_upward(path) || is_removed ? path.start : path.start + 1;
      for (int base = 0; base < size; base += 32) {
        const int i = base + lane;
        const int v = is_removed ? path.vertex : i < size ? steps[first + i].vertex : 0;
        add_seeds(i < size, v, side);
      }
    }
    // Arcs of a mark's length may weigh more than the mark, where lengths are rounded up.
    if (graph.rows && threadIdx.x < marks_per_row) {
      const weight_t mark = graph.row_marks[threadIdx.x];
      status.mark_lengths[threadIdx.x] =
          key_t(whole_length(mark, status.attempt.scale)) - (whole_weights ? 0 : 1);
    }
    if (threadIdx.x > 0) return;
    double width = first_bucket;
    if constexpr (!whole_weights) width = status.attempt.scale.scaled(width);
    min_bucket = key_t(fmax(1.0, fmin(width, double(status.attempt.bound))));
    status.bucket_read = 0;
    status.overflows = 0;
    for (int side = 0; side < 2; ++side) {
      status.radius[side] = 0;
      status.bucket_width[side] = min_bucket;
      status.pieces[side] = 1;
      status.has_started[side] = status.is_active[side] = false;
      status.far_written[side] = 0;
    }
  }

  // Put one vertex per lane into a partition. By all lanes of a warp.
  __device__ void add_seeds(bool valid, int v, int side) {
    const u32 mask = __ballot_sync(all_lanes, valid), lane = threadIdx.x & 31;
    const u32 arcs =
        __reduce_add_sync(all_lanes, valid ? u32(graph.indptr[v + 1] - graph.indptr[v]) : 0);
    u32 place = 0;
    if (lane == 0) {
      place = atomicAdd(&counters->touched[above], __popc(mask));
      atomicAdd(&counters->partition_arcs[side], u64(arcs));
    }
    place = __shfl_sync(all_lanes, place, 0) + __popc(mask & ((1u << lane) - 1));
    if (!valid) return;
    memory.touched[place] = v;
    memory.labels[v].distance[side] = 0;
  }

  // Reset the labels of all touched vertices.
  __device__ void reset_labels() {
    for (int side = 0; side < 2; ++side) {
      const u32 count = status.snapshot.touched[side];
      for (u32 i = blocks.thread(); i < count; i += blocks.threads()) {
        const int v = fresh(&memory.touched[side * n + i]);
        memory.labels[v] = {{{no_key, no_key}}};
      }
    }
  }

  // Call f(valid, head, length, head_label, side, tail_key) for the arcs of the vertices in the
  // bucket, `arcs_per_lane` arcs per lane, by all lanes of a warp. Arcs that lead farther than a
  // side's limit are not valid, nor are those of a vertex whose distance has changed since.
  template <class F> __device__ void for_each_arc(const distances& limits, F f) {
    const int half = status.bucket_read, tile = graph.tile;
    const arc_queue queue = bucket_queue(half);
    const u32 count = min(status.snapshot.bucket[half], memory.bucket_capacity);
    const int lane = threadIdx.x & 31, in_tile = lane & (tile - 1);
    if (blocks.is_leader()) counters->bucket[half] = 0;  // all blocks have the count already
    for (u32 base = blocks.thread() / 32 * (32 / tile); base < count;
         base += blocks.threads() / tile) {
      const u32 i = base + lane / tile;
      const arc_piece piece = i < count ? queue.at(i) : arc_piece{0, 0, 0, 0};
      const int side = piece.vertex < 0 ? below : above;
      const int tail = piece.vertex < 0 ? ~piece.vertex : piece.vertex;
      const key_t tail_key = piece.count ? load(&memory.labels[tail]).of(side) : piece.key;
      bool valid[arcs_per_lane];
      int head[arcs_per_lane];
      arc_length_t length[arcs_per_lane];
      distances head_label[arcs_per_lane];
#pragma unroll
      for (int k = 0; k < arcs_per_lane; ++k) {
        const int arc = k * tile + in_tile;
        valid[k] = arc < piece.count;
        head[k] = valid[k] ? graph.indices[piece.begin + arc] : 0;
        length[k] = valid[k] ? arc_length(piece.begin + arc) : arc_length_t(0);
      }
#pragma unroll
      for (int k = 0; k < arcs_per_lane; ++k) {
        valid[k] =
            valid[k] && tail_key == piece.key && extended(piece.key, length[k]) <= limits.of(side);
        head_label[k] = valid[k] ? load(&memory.labels[head[k]]) : distances{{no_key, no_key}};
      }
      f(valid, head, length, head_label, side, piece.key);
    }
  }
};

}  // namespace mgraph
