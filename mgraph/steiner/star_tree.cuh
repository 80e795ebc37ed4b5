// A query's tree as STAR sees it: its loose paths, and the exchange of one for a shorter path.
//
// Every fixed vertex but the root is the lower end of one loose path, and both share a slot. The
// slots' links to their upper ends form a small tree, of at most 2·k - 3 paths for k terminals, in
// which all decisions are made; the vertices of the paths are copied, cut and joined by all threads
// of one block, the first of the query's team. A path's steps are stored from either end; its first
// vertex says which (is_upward).
//
// An exchange (``merge`` of algorithm 2): the ends of the new path are located. Where an end is an
// intermediate vertex of a loose path, that path is split there, and the end becomes a fixed
// vertex. The links from the new path's lower end to the removed path's are reversed. Finally, an
// end of the removed path that is no terminal and has degree 2 is no longer a fixed vertex, and the
// two loose paths that meet there are joined.
//
// Cost of an exchange: what is copied, one look at each vertex of the tree, and a few dozen
// dependent reads.
#pragma once

#include "arc_queue.cuh"

namespace mgraph {

struct loose_path {
  key_t length;     // the key of its cost; below 0: not known yet
  int vertex;       // the lower end; -1: the slot is free
  int up;           // the slot of the upper end; -1: the root
  int start, size;  // of its steps, those of both ends included
  int terminal;     // whether the lower end is a terminal
};

// What the blocks of a team share about their query. Written by the team's first block, between two
// barriers of the team, except for `winner` and `next_attempt`, which every group of the team
// updates atomically, and `timed_out`, which any group may set.
struct team_state {
  u64 winner;  // upper half: the first attempt with a replacement; lower half: its group; ~0: none
  u32 query, next_attempt;  // next_attempt: the next loose path to be tried, in their order
  u32 attempts, timed_out;  // the number of loose paths to be tried; whether time ended before that
  u32 finished;             // whether this was the last round
  int root, newest;         // newest: the slot of the path that was put in last, or -1
  int half, used;           // the half of the steps' memory that is in use, and how much of it
  int free_count;           // of slots
};

// The memory of all teams.
struct team_memory {
  team_state* states;  // [teams]
  loose_path* paths;   // [teams][slots]
  int* orders;         // [teams][2][slots]: the order of the attempts, and the free slots
  path_step* steps;    // [teams][2 halves][capacity]
};

struct star_tree {
  team_state* state;
  loose_path* paths;  // [slots]
  int* order;         // [slots]: the paths to be tried
  int* free_slots;    // [slots]
  int slots;
  path_step* step_memory;  // [2 halves][capacity]
  int capacity;

  __device__ path_step* steps() const { return step_memory + size_t(state->half) * capacity; }

  // The index of the step that is i steps above the lower end of a path.
  __device__ static int step_index(const loose_path& path, bool upward, int i) {
    return upward ? path.start + i : path.start + path.size - 1 - i;
  }
  __device__ bool is_upward(const loose_path& path) const {
    return steps()[path.start].vertex == path.vertex;
  }

  // Take a query's paths from the host. By one block, as all that follows.
  __device__ void load(const loose_path* host_paths, int count, const path_step* host_steps,
                       int step_count, int root) {
    for (int i = threadIdx.x; i < slots; i += blockDim.x) {
      if (i < count) {
        paths[i] = host_paths[i];
      } else {
        paths[i].vertex = -1;
        free_slots[i - count] = i;
      }
    }
    for (int i = threadIdx.x; i < step_count; i += blockDim.x) step_memory[i] = host_steps[i];
    if (threadIdx.x == 0) {
      state->root = root;
      state->newest = -1;
      state->half = 0;
      state->used = step_count;
      state->free_count = slots - count;
      state->timed_out = 0;
    }
    __syncthreads();
    measure_paths();
  }

