// STAR's searches: shortest paths between the partitions of a tree without one of its loose paths.
// star_cpu.py explains the method and how ties are decided; here Dijkstra's algorithm takes the
// vertices of a range of distances (a bucket) at a time, from the side where fewer wait, or from
// both.
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
#include "mgraph/arc_queue.cuh"

using namespace mgraph;

namespace {

constexpr int above = 0, below = 1;  // the sides
constexpr u32 wanted = 4096;         // pieces in a bucket
constexpr float both_within = 4;     // sides go on together whose vertices wait in such a ratio

struct job {
  long long tree;  // where its vertices begin
  int size, first, last, end;
  int query, order;
  key_t bound;        // shorter paths count
  key_t bucket;       // so large a range of distances is searched first
  long long arcs[2];  // of the partitions
};

struct found_path {
  long long start;  // in the pool; -1: there was no room
  int size;         // 0: none
};

// What a group's blocks tell each other. A list has two halves: one is read, the other is written.
struct counters {
  u32 near[2];
  u32 far[2][2];
  u32 touched[2];
  u32 full;    // whether a bucket was too large
  u32 target;  // the least vertex of the partition below that a shortest path ends at
  u32 job, abandoned;
  key_t least_far[2][2];
  key_t best;
};

struct graph_rows {
  const long long* indptr;
  const int* indices;
  const weight_t* weights;  // null: every weight is 1
  __device__ weight_t weight(long long arc) const { return weights ? weights[arc] : weight_t(1); }
};

struct label {
  key_t distance[2];
};

__device__ label load(const label* at) {
  label it;
  if constexpr (sizeof(key_t) == 4) {
    const int2 both = __ldcg((const int2*)at);
    it.distance[0] = both.x, it.distance[1] = both.y;
  } else {
    const longlong2 both = __ldcg((const longlong2*)at);
    it.distance[0] = both.x, it.distance[1] = both.y;
  }
  return it;
}

__device__ key_t added(key_t a, key_t b) { return as_key(sum(as_length(a), as_length(b))); }

__device__ key_t halved(key_t a) {
  if constexpr (length_t(0.5) == 0) {
    return max(a / 2, key_t(1));
  } else {
    return as_key(as_length(a) / 2);
  }
}

// A place for each lane that has something, in a list that grows.
__device__ u32 place_in(u32* count, bool mine) {
  const u32 mask = __ballot_sync(all_lanes, mine);
  if (!mask) return 0;
  const int lane = threadIdx.x & 31, leader = __ffs(mask) - 1;
  u32 place = 0;
  if (lane == leader) place = atomicAdd(count, __popc(mask));
  return __shfl_sync(all_lanes, place, leader) + __popc(mask & ((1u << lane) - 1));
}

struct search {
  group blocks;
  graph_rows graph;
  label* labels;
  u32* marks;       // a bit a vertex
  u32* waits_far;   // two bits a vertex
  counters* told;
  counters& seen;  // what was told up to the last barrier; in shared memory
  job& its;        // in shared memory
  int tile;        // lanes to a piece of arcs
  float mean_degree;
  const int* tree;  // the vertices
  // lists: near [2][capacity], far [2 sides][2][n], touched [2 sides][n]
  int* near_vertex;
  u64* near_arcs;
  key_t* near_key;
  u32 near_capacity;
  int* far;
  int* touched;
  size_t n;
  // where the search stands, the same in all threads
  key_t radius[2], high[2], bucket[2];
  bool started[2], expands[2];
  int far_half[2], near_half;  // the half of each far list that is written, of near that is read

  __device__ arc_queue near(int half) const {
    const size_t at = size_t(half) * near_capacity;
    return {near_vertex + at, near_arcs + at, near_key + at, near_capacity, &told->near[half]};
  }
  __device__ int* far_list(int side, int half) const { return far + size_t(2 * side + half) * n; }

