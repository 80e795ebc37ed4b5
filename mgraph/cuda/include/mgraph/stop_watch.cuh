// Whether the host wants a launch to end: it says so by a word in its pinned memory, which is read over
// the bus. That takes a microsecond or two, so one thread looks, a thousand times a second at most, and
// tells the others.
#pragma once

#include <mgraph/clock.cuh>

namespace mgraph {

constexpr long long stop_watch_cycles = 1 << 21;  // between two looks, about a millisecond

struct stop_watch {
  const unsigned* word;  // null: nothing stops the launch
  long long looked;      // when, 0 at first
  bool seen;             // that it is to end; false at first

  // By one thread, always the same.
  __device__ bool stopped() {
    if (seen || !word) return seen;
    const long long now = cycles();
    if (now - looked < stop_watch_cycles) return false;
    looked = now;
    seen = *(const volatile unsigned*)word != 0;
    return seen;
  }
};

}  // namespace mgraph
