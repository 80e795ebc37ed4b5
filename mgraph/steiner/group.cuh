// A group of blocks that work on one thing, and their barrier: as many neighbouring blocks as the launch
// says, all of which must be resident, as for grid_barrier.cuh. A group that is one block needs no memory
// for it.
#pragma once

#include <mgraph/grid_barrier.cuh>

namespace mgraph {

// What a group's blocks tell each other, and copies of it as at the last two barriers, for groups of
// several blocks. T: of up to 32 words. 0 at the launch.
template <class T> struct shared_counters : T {
  unsigned long long published[2][32];
};

struct group {
  int blocks, rank;            // how many, and which of them this is
  unsigned long long* count;   // how many have arrived at barriers; 0 at the launch
  unsigned long long awaited;  // as a block's first thread knows

  __device__ unsigned thread() const { return rank * blockDim.x + threadIdx.x; }
  __device__ unsigned threads() const { return blocks * blockDim.x; }
  __device__ bool leads() const { return rank == 0 && threadIdx.x == 0; }

  __device__ void wait() {
    __syncthreads();
    if (blocks == 1) return;
    if (threadIdx.x == 0) {
      awaited += blocks;
      fence();
      atomicAdd(count, 1ULL);
      while (*(volatile unsigned long long*)count < awaited) {
      }
      fence();
    }
    __syncthreads();
  }

  // What two of the group's threads write and then read of each other, at least one of them sees.
  __device__ void fence_both() const {
    if (blocks == 1) {
      asm volatile("fence.sc.cta;" ::: "memory");
    } else {
      asm volatile("fence.sc.gpu;" ::: "memory");
    }
  }

  // The first block does something as if it were the only one; the others wait for it. For a group in
  // shared memory.
  template <class F> __device__ void first_alone(F f) {
    if (rank == 0) {
      const int all = blocks;
      __syncthreads();
      if (threadIdx.x == 0) blocks = 1;
      __syncthreads();
      f();
      __syncthreads();
      if (threadIdx.x == 0) blocks = all;
      __syncthreads();
    }
    wait();
  }

  // Wait for all, and copy what they told; it is for the first warp, until the block is in step again.
  // The last block to arrive publishes it, so that others need not wait before they tell something new.
  template <class T> __device__ void see(shared_counters<T>* told, T& seen) {
    constexpr int words = sizeof(T) / 4;
    static_assert(words <= 32, "a word a lane");
    const volatile unsigned* const now = (const volatile unsigned*)static_cast<T*>(told);
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const bool mine = threadIdx.x < words;
    unsigned word = 0;
    if (blocks == 1) {
      if (mine) word = now[threadIdx.x];
    } else {
      bool last = false;
      fence();
      if (threadIdx.x == 0) {
        awaited += blocks;
        last = atomicAdd(count, 1ULL) + 1 == awaited;
      }
      last = __any_sync(~0u, last);
      // A word goes with the number of the barrier, so that who finds it knows that it is new.
      const unsigned tag = __shfl_sync(~0u, unsigned(awaited / blocks), 0);
      volatile unsigned long long* const at = &told->published[tag & 1][threadIdx.x];
      if (last) {
        fence();
        if (mine) {
          word = now[threadIdx.x];
          *at = (unsigned long long)tag << 32 | word;
        }
      } else if (mine) {
        unsigned long long found;
        do {
          found = *at;
        } while (unsigned(found >> 32) != tag);
        word = unsigned(found);
      }
      fence();
    }
    if (mine) ((unsigned*)&seen)[threadIdx.x] = word;
    __syncwarp();
  }
};

// counts: of each group.
__device__ __forceinline__ group this_group(int blocks, unsigned long long* counts) {
  return {blocks, int(blockIdx.x) % blocks, counts + blockIdx.x / blocks, 0};
}

}  // namespace mgraph