  // See what all have told. Until the next barrier only the next step's work changes it.
  __device__ void look() {
    blocks.wait();
    if (threadIdx.x < sizeof(counters) / 4) {
      ((u32*)&seen)[threadIdx.x] = fresh((const u32*)told + threadIdx.x);
    }
    blocks.wait();
  }

  __device__ int side_of(int at) const {
    return at >= its.last && at < its.end ? below : at < its.first || at >= its.end ? above : -1;
  }

  __device__ void begin() {
    for (u32 at = blocks.thread(); at < its.size; at += blocks.threads()) {
      const int side = side_of(at), v = tree[at];
      if (side < 0) continue;
      touched[int(at) < its.first ? at : at - (its.last - its.first)] = v;
      labels[v].distance[side] = 0;
    }
    if (blocks.leads()) {
      told->near[0] = told->near[1] = 0;
      told->far[0][0] = told->far[0][1] = told->far[1][0] = told->far[1][1] = 0;
      told->touched[0] = its.size - (its.last - its.first);
      told->touched[1] = 0;
      told->full = told->abandoned = 0;
      told->target = ~0u;
      told->least_far[0][0] = told->least_far[0][1] = no_key;
      told->least_far[1][0] = told->least_far[1][1] = no_key;
      told->best = its.bound;
    }
    near_half = 0;
    for (int side = 0; side < 2; ++side) {
      radius[side] = 0;
      bucket[side] = its.bucket;
      started[side] = expands[side] = false;
      far_half[side] = 0;
    }
  }

  // Put vertices near or far, as their distances are. By all lanes of a warp.
  __device__ __noinline__ void put(bool mine, int v, int side, key_t key) {
    const bool close = mine && key < high[side];
    const bool in = near(1 - near_half).put(close, v, side, key, graph.indptr, tile);
    if (close && !in) told->full = 1;
    bool waits = mine && !(close && in);
    if (!__any_sync(all_lanes, waits)) return;
    if (waits) {
      const u32 bit = 1u << (2 * (v & 15) + side);
      waits = !(atomicOr(&waits_far[v >> 4], bit) & bit);
    }
    for (int of = 0; of < 2; ++of) {
      const int half = far_half[of];
      const bool here = waits && side == of;
      const u32 place = place_in(&told->far[of][half], here);
      if (here) far_list(of, half)[place] = v;
      key_t least = mine && side == of && !(close && in) ? key : no_key;
      for (int step = 16; step; step /= 2) least = min(least, __shfl_xor_sync(all_lanes, least, step));
      if ((threadIdx.x & 31) == 0 && least < no_key) atomicMin(&told->least_far[of][half], least);
    }
  }

  // Whether a shortest path is known, if any is short enough; else which sides go on, and how far.
  __device__ bool is_over() {
    bool over = seen.abandoned || added(radius[0], radius[1]) >= seen.best;
    float waiting[2];
    for (int side = 0; side < 2; ++side) {
      const u32 count = seen.far[side][far_half[side]];
      waiting[side] = started[side] ? mean_degree * count : float(its.arcs[side]);
      over = over || (started[side] && count == 0);
    }
    for (int side = 0; side < 2; ++side) {
      expands[side] = waiting[side] <= both_within * min(waiting[0], waiting[1]);
      if (!expands[side]) continue;
      const key_t least = started[side] ? seen.least_far[side][far_half[side]] : key_t(0);
      high[side] = min(added(max(radius[side], least), bucket[side]), seen.best);
    }
    return over;
  }

  // Larger ranges where the last one held few vertices, smaller ones where it held many.
  __device__ void resize_buckets() {
    const u32 count = seen.near[near_half];
    for (int side = 0; side < 2; ++side) {
      if (!expands[side] || added(radius[side], bucket[side]) >= seen.best) continue;
      if (4 * count < wanted) {
        bucket[side] = added(bucket[side], bucket[side]);
      } else if (count > wanted) {
        bucket[side] = halved(bucket[side]);
      }
    }
  }