  // Put the paths in the order of their attempts: the longest first, of equal ones the one with the
  // smallest lower end; with integer weights the newest path is left out.
  __device__ void rank_paths() {
    const int newest = whole_weights ? state->newest : -1;
    for (int i = threadIdx.x; i < slots; i += blockDim.x) {
      const loose_path path = paths[i];
      if (path.vertex < 0 || i == newest) continue;
      int rank = 0;
      for (int j = 0; j < slots; ++j) {
        const int vertex = paths[j].vertex;
        const key_t length = paths[j].length;
        const bool precedes =
            length > path.length || (length == path.length && vertex < path.vertex);
        rank += precedes && vertex >= 0 && j != newest;
      }
      order[rank] = i;
    }
    if (threadIdx.x == 0) {
      state->winner = ~0ULL;
      state->next_attempt = 0;
      state->attempts = slots - state->free_count - (newest >= 0);
    }
    __syncthreads();
  }

  // Replace the path of a slot by a shorter one: vertices from the partition below to the partition
  // above, and the weights between them. Returns false where the memory does not suffice; then the
  // tree cannot be used any more.
  __device__ bool exchange(int removed, const int* vertex, const key_t* weight_to_next, int size) {
    __shared__ location low, high;
    __shared__ int upper;
    locate(vertex[0], removed, low);
    locate(vertex[size - 1], removed, high);
    const int start = reserve(size);
    if (start < 0) return false;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
      steps()[start + i] = {i + 1 < size ? weight_to_next[i] : key_t(0), vertex[i]};
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      upper = paths[removed].up;
      const int above = split(high), first = split(low);
      // In the partition below, links are turned round from where the new path begins to where the
      // removed path did, and each slot takes the path that led to it.
      loose_path incoming = {key_t(-1), 0, above, start, size, 0};
      for (int slot = first, from = above;;) {
        const loose_path old = paths[slot];
        paths[slot] = {incoming.length, old.vertex,    from,
                       incoming.start,  incoming.size, old.terminal};
        if (slot == removed) break;
        incoming = old;
        from = slot;
        slot = old.up;
      }
      state->newest = first;
    }
    __syncthreads();
    if (!join_at(removed) || !join_at(upper)) return false;
    measure_paths();
    return true;
  }

  // Write all paths out, one after another; the last step of each has no_key for its weight.
  // Returns the number of steps. reserve_output: reserves memory for them, or returns null.
  template <class Reserve> __device__ int write_out(Reserve reserve_output) {
    __shared__ path_step* to;
    __shared__ int size;
    if (threadIdx.x == 0) {
      size = 0;
      for (int slot = 0; slot < slots; ++slot) {
        order[slot] = size;
        size += paths[slot].vertex < 0 ? 0 : paths[slot].size;
      }
      to = reserve_output(size);
    }
    __syncthreads();
    for_each_path([&](int slot, const loose_path& path, int lane) {
      for (int i = lane; to && i < path.size; i += 32) {
        path_step step = steps()[path.start + i];
        if (i == path.size - 1) step.weight = no_key;
        to[order[slot] + i] = step;
      }
    });
    const int total = size;
    __syncthreads();
    return total;
  }

 private:
  struct location {
    int slot, index;  // index: steps above the lower end of the slot's path; slot -1: the root
  };

  // Call f(slot, path, lane) for all paths, one warp per path.
  template <class F> __device__ void for_each_path(F f) const {
    for (int slot = threadIdx.x / 32; slot < slots; slot += blockDim.x / 32) {
      const loose_path path = paths[slot];
      if (path.vertex >= 0) f(slot, path, int(threadIdx.x & 31));
    }
  }

  // Add up the costs of new paths, from the lower end up whichever way the steps go, so that
  // fractions are rounded as tree_cpu.py rounds them.
  __device__ void measure_paths() {
    for_each_path([&](int slot, const loose_path& path, int lane) {
      if (path.length >= 0) return;
      const bool upward = is_upward(path);
      cost_t cost = 0;
      for (int i = lane; i < path.size - 1; i += 32) {
        cost += cost_of(steps()[upward ? path.start + i : path.start + path.size - 2 - i].weight);
      }
      for (int distance = 16; distance; distance /= 2) {
        cost += __shfl_xor_sync(all_lanes, cost, distance);
      }
      __syncwarp();
      if (lane == 0) paths[slot].length = cost_key(cost);
    });
    __syncthreads();
  }

