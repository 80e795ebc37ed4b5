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
  int blocks, rank;             // how many, and which of them this is
  unsigned long long* arrived;  // 0 at the launch; of groups of several blocks without a cluster
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
        atomicAdd(arrived, 1ULL);
        while (*(volatile unsigned long long*)arrived < awaited) {
        }
        fence();
      }
      __syncthreads();
    }
  }
};

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
template <class Group> __device__ __forceinline__ Group this_group(int blocks, unsigned long long* arrived) {
  return {blocks, int(blockIdx.x) % blocks, arrived + blockIdx.x / blocks, 0};
}

}  // namespace mgraph
