// The path that one of STAR's searches has found: marks on the shortest paths below, then a walk.
//
// All backends return the same of several shortest paths (star_cpu.py): from the smallest vertex of
// the partition below always on to the smallest vertex that continues a shortest path. So first all
// vertices that shortest paths have on the side below are marked, by a search backwards from where
// the two sides meet; their arcs go through the bucket queue. Then the path is walked up: on marked
// vertices while there are some, then along tight arcs of the side above, where each is on a
// shortest path anyhow. The search is over by then, so that the far lists are free: vertices that
// do not fit into the queue are deferred in the first, and the path is written to it at last.
#pragma once

#include "star_reach.cuh"

namespace mgraph {

struct path_search : bidirectional_search {
  // Mark vertices, and queue them for the next step. key: the distance below.
  __device__ void mark(bool valid, int v, key_t key) {
    valid = valid && !(atomicOr(&memory.labels[v].flags, is_marked) & is_marked);
    if (valid && key == 0) atomicMin(&counters->target, u32(v));
    queue_marked(valid && key > 0, v, key);
  }

  __device__ void queue_marked(bool valid, int v, key_t key) {
    const arc_range arcs = load_row(valid, v, key);
    const bool fits = bucket_queue(1 - status.bucket_read).push(valid, v, true, key, arcs);
    if (valid && !fits) memory.far[atomicAdd(&counters->deferred, 1u)] = v;
  }

  // Queue some of the deferred vertices, or one of many arcs; the queue is empty. By one warp.
  __device__ void resume_deferred() {
    const u32 lane = threadIdx.x & 31, first = status.snapshot.resumed;
    const bool has_vertex = first + lane < status.snapshot.deferred;
    const int v = has_vertex ? fresh(&memory.far[first + lane]) : 0;
    const bool is_small =
        has_vertex && graph.indptr[v + 1] - graph.indptr[v] <= arcs_per_lane * graph.tile;
    const u32 large = ~__ballot_sync(all_lanes, is_small);
    const u32 count = max(large ? __ffs(large) - 1 : 32, 1);
    const bool valid = lane < count && has_vertex;
    queue_marked(valid, v, valid ? load(&memory.labels[v]).distance[below] : 0);
    if (lane == 0) counters->resumed = first + count;
  }

  // Mark the vertices at which the two sides meet on shortest paths.
  __device__ void mark_meetings() {
    const u32 count = status.snapshot.touched[above];
    const key_t best = status.snapshot.best;
    for (u32 base = 0; base < count; base += blocks.threads()) {
      const u32 i = base + blocks.thread();
      const int v = i < count ? fresh(&memory.touched[i]) : 0;
      const distances v_label = i < count ? load(&memory.labels[v]) : distances{{no_key, no_key}};
      const bool is_meeting = v_label.distance[0] != no_key && v_label.distance[1] != no_key &&
                              added(v_label.distance[0], v_label.distance[1]) == best;
      if (__any_sync(all_lanes, is_meeting)) mark(is_meeting, v, v_label.distance[below]);
    }
    sync_and_decide([&]() { status.bucket_read = 1 - status.bucket_read; });
  }

  // Mark all vertices of shortest paths from the marked ones to the partition below. They are few,
  // but found step by step, so that the group's first block does it alone.
  __device__ void mark_below() {
    while (status.snapshot.bucket[status.bucket_read] > 0 ||
           status.snapshot.resumed < status.snapshot.deferred) {
      for_each_arc({{no_key, no_key}},
                   [&](bool (&valid)[arcs_per_lane], const int (&v)[arcs_per_lane],
                       const arc_length_t(&length)[arcs_per_lane],
                       const distances(&head_label)[arcs_per_lane], int, key_t tail_key) {
#pragma unroll
                     for (int i = 0; i < arcs_per_lane; ++i) {
                       const key_t rest = head_label[i].distance[below];
                       const bool is_tight =
                           valid[i] && rest < tail_key && extended(rest, length[i]) == tail_key;
                       if (__any_sync(all_lanes, is_tight)) mark(is_tight, v[i], rest);
                     }
                   });
      const bool is_idle = status.snapshot.bucket[status.bucket_read] == 0;
      if (is_idle && threadIdx.x < 32) resume_deferred();
      sync_and_decide([&]() { status.bucket_read = 1 - status.bucket_read; });
    }
  }

