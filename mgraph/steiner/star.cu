// STAR on a GPU: the loose paths of many queries' trees are exchanged for shorter ones, in one
// launch.
//
// Reading order:
//   star.py, star_cpu.py  the method on a CPU, and how ties between shortest paths are broken
//   whole_lengths.cuh     integer lengths of fractional weights
//   group.cuh             groups of blocks, their barriers, and the counters that they share
//   arc_queue.cuh         a queue of vertices whose arcs a group shares out
//   star_memory.cuh       what the kernels are passed: the graph, and the memory of the groups
//   star_tree.cuh         a query's tree as loose paths, and the exchange of one
//   star_state.cuh        the state of one search, and how a group's blocks agree on its phases
//   star_reach.cuh        the shortest-path search from both partitions
//   star_walk.cuh         the path that it found
//   star.cu               rounds of attempts, queries, and the kernel
//
// The algorithm, in the words of the paper (star.py has its source; algorithms 1 and 2):
//   The initial tree comes from another kernel (star_initial_tree.cu). While the tree gets cheaper,
//   improveTree orders the loose paths by descending length. For each it takes the partitions that
//   remain without the path (seed_partitions), and finds a shortest path between them
//   (bidirectional_search, path_search). If that is shorter than the loose path, it is merged with
//   the partitions (star_tree::exchange), and a new round begins with the new tree. The tree is
//   returned when no loose path has a shorter replacement.
//
// Where it departs from the paper, and why:
//   - The paper searches on the GPU and does all else on the CPU. Here all rounds of all queries
//     are one launch: a round would be shorter than a launch.
//   - The paper tries one loose path at a time. Here the groups of a team try several at once,
//     since one search cannot fill the device. Of those with a replacement the first in the paper's
//     order wins, so that the tree is the same; attempts after it are abandoned.
//   - The paper's search reads all vertices or all arcs in every round (star_frontier_gpu.py has
//     it). Here buckets hold the vertices of a range of distances, from both partitions.
//
// Division of work: a team of groups takes one query after another; a group of the team
// takes one attempt (loose path) after another; the blocks of a group share the arcs of one search.
// Who writes what, and when:
//   launch.queries, paths, steps  the host, before the launch
//   tree (star_tree)              the team's first block, between two team barriers
//   state->winner, next_attempt   all groups of a team, by atomicMin and atomicAdd
//   labels, far, touched, bucket  the blocks of a group, during a search and while its path is
//                                 marked (find_path); then labels are reset
//   far, path_size                the group's first block: the path found, after a search
//   outcomes, answers             the team's first block, when a query is finished
//
// Hand-overs without a lock (group.cuh has the barriers; star_reach.cuh that of the labels):
//   - A path from the group that found it to the team's first block, which exchanges it: the group
//     writes the path, then arrives at the team's barrier, which fences (group::sync); the first
//     block reads `winner` and the path behind that barrier, past the first-level cache (fresh).
//     Until then the winner's group begins no other search, since all later attempts are behind the
//     winner (try_paths).
//   - The tree from the team's first block to all groups: again the team's barrier stands in
//     between.
//   - `winner` is read during a round without a barrier (is_overtaken). It only falls then, and an
//     old value at worst lets a losing search continue a little.
//   - An attempt from the team's queue: next_attempt is taken by atomicAdd, so that no two groups
//     try the same path. A group that sees a winner before its attempt takes no more; that is
//     checked after the atomicAdd, and attempts before the winner are never skipped, so that the
//     first in order wins.
//   - The host's cancel flag: a word that only becomes 1; one thread of a block polls it
//     (stop_watch).
//
// Cost: 8 to 16 bytes and one label per arc of an expanded vertex; a group barrier per
// phase.
#include "star_walk.cuh"

using namespace mgraph;

