// STAR's searches: shortest paths between the partitions of a tree without one of its loose paths.
// star_cpu.py explains the method and how ties are decided, whole_lengths_cpu.py how fractional weights
// are measured; here Dijkstra's algorithm takes the vertices of a range of distances (a bucket) at a time.
//
// A group of blocks does one search after another. Of a search:
//
//   begin    the partitions' vertices have distance 0
//   fill     the vertices of the next bucket, from those that wait farther away (the far list)
//   expand   relax the arcs of the vertices in the bucket, until no more come into it
//   mark     all shortest paths' vertices on the side of the partition below
//   walk     along one of them
//   reset    the labels of what was touched
//
// A place in a bucket counts only while the distance there is still the vertex's. What does not fit
// into a bucket waits far, where each vertex stands once at most.
// Cost: an arc of an expanded vertex 8 to 16 bytes and a label; a barrier a step.
#include "star_reach.cuh"

using namespace mgraph;

namespace {

static_assert(sizeof(shared_counters<counters>) <= 640 && sizeof(team_state) <= 64, "as star_memory_gpu.py has it");

struct query {
  long long paths, steps;  // where its own begin
  int path_count, step_count, root;
  u64 limit;  // nanoseconds from when it is taken
};

struct outcome {
  long long start;  // of the tree's steps among the answers; or a fault
  int size;
  int searches, accepted, late;  // late: the time was up
  u64 searching, exchanging;     // nanoseconds
};

// Faults: memory did not suffice; a path that was found does not lead back to the tree.
constexpr long long no_memory = -1, no_way_back = -2;

// What happened to a query so far; as the first block of its team knows. By one thread.
struct query_progress {
  outcome told;
  u64 last, deadline;  // last: when the time was taken
  bool over, faulty;

  __device__ void begin(u64 limit) {
    last = nanoseconds();
    deadline = limit < ~last ? last + limit : ~0ULL;
    told = {no_memory, 0, 0, 0, 0, 0, 0};
    over = faulty = false;
  }
  __device__ void fail(long long fault) {
    told.start = fault;
    over = faulty = true;
  }
  __device__ u64 lap() {
    const u64 before = last;
    last = nanoseconds();
    return last - before;
  }
};

struct search : star_reach {
  u32* path_size;  // of the path found

  // Mark vertices, and have their arcs looked at next. key: the distance below. What does not fit
  // waits in the far lists, which are not needed any more.
  __device__ void mark(bool mine, int v, key_t key) {
    mine = mine && !(atomicOr(&labels[v].flags, is_marked) & is_marked);
    if (mine && key == 0) atomicMin(&told->target, u32(v));
    look_next(mine && key > 0, v, key);
  }

