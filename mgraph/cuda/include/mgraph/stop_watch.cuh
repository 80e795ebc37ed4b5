// Polls the flag by which the host cancels a launch (cancellation_gpu.py). The flag is a word of
// pinned host memory, which is read over the bus in a microsecond or two: so one thread polls it,
// at most a thousand times per second, and passes the answer on to the others.
#pragma once

#include <mgraph/clock.cuh>

namespace mgraph {

constexpr long long stop_watch_cycles = 1 << 21;  // between two polls, about a millisecond

struct stop_watch {
  const unsigned* flag;  // null: the launch cannot be cancelled
  long long last_poll;   // in cycles; 0 at first
  bool is_stopped;       // whether a poll has found the flag raised; false at first

  // To be called by one thread, always the same.
  __device__ bool stopped() {
    if (is_stopped || !flag) return is_stopped;
    const long long now = cycles();
    if (now - last_poll < stop_watch_cycles) return false;
    last_poll = now;
    is_stopped = *(const volatile unsigned*)flag != 0;
    return is_stopped;
  }
};

}  // namespace mgraph
