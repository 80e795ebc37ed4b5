// A query's tree as STAR sees it: its loose paths, and the exchange of one for a shorter path.
//
// Every fixed vertex but the root is the lower end of one loose path, and they share a slot. The
// slots' links to their upper ends are a small tree, of 2·k - 3 paths for k terminals at most, in which
// all decisions are made; the paths' vertices are copied, cut and joined by all threads of a block.
// A path's steps go from its lower end up or the other way: which, its first vertex tells.
//
// Cost of an exchange: what is copied, a look at every vertex of the tree, a few dozen dependent reads.
#pragma once

#include "arc_queue.cuh"

namespace mgraph {

struct loose_path {
  key_t length;    // the key of its cost; below 0: not known yet
  int vertex;      // the lower end; -1: the slot is free
  int up;          // the slot of the upper end; -1: the root
  int start, size; // of its steps, both ends among them
  int terminal;    // whether the lower end is one
};

// What the blocks of a team tell each other.
struct team_state {
  u64 winner;         // above bit 32 which path is the first to be replaced, below the group; or all ones
  u32 query, next;    // next: to be tried, in their order
  u32 tried, late;    // how many are to be tried; whether the time was up before all were
  u32 over;           // whether this was the last round
  int root, newest;   // newest: the slot of the path put in last, or -1
  int half, used;     // of the steps' memory, the half that is in use, and how much of it
  int free_count;
};

struct star_tree {
  team_state* state;
  loose_path* paths;  // [slots]
  int* order;         // [slots] of the paths to be tried
  int* free;          // [slots]
  int slots;
  path_step* memory;  // [2][capacity]
  int capacity;

  __device__ path_step* steps() const { return memory + size_t(state->half) * capacity; }

  __device__ static int at(const loose_path& path, bool upward, int i) {
    return upward ? path.start + i : path.start + path.size - 1 - i;
  }
  __device__ bool upward(const loose_path& path) const {
    return steps()[path.start].vertex == path.vertex;
  }

  // Take a query's paths. By a block, as all that follows.
  __device__ void take(const loose_path* given, int count, const path_step* steps, int size, int root) {
    for (int i = threadIdx.x; i < slots; i += blockDim.x) {
      if (i < count) {
        paths[i] = given[i];
      } else {
        paths[i].vertex = -1;
        free[i - count] = i;
      }
    }
    for (int i = threadIdx.x; i < size; i += blockDim.x) memory[i] = steps[i];
    if (threadIdx.x == 0) {
      state->root = root;
      state->newest = -1;
      state->half = 0;
      state->used = size;
      state->free_count = slots - count;
      state->late = 0;
    }
    __syncthreads();
    measure();
  }

  // Put the paths in the order of trial: the longest first, of equal ones that with the least lower
  // end; of whole weights all but the newest.
  __device__ void rank() {
    const int newest = whole_weights ? state->newest : -1;
    for (int i = threadIdx.x; i < slots; i += blockDim.x) {
      const loose_path mine = paths[i];
      if (mine.vertex < 0 || i == newest) continue;
      int before = 0;
      for (int j = 0; j < slots; ++j) {
        const int vertex = paths[j].vertex;
        const key_t length = paths[j].length;
        const bool comes = length > mine.length || (length == mine.length && vertex < mine.vertex);
        before += comes && vertex >= 0 && j != newest;
      }
      order[before] = i;
    }
    if (threadIdx.x == 0) {
      state->winner = ~0ULL;
      state->next = 0;
      state->tried = slots - state->free_count - (newest >= 0);
    }
    __syncthreads();
  }

  // Replace a path by a shorter one: its vertices from the partition below to that above, and the
  // weights between them. Returns false where memory does not suffice; the tree is of no use then.
  __device__ bool exchange(int removed, const int* vertex, const key_t* to_next, int size) {
    __shared__ place low, high;
    __shared__ int upper;
    find(vertex[0], removed, low);
    find(vertex[size - 1], removed, high);
    const int start = reserve(size);
    if (start < 0) return false;
    for (int i = threadIdx.x; i < size; i += blockDim.x) {
      steps()[start + i] = {i + 1 < size ? to_next[i] : key_t(0), vertex[i]};
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      upper = paths[removed].up;
      const int above = split(high), first = split(low);
      // Below, links turn round from where the new path begins to where the old one did, and each
      // slot takes the path that led to it.
      loose_path over = {key_t(-1), 0, above, start, size, 0};
      for (int slot = first, from = above;;) {
        const loose_path here = paths[slot];
        paths[slot] = {over.length, here.vertex, from, over.start, over.size, here.terminal};
        if (slot == removed) break;
        over = here;
        from = slot;
        slot = here.up;
      }
      state->newest = first;
    }
    __syncthreads();
    if (!dissolve(removed) || !dissolve(upper)) return false;
    measure();
    return true;
  }