namespace {

static_assert(sizeof(shared_counters<search_counters>) <= shared_counters_bytes, "in group.cuh");

struct query {
  long long first_path, first_step;  // among those of all queries
  int path_count, step_count, root;
  u64 time_limit;  // nanoseconds from when a team takes the query
};

struct outcome {
  long long start;  // where the tree's steps begin in the answers, or a fault (below 0)
  int size;         // the number of these steps
  int searches, accepted, timed_out;
  u64 search_time, exchange_time;  // nanoseconds
};

// What changes from one launch to the next.
struct exchange_launch {
  const query* queries;     // [query_count]
  const loose_path* paths;  // of all queries
  const path_step* steps;   // of all paths
  outcome* outcomes;        // [query_count]
  path_step* answers;       // [answers_capacity]: the trees' steps
  u64* answers_used;        // 0 at the launch
  u64* group_arrivals;      // [groups]: 0 at the launch, as the next two
  u64* team_arrivals;       // [teams]
  u32* next_query;
  void* counters;          // shared_counters of each group of several blocks: 0 at the launch
  const u32* cancel_flag;  // null: the launch cannot be cancelled
  u64 answers_capacity;
  double first_bucket;        // the width of the first bucket, as a range of weights
  double improvement_factor;  // star.improvement_factor
  u32 query_count;
  int blocks_per_group, groups_per_team;
  int slots, capacity;  // of a team's paths and steps
};

// Faults: the memory of a team or of the answers does not suffice; a path cannot be followed back.
constexpr long long out_of_memory = -1, broken_path = -2;

// What happened to a query so far, as one thread of its team's first block knows.
struct query_progress {
  outcome result;
  u64 last_time, deadline;  // last_time: when the time was taken last
  bool finished, failed;

  __device__ void begin(u64 time_limit) {
    last_time = nanoseconds();
    deadline = time_limit < ~last_time ? last_time + time_limit : ~0ULL;
    result = {out_of_memory, 0, 0, 0, 0, 0, 0};
    finished = failed = false;
  }
  __device__ void fail(long long fault) {
    result.start = fault;
    finished = failed = true;
  }
  // The nanoseconds since the last call.
  __device__ u64 lap() {
    const u64 start = last_time;
    last_time = nanoseconds();
    return last_time - start;
  }
};

struct exchange_round : path_search {
  // Search for replacements of one loose path after another, until one has a replacement or none is
  // left to be tried. The winner's path is then in its group's far lists.
  __device__ void try_paths(double improvement_factor, u32 group_index, u64 deadline) {
    team_state* const state = tree.state;
    u64* const winner = &state->winner;
    while (true) {
      if (blocks.is_leader()) {
        u32 order = atomicAdd(&state->next_attempt, 1u);
        if (order < fresh(&state->attempts) && u32(fresh(winner) >> 32) < order) order = ~0u;
        counters->attempt = order;
        if (order < fresh(&state->attempts)) {
          reset_counters(attempt_at(order, improvement_factor).bound);
        }
      }
      sync_and_decide([&]() {
        const u32 order = status.snapshot.attempt;
        if (order < fresh(&state->attempts)) {
          status.attempt = attempt_at(order, improvement_factor);
        }
      });
      if (status.snapshot.attempt >= fresh(&state->attempts)) return;
      seed_partitions();
      search(winner, deadline);
      if (status.snapshot.abandoned) {
        if (blocks.is_leader() && !is_overtaken(winner)) state->timed_out = 1;
      } else if (status.snapshot.best < status.attempt.bound) {
        if (blocks.is_leader()) atomicMin(winner, u64(status.attempt.order) << 32 | group_index);
        find_path();
      }
      reset_labels();
    }
  }

  // The attempt of this rank, with the bound that a replacement must be below.
  __device__ path_attempt attempt_at(u32 order, double improvement_factor) const {
    const int slot = tree.order[order];
    const cost_t cost = cost_of(tree.paths[slot].length);
    if constexpr (whole_weights) {
      const key_t bound =
          improvement_factor > 1 ? key_t(ceil(double(cost) / improvement_factor)) : key_t(cost);
      return {slot, order, min(bound, key_t(cost)), {1, 1}};  // the quotient may be rounded up
    } else {
      const length_scale scale = scale_below(cost * improvement_factor);
      return {slot, order, key_t(scale.scaled(cost * improvement_factor)), scale};
    }
  }
};

}  // namespace

