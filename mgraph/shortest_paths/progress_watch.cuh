// Whether a search reaches so few vertices that it is better done on a core: fastest_device.py.
#pragma once

#include <mgraph/clock.cuh>

constexpr int windows = 3;  // of a search's patience

// The time in which a search reaches few vertices, by windows of a fraction of the patience. One
// thread has it, and sets `reached`.
struct progress_watch {
  unsigned long long window_begin;  // in nanoseconds
  double reached, reached_before, slow_time;
  bool is_slow;

  // patience: in nanoseconds; 0: the search never gives up.
  __device__ void begin(double patience) {
    window_begin = patience > 0 ? mgraph::nanoseconds() : 0;
    reached = reached_before = slow_time = 0;
    is_slow = false;
  }

  // Look at the time, and return whether it is enough.
  __device__ bool gives_up(double patience, double min_reached_per_nanosecond) {
    if (patience <= 0) return false;
    const unsigned long long now = mgraph::nanoseconds();
    const double time = double(now - window_begin);
    if (time * windows >= patience) {
      if (reached - reached_before < time * min_reached_per_nanosecond) slow_time += time;
      window_begin = now;
      reached_before = reached;
    }
    is_slow = slow_time >= patience;
    return is_slow;
  }
};
