// A warp's lanes.
#pragma once

namespace mgraph {

// The lanes of the warp below this one, as bits. A special register: a shift of 1 by the lane would
// be computed again in every round of a loop.
__device__ __forceinline__ unsigned lanes_below() {
  unsigned lanes;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
  return lanes;
}

}  // namespace mgraph
