// The time, the same on all multiprocessors of a device.
#pragma once

namespace mgraph {

__device__ __forceinline__ unsigned long long nanoseconds() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// The time in cycles of a multiprocessor, each of which has its own; read sooner than the other.
__device__ __forceinline__ long long cycles() { return clock64(); }

}  // namespace mgraph