// Exchange the loose paths of all queries. Every team takes one query after another.
extern "C" __global__ void __launch_bounds__(threads_per_block, 1)
    star_exchange(__grid_constant__ const star_graph graph,
                  __grid_constant__ const search_memory memory,
                  __grid_constant__ const team_memory teams,
                  __grid_constant__ const exchange_launch launch) {
  // Shared state is read from shared memory, not copied into registers, which are scarce.
  __shared__ exchange_round round;
  __shared__ group team;
  __shared__ query_progress progress;
  __shared__ shared_counters<search_counters> block_counters;
  const int blocks = launch.blocks_per_group, groups = launch.groups_per_team;
  const size_t group_index = blockIdx.x / blocks, team_index = group_index / groups;
  const size_t n = size_t(graph.n);
  if (threadIdx.x == 0) {
    const size_t slots = launch.slots, first_order = 2 * team_index * slots;
    auto* const group_counters = (shared_counters<search_counters>*)launch.counters + group_index;
    team = group_of_block(blocks * groups, launch.team_arrivals);
    round.blocks = group_of_block(blocks, launch.group_arrivals);
    round.graph = graph;
    round.n = n;
    round.memory = memory_of_group(memory, group_index, n);
    round.counters = blocks > 1 ? group_counters : &block_counters;
    round.tree = {teams.states + team_index,
                  teams.paths + team_index * slots,
                  teams.orders + first_order,
                  teams.orders + first_order + slots,
                  launch.slots,
                  teams.steps + 2 * team_index * launch.capacity,
                  launch.capacity};
    round.first_bucket = launch.first_bucket;
    round.watch = {launch.cancel_flag, 0, false};
  }
  __syncthreads();
  star_tree& tree = round.tree;
  team_state* const state = teams.states + team_index;
  const bool is_first = team.rank == 0;  // of the team's blocks
  const auto sync_team = [&]() {
    if (groups == 1) {
      round.blocks.sync();
    } else {
      team.sync();
    }
  };
  while (true) {
    if (team.is_leader()) state->query = atomicAdd(launch.next_query, 1u);
    sync_team();
    const u32 query_index = fresh(&state->query);
    if (query_index >= launch.query_count) return;
    const query current = launch.queries[query_index];
    if (threadIdx.x == 0) progress.begin(current.time_limit);
    __syncthreads();
    if (is_first) {
      tree.load(launch.paths + current.first_path, current.path_count,
                launch.steps + current.first_step, current.step_count, current.root);
    }
    while (true) {
      if (is_first) {
        if (!progress.finished) tree.rank_paths();
        if (threadIdx.x == 0) {
          const bool is_over = nanoseconds() > progress.deadline || round.watch.stopped();
          if (!progress.finished && state->attempts && is_over) state->timed_out = 1;
          state->finished = progress.finished || state->timed_out || !state->attempts;
          progress.result.exchange_time += progress.lap();
        }
      }
      sync_team();
      if (fresh(&state->finished)) break;
      round.try_paths(launch.improvement_factor, u32(group_index), progress.deadline);
      sync_team();
      if (!is_first) continue;
      const u64 winner = fresh(&state->winner);
      const bool has_winner = winner != ~0ULL;
      if (threadIdx.x == 0) {
        progress.result.search_time += progress.lap();
        progress.result.searches += has_winner ? u32(winner >> 32) + 1 : state->attempts;
        progress.result.accepted += has_winner;
        progress.finished = !has_winner;
      }
      __syncthreads();
      if (!has_winner) continue;
      const int* const vertex = memory.far + 4 * u32(winner) * n;
      const u32 size = fresh(&memory.path_size[u32(winner)]);
      const bool is_exchanged = size && tree.exchange(tree.order[winner >> 32], vertex,
                                                      (const key_t*)(vertex + 2 * n), size);
      if (threadIdx.x == 0 && !is_exchanged) progress.fail(size ? out_of_memory : broken_path);
      __syncthreads();
    }
    if (!is_first) continue;
    const int size = progress.failed ? 0 : tree.write_out([&](int size) {
      const u64 start = atomicAdd(launch.answers_used, u64(size));
      const bool fits = start + size <= launch.answers_capacity;
      if (fits) progress.result.start = (long long)start;
      return fits ? launch.answers + start : nullptr;
    });
    if (threadIdx.x == 0) {
      progress.result.size = size;
      progress.result.timed_out = fresh(&state->timed_out);
      progress.result.exchange_time += progress.lap();
      launch.outcomes[query_index] = progress.result;
    }
  }
}