  // Write all paths down, one after another; the last step of each has no_key for a weight. Returns how
  // many steps there are. to: asks for room, and gives null where there is none.
  template <class Room> __device__ int hand_out(Room room) {
    __shared__ path_step* to;
    __shared__ int size;
    if (threadIdx.x == 0) {
      size = 0;
      for (int slot = 0; slot < slots; ++slot) {
        order[slot] = size;
        size += paths[slot].vertex < 0 ? 0 : paths[slot].size;
      }
      to = room(size);
    }
    __syncthreads();
    for_each_path([&](int slot, const loose_path& path, int lane) {
      for (int i = lane; to && i < path.size; i += 32) {
        path_step step = steps()[path.start + i];
        if (i == path.size - 1) step.weight = no_key;
        to[order[slot] + i] = step;
      }
    });
    const int told = size;
    __syncthreads();
    return told;
  }

 private:
  struct place {
    int slot, index;  // how many steps above the slot's lower end; slot -1: the root
  };

  // Call f(slot, path, lane) for all paths, a warp a path.
  template <class F> __device__ void for_each_path(F f) const {
    for (int slot = threadIdx.x / 32; slot < slots; slot += blockDim.x / 32) {
      const loose_path path = paths[slot];
      if (path.vertex >= 0) f(slot, path, int(threadIdx.x & 31));
    }
  }

  // From the lower end up, whichever way the steps go, so that fractions are rounded as tree_cpu.py
  // rounds them.
  __device__ void measure() {
    for_each_path([&](int slot, const loose_path& path, int lane) {
      if (path.length >= 0) return;
      const bool up = upward(path);
      cost_t cost = 0;
      for (int i = lane; i < path.size - 1; i += 32) {
        cost += cost_of(steps()[up ? path.start + i : path.start + path.size - 2 - i].weight);
      }
      for (int apart = 16; apart; apart /= 2) cost += __shfl_xor_sync(all_lanes, cost, apart);
      __syncwarp();
      if (lane == 0) paths[slot].length = cost_key(cost);
    });
    __syncthreads();
  }

  // Where a vertex stands, the inside of one path left out.
  __device__ void find(int v, int without, place& found) {
    if (threadIdx.x == 0) found = {-1, 0};  // unless it stands elsewhere
    __syncthreads();
    for_each_path([&](int slot, const loose_path& path, int lane) {
      const bool up = upward(path);
      const int count = slot == without ? 1 : path.size - 1;
      for (int i = lane; i < count; i += 32) {
        if (steps()[at(path, up, i)].vertex == v) found = {slot, i};
      }
    });
    __syncthreads();
  }

  // Cut a path in two at a vertex, which becomes a fixed one; returns its slot. By one thread.
  __device__ int split(const place& there) {
    if (there.slot < 0 || there.index == 0) return there.slot;
    loose_path& lower = paths[there.slot];
    const bool up = upward(lower);
    const int slot = free[--state->free_count], rest = lower.size - there.index;
    const int vertex = steps()[at(lower, up, there.index)].vertex;
    const int middle = at(lower, up, there.index);
    paths[slot] = {key_t(-1), vertex, lower.up, up ? middle : lower.start, rest, 0};
    lower = {key_t(-1), lower.vertex, slot, up ? lower.start : middle, there.index + 1, lower.terminal};
    return slot;
  }

  // Join the two paths at a vertex that is no fixed one any more, if it is none.
  __device__ bool dissolve(int slot) {
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
    const loose_path first = paths[child], then = paths[slot];
    append(first, start);
    __syncthreads();
    append(then, start + first.size - 1);
    __syncthreads();
    if (threadIdx.x == 0) {
      const int size = first.size + then.size - 1;
      paths[child] = {key_t(-1), first.vertex, then.up, start, size, first.terminal};
      paths[slot].vertex = -1;
      free[state->free_count++] = slot;
    }
    __syncthreads();
    return true;
  }

  // Write a path's steps down from its lower end up.
  __device__ void append(const loose_path& path, int start) {
    const bool up = upward(path);
    for (int i = threadIdx.x; i < path.size; i += blockDim.x) {
      path_step step = steps()[at(path, up, i)];
      if (!up) step.weight = i + 1 < path.size ? steps()[at(path, up, i + 1)].weight : key_t(0);
      steps()[start + i] = step;
    }
  }

  // Room for so many steps; returns where it is, or -1.
  __device__ int reserve(int size) {
    __shared__ int start;
    const bool full = state->used + size > capacity;
    __syncthreads();
    if (full) compact();
    if (threadIdx.x == 0) {
      start = state->used + size > capacity ? -1 : state->used;
      if (start >= 0) state->used += size;
    }
    __syncthreads();
    const int told = start;
    __syncthreads();
    return told;
  }

  // Copy all paths into the other half.
  __device__ void compact() {
    __shared__ int used;
    path_step* const to = memory + size_t(1 - state->half) * capacity;
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
