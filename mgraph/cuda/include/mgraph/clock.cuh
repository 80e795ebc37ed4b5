// The time, the same on all multiprocessors of a device.
#pragma once

namespace mgraph {

__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

}  // namespace mgraph
