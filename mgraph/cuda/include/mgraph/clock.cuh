// Clocks of a device.
#pragma once

namespace mgraph {

// The time in nanoseconds, the same on all multiprocessors.
__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// The cycles of this multiprocessor, each of which has its own counter; faster to read.
__device__ __forceinline__ long long cycles() { return clock64(); }

}  // namespace mgraph
