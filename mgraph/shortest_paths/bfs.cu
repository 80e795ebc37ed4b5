// Direction-optimising breadth-first search in one launch; bfs_gpu.py has it.
//
// Source: S. Beamer, K. Asanović, D. Patterson, "Direction-optimizing breadth-first search", SC
// 2012. A level is found top-down, by the arcs of the vertices of the level before, or bottom-up:
// each vertex that is not visited yet looks for a visited one in its own row, and stops at the
// first. Bottom-up is used while the level before has many arcs, in graphs whose arcs have mirrors.
//
//   begin_search  the sources become level 0
//   expand        top-down: a warp shares the arcs of 32 queued vertices; longer rows are listed in
//                 pieces, and a warp takes one at a time
//   search_rows   bottom-up: a warp has the 32 vertices of a word of the bitmap
//   collect       after the last level bottom-up, its vertices are queued
//   solo          levels of few arcs are found by one block, without a barrier of the grid
//
// The smallest predecessor is kept: top-down by atomicMin among all vertices of the level before
// that have an arc to the new vertex; bottom-up because the row ascends, and its first visited
// vertex is of the level before (an earlier one would have found the new vertex earlier).
//
// Memory order. All blocks pass one barrier per level, after which they read the level's sums and
// take the same decisions. Sums have three slots in turn, as those of frontier.cu: that of the next
// level is cleared after the barrier before, when all have read it, and used after the next one.
// Top-down, a thread that finds a vertex visited but without a distance meets one of this level
// whose finder has not written it yet, and offers a predecessor all the same.
//
// Cost: each arc about once top-down, a few arcs per vertex bottom-up; 1 barrier per level. Memory:
// 8 bytes per vertex for two queues, 1/4 for two bitmaps.

#include <mgraph/grid_barrier.cuh>
#include <mgraph/stop_watch.cuh>

#include "bfs_levels.cuh"
#include "progress_watch.cuh"