  __device__ void look_next(bool mine, int v, key_t key) {
    const arc_range its = row(mine, v, key);
    const bool in = near(1 - now.near_read).put(mine, v, true, key, its);
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

  // Mark where the two sides meet on shortest paths.
  __device__ void mark_meetings() {
    const u32 count = now.seen.touched[above];
    const key_t best = now.seen.best;
    for (u32 base = 0; base < count; base += blocks.threads()) {
      const u32 i = base + blocks.thread();
      const int v = i < count ? fresh(&touched[i]) : 0;
      const distances there = i < count ? load(&labels[v]) : distances{{no_key, no_key}};
      const bool meets = there.distance[0] != no_key && there.distance[1] != no_key &&
                         added(there.distance[0], there.distance[1]) == best;
      if (__any_sync(all_lanes, meets)) mark(meets, v, there.distance[below]);
    }
    look([&]() { now.near_read = 1 - now.near_read; });
  }

  // Mark all shortest paths' vertices from there to the partition below: few, but step by step, so that
  // the group's first block does it alone.
  __device__ void mark_below() {
    while (now.seen.near[now.near_read] > 0 || now.seen.taken < now.seen.put_off) {
      for_each_arc({{no_key, no_key}}, [&](bool (&mine)[steps], const int (&v)[steps],
                               const arc_length_t (&its_length)[steps], const distances (&there)[steps],
                               int, key_t key) {
#pragma unroll
        for (int i = 0; i < steps; ++i) {
          const key_t rest = there[i].distance[below];
          const bool tight = mine[i] && rest < key && extended(rest, its_length[i]) == key;
          if (__any_sync(all_lanes, tight)) mark(tight, v[i], rest);
        }
      });
      const bool idle = now.seen.near[now.near_read] == 0;
      if (idle && threadIdx.x < 32) take_few();
      look([&]() { now.near_read = 1 - now.near_read; });
    }
  }

  __device__ bool marked_at(int v) const { return fresh(&labels[v].flags) & is_marked; }

  // Follow a shortest path from the partition below to that above. Its vertices and weights go into
  // the far lists, which are not needed any more; of parallel arcs of one length it takes the lightest.
  // By one block. Returns how many vertices; 0 where the labels are not those of a shortest path.
  __device__ u32 walk(int* vertex, key_t* to_next) {
    __shared__ u32 least[2];
    __shared__ key_t lightest[2];
    __shared__ distances next_there;
    __shared__ bool next_marked;
    if (now.seen.target == ~0u) return 0;
    int x = now.seen.target;
    distances from = load(&labels[x]);
    bool marked = marked_at(x);
    for (u32 length = 0; length < n; ++length) {
      if (threadIdx.x == 0) {
        vertex[length] = x;
        least[length & 1] = ~0u;
        lightest[length & 1] = no_key;
      }
      if (from.distance[above] == 0) return length + 1;
      __syncthreads();
      const bool meets = !marked || (from.distance[above] != no_key &&
                                     added(from.distance[0], from.distance[1]) == now.seen.best);
      u32 mine = ~0u;
      key_t mine_weight = no_key;
      distances mine_there = from;
      bool mine_marked = false;
      // No arc is heavier than the way that it begins.
      key_t most = marked ? now.seen.best : key_t(0);
      if (meets) most = max(most, from.distance[above]);
      const arc_range its = row(true, x, most);
      for (long long arc = its.begin + threadIdx.x; arc < its.begin + its.count; arc += blockDim.x) {
        const u32 u = indices[arc];
        if (u > mine) continue;
        const arc_length_t its_length = this->length(arc);
        const distances to = load(&labels[u]);
        const bool its_marked = marked_at(u);
        const bool down = marked && its_marked && to.distance[below] != no_key &&
                          to.distance[below] == extended(from.distance[below], its_length);
        const bool up = meets && to.distance[above] < from.distance[above] &&
                        extended(to.distance[above], its_length) == from.distance[above];
        if (down || up) {
          const key_t its_weight = weight_key(weight(arc));
          mine_weight = u == mine ? min(mine_weight, its_weight) : its_weight;
          prefetch_row(u);
          mine = u;
          mine_there = to;
          mine_marked = its_marked;
        }
      }
      const u32 best = __reduce_min_sync(all_lanes, mine);
      if ((threadIdx.x & 31) == 0 && best < ~0u) atomicMin(&least[length & 1], best);
      __syncthreads();
      if (least[length & 1] == ~0u) return 0;
      x = least[length & 1];
      if (mine == u32(x)) {
        atomicMin(&lightest[length & 1], mine_weight);
        next_there = mine_there;
        next_marked = mine_marked;
      }
      __syncthreads();
      if (threadIdx.x == 0) to_next[length] = lightest[length & 1];
      from = next_there;
      marked = next_marked;
    }
    return 0;
  }

  // Search for one path after another, until one has a replacement or none is left to be tried. The
  // path of the winner is then in its group's far lists.
  __device__ void try_paths(double shrink, u32 group_index, u64 deadline) {
    team_state* const state = tree.state;
    u64* const winner = &state->winner;
    while (true) {
      if (blocks.leads()) {
        u32 at = atomicAdd(&state->next, 1u);
        if (at < fresh(&state->tried) && u32(fresh(winner) >> 32) < at) at = ~0u;
        told->job = at;
        if (at < fresh(&state->tried)) restart(job_of(at, shrink).bound);
      }
      look([&]() {
        const u32 at = now.seen.job;
        if (at < fresh(&state->tried)) now.its = job_of(at, shrink);
      });
      if (now.seen.job >= fresh(&state->tried)) return;
      begin();
      reach(winner, deadline);
      if (now.seen.abandoned) {
        if (blocks.leads() && !out_of_race(winner)) state->late = 1;
      } else if (now.seen.best < now.its.bound) {
        if (blocks.leads()) atomicMin(winner, u64(now.its.order) << 32 | group_index);
        mark_meetings();
        blocks.first_alone([&]() {
          mark_below();
          const u32 size = walk(far_list(above, 0), (key_t*)far_list(below, 0));
          if (threadIdx.x == 0) *path_size = size;
        });
      }
      reset();
    }
  }

  // The search for a path that may replace another, with the length that it must be below. shrink:
  // 1 + epsilon, of whole weights; else what the other's cost is multiplied by.
  __device__ job job_of(u32 at, double shrink) const {
    const int slot = tree.order[at];
    const cost_t cost = cost_of(tree.paths[slot].length);
    if constexpr (whole_weights) {
      const key_t below = shrink > 1 ? key_t(ceil(double(cost) / shrink)) : key_t(cost);
      return {slot, at, min(below, key_t(cost)), {1, 1}};  // which may have been rounded up
    } else {
      const length_scale scale = scale_below(cost * shrink);
      return {slot, at, key_t(scale.scaled(cost * shrink)), scale};
    }
  }
};

}  // namespace

// A team of groups takes one query after another, and its groups one loose path after another, in
// their order; those that come after one with a replacement are passed over. Its first block exchanges
// paths. labels: no_key and no flags; counts, boards: 0; of each group. answers: for the trees. stop:
// not 0: the time of all queries is up.
extern "C" __global__ void __launch_bounds__(512, 1)
        star_exchange(const long long* indptr, const int* indices, const weight_t* weights, int n,
                      int tile, const weight_t* row_marks, const sorted_row* rows, float mean_degree,
                      double bucket, double shrink, const query* queries, u32 query_count,
                      const loose_path* given_paths, const path_step* given_steps,
                      outcome* outcomes, u32* next_query, path_step* answers, u64 answers_size,
                      u64* answers_used, int blocks, int groups, u64* counts, u64* counts_of_team,
                      u32* path_sizes, shared_counters<counters>* boards, label* labels,
                      int* near_vertex, u64* near_arcs, key_t* near_key, u32 near_capacity, int* far, int* touched,
                      team_state* states, loose_path* paths, int* orders, int slots,
                      path_step* steps, int capacity, const u32* stop) {
  // What a block's threads share of it, they read where it stands: registers are scarce.
  __shared__ search it;
  __shared__ group everyone;
  __shared__ query_progress progress;
  __shared__ shared_counters<counters> counters_here;
  const size_t index = blockIdx.x / blocks, which = index / groups, vertices = size_t(n);
  if (threadIdx.x == 0) {
    const size_t near_at = 2 * index * near_capacity;
    everyone = this_group(blocks * groups, counts_of_team);
    it.blocks = this_group(blocks, counts);
    it.indptr = indptr;
    it.indices = indices;
    it.weights = weights;
    it.n = vertices;
    it.tile = tile;
    it.rows = rows;
    it.row_marks = row_marks;
    it.labels = labels + index * vertices;
    it.told = blocks > 1 ? boards + index : &counters_here;
    it.near_vertex = near_vertex + near_at;
    it.near_arcs = near_arcs + near_at;
    it.near_key = near_key + near_at;
    it.near_capacity = near_capacity;
    it.far = far + 4 * index * vertices;
    it.touched = touched + 2 * index * vertices;
    it.tree = {states + which, paths + which * slots, orders + 2 * which * slots,
               orders + (2 * which + 1) * slots, slots, steps + 2 * which * capacity, capacity};
    it.first_bucket = bucket;
    it.mean_degree = mean_degree;
    it.watch = {stop, 0, false};
    it.path_size = path_sizes + index;
  }
  __syncthreads();
  star_tree& tree = it.tree;
  team_state* const state = states + which;
  const auto wait_for_team = [&]() {
    if (groups == 1) {
      it.blocks.wait();
    } else {
      everyone.wait();
    }
  };
  while (true) {
    if (everyone.leads()) state->query = atomicAdd(next_query, 1u);
    wait_for_team();
    const u32 at = fresh(&state->query);
    if (at >= query_count) return;
    const query its = queries[at];
    if (threadIdx.x == 0) progress.begin(its.limit);
    __syncthreads();
    if (everyone.rank == 0) {
      tree.take(given_paths + its.paths, its.path_count, given_steps + its.steps, its.step_count,
                its.root);
    }
    while (true) {
      if (everyone.rank == 0) {
        if (!progress.over) tree.rank();
        if (threadIdx.x == 0) {
          const bool up = nanoseconds() > progress.deadline || it.watch.stopped();
          if (!progress.over && state->tried && up) state->late = 1;
          state->over = progress.over || state->late || !state->tried;
          progress.told.exchanging += progress.lap();
        }
      }
      wait_for_team();
      if (fresh(&state->over)) break;
      it.try_paths(shrink, u32(index), progress.deadline);
      wait_for_team();
      if (everyone.rank > 0) continue;
      const u64 winner = fresh(&state->winner);
      if (threadIdx.x == 0) {
        progress.told.searching += progress.lap();
        progress.told.searches += winner == ~0ULL ? state->tried : u32(winner >> 32) + 1;
        progress.told.accepted += winner != ~0ULL;
        progress.over = winner == ~0ULL;
      }
      __syncthreads();
      if (winner == ~0ULL) continue;
      const int* const vertex = far + 4 * u32(winner) * vertices;
      const u32 size = fresh(&path_sizes[u32(winner)]);
      const bool fits = size && tree.exchange(tree.order[winner >> 32], vertex,
                                              (const key_t*)(vertex + 2 * vertices), size);
      if (threadIdx.x == 0 && !fits) progress.fail(size ? no_memory : no_way_back);
      __syncthreads();
    }
    if (everyone.rank > 0) continue;
    const int size = progress.faulty ? 0 : tree.hand_out([&](int size) {
      const u64 start = atomicAdd(answers_used, u64(size));
      const bool there = start + size <= answers_size;
      if (there) progress.told.start = (long long)start;
      return there ? answers + start : nullptr;
    });
    if (threadIdx.x == 0) {
      progress.told.size = size;
      progress.told.late = fresh(&state->late);
      progress.told.exchanging += progress.lap();
      outcomes[at] = progress.told;
    }
  }
}
