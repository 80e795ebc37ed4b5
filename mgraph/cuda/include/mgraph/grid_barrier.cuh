// A barrier among all blocks of a launch. All blocks must be resident, so launch the kernel
// cooperatively (source.py: launch_resident): the device then starts it only when all its blocks
// fit beside whatever other streams run.
//
// Every block adds 1 to *arrived and waits until the sum is the number of blocks times the number
// of barriers so far. Memory order: __syncthreads makes thread 0's fence cover its whole block, the
// fence before the atomicAdd releases what the block wrote, and the fence after the wait acquires
// what the other blocks wrote.
#pragma once

#include <mgraph/fresh.cuh>
#include <mgraph/ordered.cuh>

namespace mgraph {

struct grid_barrier {
  unsigned long long* arrived;  // 0 at the launch
  unsigned long long awaited;

  // pause: nanoseconds between two polls, for launches of many blocks, whose polls add up.
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