  // Find a vertex of the tree, the intermediate vertices of one path left out.
  __device__ void locate(int v, int excluded, location& result) {
    if (threadIdx.x == 0) result = {-1, 0};  // the root, unless it is found elsewhere
    __syncthreads();
    for_each_path([&](int slot, const loose_path& path, int lane) {
      const bool upward = is_upward(path);
      const int count = slot == excluded ? 1 : path.size - 1;
      for (int i = lane; i < count; i += 32) {
        if (steps()[step_index(path, upward, i)].vertex == v) result = {slot, i};
      }
    });
    __syncthreads();
  }

  // Split a path in two at a vertex, which becomes a fixed vertex; returns its slot. By one thread.
  __device__ int split(const location& vertex_location) {
    if (vertex_location.slot < 0 || vertex_location.index == 0) return vertex_location.slot;
    loose_path& lower = paths[vertex_location.slot];
    const bool upward = is_upward(lower);
    const int slot = free_slots[--state->free_count], rest = lower.size - vertex_location.index;
    const int vertex = steps()[step_index(lower, upward, vertex_location.index)].vertex;
    const int middle = step_index(lower, upward, vertex_location.index);
    paths[slot] = {key_t(-1), vertex, lower.up, upward ? middle : lower.start, rest, 0};
    lower = {
        key_t(-1),     lower.vertex, slot, upward ? lower.start : middle, vertex_location.index + 1,
        lower.terminal};
    return slot;
  }

  // If the vertex of a slot is no longer a fixed vertex, join the two paths that meet there.
  // Returns false where the memory does not suffice.
  __device__ bool join_at(int slot) {
    __shared__ int children, child;
    if (slot < 0 || paths[slot].terminal) return true;
    if (threadIdx.x == 0) children = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < slots; i += blockDim.x) {
      if (paths[i].vertex >= 0 && paths[i].up == slot) {
        if (atomicAdd(&children, 1) == 0) child = i;
      }
    }
    __syncthreads();
    if (children != 1) {
      __syncthreads();
      return true;
    }
    const int start = reserve(paths[child].size + paths[slot].size - 1);
    if (start < 0) return false;
    const loose_path lower = paths[child], upper = paths[slot];
    copy_upward(lower, start);
    __syncthreads();
    copy_upward(upper, start + lower.size - 1);
    __syncthreads();
    if (threadIdx.x == 0) {
      const int size = lower.size + upper.size - 1;
      paths[child] = {key_t(-1), lower.vertex, upper.up, start, size, lower.terminal};
      paths[slot].vertex = -1;
      free_slots[state->free_count++] = slot;
    }
    __syncthreads();
    return true;
  }

  // Copy a path's steps, from its lower end up.
  __device__ void copy_upward(const loose_path& path, int start) {
    const bool upward = is_upward(path);
    for (int i = threadIdx.x; i < path.size; i += blockDim.x) {
      path_step step = steps()[step_index(path, upward, i)];
      if (!upward) {
        step.weight =
            i + 1 < path.size ? steps()[step_index(path, upward, i + 1)].weight : key_t(0);
      }
      steps()[start + i] = step;
    }
  }

  // Reserve memory for steps; returns the index of the first, or -1 where the memory does not
  // suffice.
  __device__ int reserve(int size) {
    __shared__ int first;
    const bool is_full = state->used + size > capacity;
    __syncthreads();
    if (is_full) compact();
    if (threadIdx.x == 0) {
      first = state->used + size > capacity ? -1 : state->used;
      if (first >= 0) state->used += size;
    }
    __syncthreads();
    const int start = first;
    __syncthreads();
    return start;
  }

  // Copy all paths into the other half of the memory.
  __device__ void compact() {
    __shared__ int used;
    path_step* const to = step_memory + size_t(1 - state->half) * capacity;
    if (threadIdx.x == 0) used = 0;
    __syncthreads();
    for_each_path([&](int slot, const loose_path& path, int lane) {
      int start = 0;
      if (lane == 0) start = atomicAdd(&used, path.size);
      start = __shfl_sync(all_lanes, start, 0);
      for (int i = lane; i < path.size; i += 32) to[start + i] = steps()[path.start + i];
      __syncwarp();
      if (lane == 0) paths[slot].start = start;
    });
    __syncthreads();
    if (threadIdx.x == 0) {
      state->half = 1 - state->half;
      state->used = used;
    }
    __syncthreads();
  }
};

}  // namespace mgraph
