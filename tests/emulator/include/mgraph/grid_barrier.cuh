// Stands in for the header of this name where kernels run on a CPU.
#pragma once

#include <mgraph/fresh.cuh>

namespace mgraph {

struct grid_barrier {
  unsigned long long* arrived;
  unsigned long long awaited;

  void wait(unsigned = 0) {
    __syncthreads();
    if (threadIdx.x == 0) {
      awaited += gridDim.x;
      atomicAdd(arrived, 1);
      while (fresh(arrived) < awaited) emulator::leave();
    }
    __syncthreads();
  }
};

}  // namespace mgraph