namespace {

// Whether all targets, or the first of them, are reached, at most at that level: other blocks may
// have begun with the next one.
__device__ bool targets_are_reached(const search_request& request, const int* distance, int level) {
  int reached = 0;
  for (int base = 0; base < request.target_count; base += blockDim.x) {
    const int i = base + threadIdx.x;
    reached += __syncthreads_count(i < request.target_count &&
                                   fresh(&distance[request.targets[i]]) <= level);
  }
  return request.target_count > 0 &&
         (request.stop_at_first ? reached > 0 : reached == request.target_count);
}

// Whether fewer reads find the next level bottom-up. An arc leads to a visited vertex with the
// probability of visited arcs, so that a row is read up to the inverse of that, or whole.
__device__ bool is_bottom_up_cheaper(const graph& graph_, const level_sums& found, double reached,
                                     u64 visited_arcs) {
  const double arcs = double(graph_.num_arcs);
  const double row = min(arcs / double(graph_.n), arcs / double(visited_arcs));
  return double(found.arcs) * top_down_cost > (double(graph_.n) - reached) * row;
}

__device__ level_sums read_sums(const level_sums* sums) {
  return {fresh(&sums->arcs), fresh(&sums->vertices), fresh(&sums->pieces)};
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 1)
    bfs_search(__grid_constant__ const graph graph_, __grid_constant__ const search_request request,
               __grid_constant__ const search_memory memory) {
  __shared__ stop_watch cancel_watch;
  __shared__ progress_watch progress;
  __shared__ level_sums block_sums[2];
  const bool is_watching = blockIdx.x == 0 && threadIdx.x == 0;
  if (threadIdx.x == 0) {
    cancel_watch = {request.cancel_flag, 0, false};
    progress.begin(request.patience);
  }
  grid_barrier barrier{memory.arrived, 0};
  const int block_warps = blockDim.x / 32;
  const team grid_team{(long long)blockIdx.x * block_warps + threadIdx.x / 32,
                       (long long)gridDim.x * block_warps};
  const team block_team{threadIdx.x / 32, block_warps};
  const long long words = (graph_.n + 31) / 32;
  u32* visited = memory.visited;
  u32* other = memory.visited + words;

  // The sources become the vertices of level 0: new ones of a level -1.
  {
    const level_view sources{graph_, memory, visited, &memory.sums[0], -1, true};
    u64 arcs = 0;
    for (long long first = 32 * grid_team.warp; first < request.source_count;
         first += 32 * grid_team.warps) {
      const long long i = first + (threadIdx.x & 31);
      const bool is_source = i < request.source_count;
      const int v = is_source ? request.sources[i] : 0;
      if (is_source) {
        memory.distance[v] = 0;
        atomicOr(&visited[v / 32], 1u << (v & 31));
      }
      arcs += sources.append(is_source, v);
    }
    sources.add_arcs(arcs);
  }
  barrier.wait();

  level_sums found = read_sums(&memory.sums[0]);
  u64 visited_arcs = found.arcs;
  double reached = found.vertices;
  int level = 0, slot = 0;
  bool odd = false, bottom_up = false;
  const auto is_over = [&] {
    return !found.vertices || level >= request.cutoff || fresh(memory.stopped_level) <= level ||
           targets_are_reached(request, memory.distance, level);
  };
  while (!is_over()) {
    const bool is_solo = !bottom_up && found.arcs <= solo_arcs;
    if (is_solo) {
      if (blockIdx.x == 0) {
        bool goes_on = true;
        while (goes_on) {
          if (threadIdx.x == 0) block_sums[level & 1] = {0, 0, 0};
          __syncthreads();
          const level_view view{graph_, memory, visited, &block_sums[level & 1], level, odd};
          view.expand(block_team, found);
          __syncthreads();
          found = block_sums[level & 1];
          visited_arcs += found.arcs;
          reached += found.vertices;
          ++level, odd = !odd;
          if (threadIdx.x == 0) {
            progress.reached = reached;
            const bool is_slow =
                found.vertices &&
                progress.gives_up(request.patience, request.min_reached_per_nanosecond);
            if (is_slow) *memory.gave_up = 1;
            if (is_slow || cancel_watch.stopped()) *memory.stopped_level = level;
          }
          __syncthreads();
          goes_on = found.arcs <= solo_arcs && !is_over();
        }
        // The sums of levels stay as they are: other blocks may still read the last.
        if (threadIdx.x == 0) *memory.state = {level, found, visited_arcs};
      }
      barrier.wait();
      const int before = level;
      level = fresh(&memory.state->level);
      found = read_sums(&memory.state->found);
      visited_arcs = fresh(&memory.state->visited_arcs);
      if (blockIdx.x && (level - before) & 1) odd = !odd;
      continue;
    }
    const bool was_bottom_up = bottom_up;
    if (graph_.has_mirrors) {
      bottom_up = bottom_up ? u64(found.vertices) * top_down_share >= u64(graph_.n)
                            : is_bottom_up_cheaper(graph_, found, reached, visited_arcs);
    }
    const int next_slot = (slot + 1) % 3;
    if (blockIdx.x == 0 && threadIdx.x == 0) memory.sums[(slot + 2) % 3] = {0, 0, 0};
    if (was_bottom_up && !bottom_up) {
      // `other` is the bitmap before this level was found.
      const level_view before{graph_, memory, other, &memory.sums[3], level, !odd};
      before.collect(grid_team, visited);
      barrier.wait();
      found.pieces = fresh(&memory.sums[3].pieces);
    }
    const level_view view{graph_, memory, visited, &memory.sums[next_slot], level, odd};
    if (bottom_up) {
      if (is_watching) memory.sums[3] = {0, 0, 0};
      view.search_rows(grid_team, other);
    } else {
      view.expand(grid_team, found);
    }
    if (is_watching) {
      progress.reached = reached;
      const bool is_slow = progress.gives_up(request.patience, request.min_reached_per_nanosecond);
      if (is_slow) *memory.gave_up = 1;
      if (is_slow || cancel_watch.stopped()) *memory.stopped_level = level + 1;
    }
    barrier.wait();
    if (bottom_up) {
      u32* const written = other;
      other = visited, visited = written;
    }
    slot = next_slot;
    found = read_sums(&memory.sums[slot]);
    visited_arcs += found.arcs;
    reached += found.vertices;
    ++level, odd = !odd;
  }
}
