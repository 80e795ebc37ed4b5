// A group of blocks that work on one thing, and their barrier: as many neighbouring blocks as the launch
// says, all of which must be resident, and no other launch that waits like this at the same time, see
// grid_barrier.cuh. A group that is one block needs no memory for it.
#pragma once

#include "mgraph/grid_barrier.cuh"

namespace mgraph {

struct group {
  int blocks, rank;  // how many, and which of them this is
  // How many have arrived at barriers, and for how many arrivals what was told is published; both 0 at
  // the launch. Of groups of several blocks.
  unsigned long long* counts;
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
      atomicAdd(counts, 1ULL);
      while (*(volatile unsigned long long*)counts < awaited) {
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

  // Wait for all, and copy what they told; it is for the first warp, until all resume. told: the thing
  // itself, and two copies of it in memory: the last block to arrive publishes one, so that others need
  // not wait before they tell something new.
  template <class T> __device__ void see(T* told, T& seen) {
    __syncthreads();
    if (threadIdx.x < 32) {
      copy((unsigned*)&seen, (const unsigned*)(blocks == 1 ? told : published(told)), sizeof(T) / 4);
      __syncwarp();
    }
  }

  __device__ void resume() { __syncthreads(); }

 private:
  // The copy of what was told, when all have arrived. By one warp.
  template <class T> __device__ const T* published(T* told) {
    const bool leads = threadIdx.x == 0;
    bool last = false;
    if (leads) {
      awaited += blocks;
      fence();
      last = atomicAdd(counts, 1ULL) + 1 == awaited;
      fence();
    }
    __syncwarp();
    T* const to = told + 1 + int(awaited / blocks & 1);
    if (__any_sync(~0u, last)) {
      copy((unsigned*)to, (const unsigned*)told, sizeof(T) / 4);
      __syncwarp();
      if (leads) {
        fence();
        *(volatile unsigned long long*)(counts + 1) = awaited;
      }
    } else if (leads) {
      while (*(volatile unsigned long long*)(counts + 1) < awaited) {
      }
      fence();
    }
    __syncwarp();
    return to;
  }

  __device__ static void copy(unsigned* to, const unsigned* from, int words) {
    for (int i = threadIdx.x; i < words; i += 32) to[i] = ((const volatile unsigned*)from)[i];
  }
};

// counts: two of each group.
__device__ __forceinline__ group this_group(int blocks, unsigned long long* counts) {
  return {blocks, int(blockIdx.x) % blocks, counts + 2 * (blockIdx.x / blocks), 0};
}

}  // namespace mgraph
