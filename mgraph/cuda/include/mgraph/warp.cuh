// The lanes of a warp.
#pragma once

namespace mgraph {

// The mask of the lanes below this one, from a special register: a shift by the lane's number would
// be computed again in every round of a loop.
__device__ __forceinline__ unsigned lanes_below() {
  unsigned lanes;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
  return lanes;
}

}  // namespace mgraph