  // The next bucket of a side, from its seeds or its far list.
  __device__ void fill(int side) {
    const int half = far_half[side];
    const u32 count = started[side] ? seen.far[side][half] : its.size;
    far_half[side] = 1 - half;
    if (blocks.leads()) {  // all know already what is told of the half that is read
      told->far[side][half] = 0;
      told->least_far[side][half] = no_key;
    }
    for (u32 base = 0; base < count; base += blocks.threads()) {
      const u32 i = base + blocks.thread();
      bool mine = i < count;
      int v = 0;
      key_t key = 0;
      if (mine && !started[side]) {
        v = tree[i];
        mine = side_of(i) == side;
      } else if (mine) {
        v = fresh(&far_list(side, half)[i]);
        atomicAnd(&waits_far[v >> 4], ~(1u << (2 * (v & 15) + side)));
        key = load(&labels[v]).distance[side];
        mine = key >= radius[side] && added(key, radius[1 - side]) < seen.best;
      }
      put(mine, v, side, key);
    }
    started[side] = true;
  }

  // Call f(mine, head, weight, label, side, key of the tail) for the arcs of the vertices near, by all
  // lanes of a warp; `wanted` says whose labels are worth a look.
  template <class Wanted, class F> __device__ void for_each_arc(Wanted wanted, F f) {
    const arc_queue from = near(near_half);
    const u32 count = min(seen.near[near_half], near_capacity);
    const int lane = threadIdx.x & 31, in_tile = lane & (tile - 1);
    if (blocks.leads()) told->near[near_half] = 0;  // all know how many there are
    for (u32 base = blocks.thread() / 32 * (32 / tile); base < count;
         base += blocks.threads() / tile) {
      const u32 i = base + lane / tile;
      arc_piece piece = i < count ? from.at(i) : arc_piece{0, 0, 0, 0};
      const int side = piece.vertex < 0 ? below : above;
      const int tail = piece.vertex < 0 ? ~piece.vertex : piece.vertex;
      if (piece.count && load(&labels[tail]).distance[side] != piece.key) piece.count = 0;
      int head[steps];
      weight_t weight[steps];
      label there[steps];
      bool mine[steps];
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        const int arc = step * tile + in_tile;
        mine[step] = arc < piece.count;
        if (mine[step]) {
          head[step] = graph.indices[piece.begin + arc];
          weight[step] = graph.weight(piece.begin + arc);
        }
      }
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        mine[step] = mine[step] && wanted(piece.key, weight[step]);
        if (mine[step]) there[step] = load(&labels[head[step]]);
      }
#pragma unroll
      for (int step = 0; step < steps; ++step) {
        f(mine[step], head[step], weight[step], there[step], side, piece.key);
      }
    }
  }

  // Relax an arc. both: whether the other side's labels may change meanwhile.
  __device__ void relax(bool mine, int v, key_t key, label there, int side, bool both) {
    mine = mine && key < there.distance[side];
    key_t old = 0;
    if (mine) {
      old = atomicMin(&labels[v].distance[side], key);
      mine = key < old;
    }
    if (!__any_sync(all_lanes, mine)) return;
    key_t rest = mine ? there.distance[1 - side] : no_key;
    const bool is_new = mine && old == no_key && rest != 0;  // seeds are known already
    for (int of = 0; of < 2; ++of) {
      const bool here = is_new && side == of;
      const u32 place = place_in(&told->touched[of], here);
      if (here) touched[of * n + place] = v;
    }
    if (mine && both) {  // of two sides that come at once, one sees the other
      fence();
      rest = load(&labels[v]).distance[1 - side];
    }
    if (rest != no_key) {
      const key_t total = added(key, rest);
      if (total < seen.best) atomicMin(&told->best, total);
    }
    // Beyond the other partition, or too far, no shortest path goes on.
    put(mine && rest != 0 && added(key, radius[1 - side]) < seen.best, v, side, key);
  }

  // Label what lies within the radii, until the length of a shortest path is known.
  __device__ void reach(const u32* first_of_query) {
    const auto ask = [&]() {
      if (blocks.leads()) told->abandoned = fresh(&first_of_query[its.query]) < its.order;
    };
    look();
    while (!is_over()) {
      ask();
      for (int side = 0; side < 2; ++side) {
        if (expands[side]) fill(side);
      }
      look();
      near_half = 1 - near_half;
      const bool both = expands[0] && expands[1];
      resize_buckets();
      while (seen.near[near_half] > 0) {
        ask();
        const key_t limit = min(seen.best, its.bound - 1);
        for_each_arc([&](key_t key, weight_t weight) { return extended(key, weight) <= limit; },
                     [&](bool mine, int v, weight_t weight, label there, int side, key_t key) {
                       relax(mine, v, extended(key, weight), there, side, both);
                     });
        look();
        near_half = 1 - near_half;
      }
      if (!seen.full) {
        for (int side = 0; side < 2; ++side) {
          if (expands[side]) radius[side] = high[side];
        }
      } else {  // the rest of the bucket waits far
        if (blocks.leads()) told->full = 0;
        blocks.wait();
      }
    }
  }

  // Mark vertices, and have their arcs looked at next. key: the distance below.
  __device__ void mark(bool mine, int v, key_t key) {
    if (mine) {
      const u32 bit = 1u << (v & 31);
      mine = !(atomicOr(&marks[v >> 5], bit) & bit);
    }
    if (mine && key == 0) atomicMin(&told->target, u32(v));
    if (!near(1 - near_half).put(mine && key > 0, v, true, key, graph.indptr, tile)) told->full = 1;
  }

  // Mark all shortest paths' vertices from where the two sides meet to the partition below.
  __device__ void mark_all() {
    const u32 count = seen.touched[above];
    for (u32 base = 0; base < count; base += blocks.threads()) {
      const u32 i = base + blocks.thread();
      bool mine = i < count;
      int v = 0;
      label there{{no_key, no_key}};
      if (mine) {
        v = fresh(&touched[i]);
        there = load(&labels[v]);
      }
      mine = there.distance[0] != no_key && there.distance[1] != no_key &&
             added(there.distance[0], there.distance[1]) == seen.best;
      mark(mine, v, there.distance[below]);
    }
    look();
    near_half = 1 - near_half;
    while (seen.near[near_half] > 0) {
      for_each_arc([](key_t, weight_t) { return true; },
                   [&](bool mine, int v, weight_t weight, label there, int, key_t key) {
                     const key_t rest = there.distance[below];
                     mark(mine && rest < key && extended(rest, weight) == key, v, rest);
                   });
      look();
      near_half = 1 - near_half;
    }
  }

  __device__ bool is_marked(int v) const { return fresh(&marks[v >> 5]) >> (v & 31) & 1; }

  // Follow a shortest path from the partition below to that above: its vertices and weights go into
  // the near lists. By the group's first block. Returns how many vertices, 0 for too many.
  __device__ u32 walk() {
    __shared__ u32 least[2];
    int x = seen.target;
    for (u32 length = 0; length < near_capacity; ++length) {
      const label from = load(&labels[x]);
      if (threadIdx.x == 0) {
        near_vertex[length] = x;
        least[length & 1] = ~0u;
      }
      if (from.distance[above] == 0) return length + 1;
      __syncthreads();
      const bool marked = is_marked(x);
      const bool meets = !marked || (from.distance[above] != no_key &&
                                     added(from.distance[0], from.distance[1]) == seen.best);
      u32 mine = ~0u;
      weight_t mine_weight = 0;
      for (long long arc = graph.indptr[x] + threadIdx.x; arc < graph.indptr[x + 1];
           arc += blockDim.x) {
        const u32 u = graph.indices[arc];
        if (u >= mine) continue;
        const weight_t weight = graph.weight(arc);
        const label to = load(&labels[u]);
        const bool down = marked && to.distance[below] != no_key &&
                          to.distance[below] == extended(from.distance[below], weight) &&
                          is_marked(u);
        const bool up = meets && to.distance[above] < from.distance[above] &&
                        extended(to.distance[above], weight) == from.distance[above];
        if (down || up) {
          mine = u;
          mine_weight = weight;
        }
      }
      const u32 best = __reduce_min_sync(all_lanes, mine);
      if ((threadIdx.x & 31) == 0 && best < ~0u) atomicMin(&least[length & 1], best);
      __syncthreads();
      x = least[length & 1];
      if (mine == u32(x)) near_key[length] = as_key(length_t(mine_weight));
    }
    return 0;
  }

  __device__ void reset() {
    for (int side = 0; side < 2; ++side) {
      const u32 count = seen.touched[side];
      for (u32 i = blocks.thread(); i < count; i += blocks.threads()) {
        const int v = fresh(&touched[side * n + i]);
        labels[v] = {{no_key, no_key}};
        marks[v >> 5] = 0;
        waits_far[v >> 4] = 0;
      }
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
        star_search(const long long* indptr, const int* indices, const weight_t* weights, int n,
                    float mean_degree, int tile, const job* jobs, int job_count, u32* next_job,
                    const int* trees, u32* first_of_query, found_path* found, int blocks,
                    u64* arrived, void* told, label* labels, u32* marks, u32* waits_far,
                    int* near_vertex, u64* near_arcs, key_t* near_key, u32 near_capacity, int* far,
                    int* touched, int* pool_vertex, key_t* pool_weight, u64 pool_size,
                    u64* pool_used) {
  __shared__ counters seen;
  __shared__ job its;
  const group all = this_group(blocks, arrived);
  const size_t index = all.index(), vertices = size_t(n);
  const size_t near_size = 2 * index * near_capacity;
  search it{all,
            {indptr, indices, weights},
            labels + index * vertices,
            marks + index * ((vertices + 31) / 32),
            waits_far + index * ((vertices + 15) / 16),
            (counters*)told + index,
            seen,
            its,
            tile,
            mean_degree,
            nullptr,
            near_vertex + near_size,
            near_arcs + near_size,
            near_key + near_size,
            near_capacity,
            far + 4 * index * vertices,
            touched + 2 * index * vertices,
            vertices};
  while (true) {
    if (it.blocks.leads()) {
      u32 at;
      do {
        at = atomicAdd(next_job, 1u);
      } while (at < job_count && fresh(&first_of_query[jobs[at].query]) < jobs[at].order);
      it.told->job = at;
    }
    it.look();
    const u32 at = seen.job;
    if (at >= job_count) return;
    if (threadIdx.x == 0) its = jobs[at];
    __syncthreads();
    it.tree = trees + its.tree;
    it.begin();
    it.reach(first_of_query);
    if (!seen.abandoned && seen.best < its.bound) {
      if (it.blocks.leads()) atomicMin(&first_of_query[its.query], its.order);
      it.mark_all();
      if (it.blocks.rank == 0) {
        __shared__ u64 start;
        const u32 size = seen.full ? 0 : it.walk();
        if (threadIdx.x == 0) start = atomicAdd(pool_used, u64(size));
        __syncthreads();
        const bool fits = size > 0 && start + size <= pool_size;
        for (u32 i = threadIdx.x; fits && i < size; i += blockDim.x) {
          pool_vertex[start + i] = it.near_vertex[i];
          pool_weight[start + i] = i + 1 < size ? it.near_key[i] : key_t(0);
        }
        if (threadIdx.x == 0) found[at] = {fits ? (long long)start : -1, int(size)};
      }
      it.blocks.wait();
    }
    it.reset();
  }
}
