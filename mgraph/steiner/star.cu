// STAR's searches: shortest paths between the partitions of a tree without one of its loose paths.
// star_cpu.py explains the method and how ties are decided; here Dijkstra's algorithm takes the
// vertices of a range of distances (a bucket) at a time.
//
// A group of blocks does one search after another. Of a search:
//
//   begin    the partitions' vertices have distance 0
//   fill     the vertices of the next bucket, from those that wait farther away (the far list)
//   expand   relax the arcs of the vertices in the bucket, until no more come into it
//   mark     all shortest paths' vertices on the side of the partition below
//   walk     along one of them; by the group's first block
//   reset    the labels of what was touched
//
// A place in a bucket counts only while the distance there is still the vertex's. What does not fit
// into a bucket waits far, where each vertex stands once at most.
// Cost: an arc of an expanded vertex 8 to 16 bytes and a label; two barriers a step.
#include "mgraph/star_reach.cuh"

using namespace mgraph;

namespace {

struct path_step {
  key_t weight;  // to the next vertex
  int vertex;
};

struct found_path {
  long long start;  // in the pool; -1: there was no room
  int size;         // 0: none
};

struct search : star_reach {
  // Mark vertices, and have their arcs looked at next. key: the distance below. What does not fit
  // waits in the far lists, which are not needed any more.
  __device__ void mark(bool mine, int v, key_t key) {
    if (mine) {
      const u32 bit = 1u << (v & 31);
      mine = !(atomicOr(&marks[v >> 5], bit) & bit);
    }
    if (mine && key == 0) atomicMin(&told->target, u32(v));
    look_next(mine && key > 0, v, key);
  }

  __device__ void look_next(bool mine, int v, key_t key) {
    const long long begin = mine ? indptr[v] : 0, end = mine ? row_end(v, key) : 0;
    const bool in = near(1 - now.near_read).put(mine, v, true, key, begin, end, tile);
    if (mine && !in) far[atomicAdd(&told->put_off, 1u)] = v;
  }

  // A few of those that were put off, or one of many arcs: there is room for them. By one warp.
  __device__ void take_few() {
    const u32 lane = threadIdx.x & 31, first = now.seen.taken;
    const bool there = first + lane < now.seen.put_off;
    const int v = there ? fresh(&far[first + lane]) : 0;
    const bool small = there && indptr[v + 1] - indptr[v] <= steps * tile;
    const u32 large = ~__ballot_sync(all_lanes, small);
    const u32 count = max(large ? __ffs(large) - 1 : 32, 1);
    const bool mine = lane < count && there;
    look_next(mine, v, mine ? load(&labels[v]).distance[below] : 0);
    if (lane == 0) told->taken = first + count;
  }

  // Mark all shortest paths' vertices from where the two sides meet to the partition below.
  __device__ void mark_all() {
    const u32 count = now.seen.touched[above];
    const key_t best = now.seen.best;
    for (u32 base = 0; base < count; base += blocks.threads()) {
      const u32 i = base + blocks.thread();
      const int v = i < count ? fresh(&touched[i]) : 0;
      const label there = i < count ? load(&labels[v]) : label{{no_key, no_key}};
      const bool meets = there.distance[0] != no_key && there.distance[1] != no_key &&
                         added(there.distance[0], there.distance[1]) == best;
      if (__any_sync(all_lanes, meets)) mark(meets, v, there.distance[below]);
    }
    const auto turn = [&]() { now.near_read = 1 - now.near_read; };
    look(turn);
    while (now.seen.near[now.near_read] > 0 || now.seen.taken < now.seen.put_off) {
      for_each_arc({no_key, no_key}, [&](bool (&mine)[steps], const int (&v)[steps],
                               const weight_t (&its_weight)[steps], const label (&there)[steps],
                               int, key_t key) {
        for (int i = 0; i < steps; ++i) {
          const key_t rest = there[i].distance[below];
          const bool tight = mine[i] && rest < key && extended(rest, its_weight[i]) == key;
          if (__any_sync(all_lanes, tight)) mark(tight, v[i], rest);
        }
      });
      const bool idle = now.seen.near[now.near_read] == 0;
      if (idle && blocks.rank == 0 && threadIdx.x < 32) take_few();
      look(turn);
    }
  }

  __device__ bool is_marked(int v) const { return fresh(&marks[v >> 5]) >> (v & 31) & 1; }

