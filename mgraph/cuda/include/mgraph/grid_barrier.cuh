// A barrier among all blocks of a launch, which must all be resident: launch it cooperatively
// (source.py: launch_resident), so that it begins only where all its blocks fit beside whatever
// other streams run.
#pragma once

#include <mgraph/ordered.cuh>

namespace mgraph {

// Past the first-level cache, which other blocks' writes do not reach.
template <class T> __device__ __forceinline__ T fresh(const T* address) { return __ldcg(address); }

struct grid_barrier {
  unsigned long long* arrived;  // 0 at the launch
  unsigned long long awaited;

  // pause: nanoseconds between two looks, for launches of so many blocks that their looks add up.
  __device__ void wait(unsigned pause = 0) {
    __syncthreads();
    if (threadIdx.x == 0) {
      awaited += gridDim.x;
      fence();
      atomicAdd(arrived, 1ULL);
      while (*(volatile unsigned long long*)arrived < awaited) {
        if (pause) __nanosleep(pause);
      }
      fence();
    }
    __syncthreads();
  }
};

}  // namespace mgraph