  __device__ bool has_mark(int v) const { return fresh(&memory.labels[v].flags) & is_marked; }

  // Follow a shortest path from the partition below to the partition above, and write its vertices
  // and weights; parallel arcs of one length count as the one of minimum weight. By one block.
  // Returns the number of vertices; 0 where the labels are not those of a shortest path.
  __device__ u32 walk(int* vertex, key_t* weight_to_next) {
    __shared__ u32 next[2];
    __shared__ key_t min_weight[2];
    __shared__ distances next_label;
    __shared__ bool next_has_mark;
    if (status.snapshot.target == ~0u) return 0;
    int x = status.snapshot.target;
    distances x_label = load(&memory.labels[x]);
    bool x_has_mark = has_mark(x);
    for (u32 length = 0; length < n; ++length) {
      if (threadIdx.x == 0) {
        vertex[length] = x;
        next[length & 1] = ~0u;
        min_weight[length & 1] = no_key;
      }
      if (x_label.distance[above] == 0) return length + 1;
      __syncthreads();
      const bool is_meeting =
          !x_has_mark || (x_label.distance[above] != no_key &&
                          added(x_label.distance[0], x_label.distance[1]) == status.snapshot.best);
      u32 smallest = ~0u;
      key_t smallest_weight = no_key;
      distances smallest_label = x_label;
      bool smallest_has_mark = false;
      // No arc is heavier than the rest of the path that it begins.
      key_t max_rest = x_has_mark ? status.snapshot.best : key_t(0);
      if (is_meeting) max_rest = max(max_rest, x_label.distance[above]);
      const arc_range arcs = load_row(true, x, max_rest);
      for (long long arc = arcs.begin + threadIdx.x; arc < arcs.begin + arcs.count;
           arc += blockDim.x) {
        const u32 u = graph.indices[arc];
        if (u > smallest) continue;
        const arc_length_t u_length = arc_length(arc);
        const distances u_label = load(&memory.labels[u]);
        const bool u_has_mark = has_mark(u);
        const bool is_tight_below =
            x_has_mark && u_has_mark && u_label.distance[below] != no_key &&
            u_label.distance[below] == extended(x_label.distance[below], u_length);
        const bool is_tight_above =
            is_meeting && u_label.distance[above] < x_label.distance[above] &&
            extended(u_label.distance[above], u_length) == x_label.distance[above];
        if (is_tight_below || is_tight_above) {
          const key_t u_weight = weight_key(weight(arc));
          smallest_weight = u == smallest ? min(smallest_weight, u_weight) : u_weight;
          prefetch_row(u);
          smallest = u;
          smallest_label = u_label;
          smallest_has_mark = u_has_mark;
        }
      }
      const u32 best = __reduce_min_sync(all_lanes, smallest);
      if ((threadIdx.x & 31) == 0 && best < ~0u) atomicMin(&next[length & 1], best);
      __syncthreads();
      if (next[length & 1] == ~0u) return 0;
      x = next[length & 1];
      if (smallest == u32(x)) {
        atomicMin(&min_weight[length & 1], smallest_weight);
        next_label = smallest_label;
        next_has_mark = smallest_has_mark;
      }
      __syncthreads();
      if (threadIdx.x == 0) weight_to_next[length] = min_weight[length & 1];
      x_label = next_label;
      x_has_mark = next_has_mark;
    }
    return 0;
  }

  // Find the shortest path after a search; it is then in this group's far lists.
  __device__ void find_path() {
    mark_meetings();
    blocks.run_on_first_block([&]() {
      mark_below();
      const u32 size = walk(far_list(above, 0), (key_t*)far_list(below, 0));
      if (threadIdx.x == 0) *memory.path_size = size;
    });
  }
};

}  // namespace mgraph
