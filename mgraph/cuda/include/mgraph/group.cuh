// A group of blocks that work on one thing, and their barrier.
//
// MGRAPH_CLUSTER is the number of blocks in a cluster: then a group may be a cluster, whose blocks are
// resident together and whose barrier is the hardware's (compute capability 9). Else a group is as
// many neighbouring blocks as the launch says, all of which must be resident: at most one a
// multiprocessor, and no other launch that waits like this at the same time, see grid_barrier.cuh.
#pragma once

#include "mgraph/grid_barrier.cuh"

namespace mgraph {

template <bool is_cluster> struct group_of {
  int blocks, rank;              // how many, and which of them this is
  // How many have arrived at barriers, and for how many arrivals what was told is published; both 0 at
  // the launch. Of groups of several blocks without a cluster.
  unsigned long long* counts;
  unsigned long long awaited;

  __device__ unsigned thread() const { return rank * blockDim.x + threadIdx.x; }
  __device__ unsigned threads() const { return blocks * blockDim.x; }
  __device__ bool leads() const { return rank == 0 && threadIdx.x == 0; }

  __device__ void wait() {
    if (blocks == 1) {
      __syncthreads();
    } else if constexpr (is_cluster) {
#if __CUDA_ARCH__ >= 900
      __syncwarp();
      asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
#endif
    } else {
      __syncthreads();
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
  }

  // Wait for all, and copy what they told; it is for the first warp, until all resume. told: the thing
  // itself, and two copies of it in memory: the last block to arrive publishes one, so that others need
  // not wait before they tell something new.
  template <class T> __device__ void see(T* told, T& seen) {
    const T* from = told;
    if (is_cluster || blocks == 1) {
      wait();
    } else {
      __syncthreads();
      if (threadIdx.x < 32) from = published(told);
    }
    if (threadIdx.x < 32) {
      copy((unsigned*)&seen, (const unsigned*)from, sizeof(T) / 4);
      __syncwarp();
    }
  }

  __device__ void resume() {
    if constexpr (is_cluster) {
      wait();
    } else {
      __syncthreads();
    }
  }

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
    T* const to = told + 1 + __shfl_sync(~0u, int(awaited / blocks & 1), 0);
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

template <class Group>
__device__ __forceinline__ Group this_group(int blocks, unsigned long long* counts) {
  return {blocks, int(blockIdx.x) % blocks, counts + 2 * (blockIdx.x / blocks), 0};
}

// The first block's copy of a variable in shared memory, for all blocks of a cluster.
template <class T> __device__ __forceinline__ T* of_first_block(T* mine) {
  T* its = mine;
#if __CUDA_ARCH__ >= 900
  asm("mapa.u64 %0, %1, 0;" : "=l"(its) : "l"(mine));
#endif
  return its;
}

using group = group_of<(MGRAPH_CLUSTER > 1)>;
using team = group_of<false>;  // of groups

// The launch's groups are so many blocks each. arrived: of each group.

}  // namespace mgraph