  // Follow a shortest path from the partition below to that above. Its vertices and weights go into
  // the far lists, which are not needed any more. By the group's first block. Returns how many vertices.
  __device__ u32 walk(int* vertex, key_t* to_next) {
    __shared__ u32 least[2];
    int x = now.seen.target;
    for (u32 length = 0;; ++length) {
      const label from = load(&labels[x]);
      if (threadIdx.x == 0) {
        vertex[length] = x;
        least[length & 1] = ~0u;
      }
      if (from.distance[above] == 0) return length + 1;
      __syncthreads();
      const bool marked = is_marked(x);
      const bool meets = !marked || (from.distance[above] != no_key &&
                                     added(from.distance[0], from.distance[1]) == now.seen.best);
      u32 mine = ~0u;
      weight_t mine_weight = 0;
      // No arc is heavier than the way that it begins.
      key_t most = marked ? now.seen.best : key_t(0);
      if (meets) most = max(most, from.distance[above]);
      const long long end = row_end(x, most);
      for (long long arc = indptr[x] + threadIdx.x; arc < end; arc += blockDim.x) {
        const u32 u = indices[arc];
        if (u >= mine) continue;
        const weight_t its_weight = weight(arc);
        const label to = load(&labels[u]);
        const bool down = marked && to.distance[below] != no_key &&
                          to.distance[below] == extended(from.distance[below], its_weight) &&
                          is_marked(u);
        const bool up = meets && to.distance[above] < from.distance[above] &&
                        extended(to.distance[above], its_weight) == from.distance[above];
        if (down || up) {
          mine = u;
          mine_weight = its_weight;
        }
      }
      const u32 best = __reduce_min_sync(all_lanes, mine);
      if ((threadIdx.x & 31) == 0 && best < ~0u) atomicMin(&least[length & 1], best);
      __syncthreads();
      x = least[length & 1];
      if (mine == u32(x)) to_next[length] = as_key(length_t(mine_weight));
    }
  }
};

}  // namespace

// A group takes one job after another, in their order; one that comes after a path found for its
// query is passed over. first_of_query: the least order of a job that found a path, at first the
// largest number. labels: no_key; marks, waits_far: 0; of each group. pool: for the paths found.
extern "C" __global__ void __launch_bounds__(1024, 1)
#if MGRAPH_CLUSTER > 1 && __CUDA_ARCH__ >= 900
    __cluster_dims__(MGRAPH_CLUSTER, 1, 1)
#endif
        star_search(const long long* indptr, const int* indices, const weight_t* weights, int n, int tile,
                    const weight_t* row_marks, const u32* row_ends, float mean_degree,
                    const job* jobs, int job_count, u32* next_job,
                    const int* trees, u32* first_of_query, found_path* found, int blocks,
                    u64* arrived, void* told, label* labels, u32* marks, u32* waits_far,
                    int* near_vertex, u64* near_arcs, key_t* near_key, u32 near_capacity, int* far,
                    int* touched, path_step* pool, u64 pool_size, u64* pool_used) {
  __shared__ standing now;
  const group all = this_group(blocks, arrived);
  const size_t index = all.index(), vertices = size_t(n), near_at = 2 * index * near_capacity;
  search it{{{all,
              indptr,
              indices,
              weights,
              vertices,
              tile,
              {row_marks, row_ends},
              labels + index * vertices,
              marks + index * ((vertices + 31) / 32),
              waits_far + index * ((vertices + 15) / 16),
              (counters*)told + index,
              now,
              near_vertex + near_at,
              near_arcs + near_at,
              near_key + near_at,
              near_capacity,
              far + 4 * index * vertices,
              touched + 2 * index * vertices},
             mean_degree}};
  if (threadIdx.x < marks_a_row && row_ends) now.marks[threadIdx.x] = row_marks[threadIdx.x];
  while (true) {
    if (it.blocks.leads()) {
      u32 at;
      do {
        at = atomicAdd(next_job, 1u);
      } while (at < job_count && fresh(&first_of_query[jobs[at].query]) < jobs[at].order);
      it.told->job = at;
      if (at < job_count) it.restart(jobs[at]);
    }
    it.look([&]() {
      if (now.seen.job < job_count) now.its = jobs[now.seen.job];
    });
    const u32 at = now.seen.job;
    if (at >= job_count) return;
    it.tree = trees + now.its.tree;
    it.begin();
    it.reach(first_of_query);
    if (!now.seen.abandoned && now.seen.best < now.its.bound) {
      if (it.blocks.leads()) atomicMin(&first_of_query[now.its.query], now.its.order);
      it.mark_all();
      if (it.blocks.rank == 0) {
        __shared__ u64 start;
        int* const vertex = it.far_list(above, 0);
        key_t* const to_next = (key_t*)it.far_list(below, 0);
        const u32 size = it.walk(vertex, to_next);
        if (threadIdx.x == 0) start = atomicAdd(pool_used, u64(size));
        __syncthreads();
        const bool fits = start + size <= pool_size;
        for (u32 i = threadIdx.x; fits && i < size; i += blockDim.x) {
          pool[start + i] = {i + 1 < size ? to_next[i] : key_t(0), vertex[i]};
        }
        if (threadIdx.x == 0) found[at] = {fits ? (long long)start : -1, int(size)};
      }
      it.blocks.wait();
    }
    it.reset();
  }
}
