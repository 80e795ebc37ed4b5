// Stands in for the header of this name where kernels run on a CPU: the same, but threads that
// wait let others run.
#pragma once

#include <mgraph/grid_barrier.cuh>

namespace mgraph {

constexpr int shared_counters_bytes = 640;

template <class T> struct shared_counters : T {
  T published[2];
  unsigned long long barrier[2];
};

struct group {
  int blocks, rank;
  unsigned long long* arrivals;
  unsigned long long awaited;

  unsigned thread() const { return rank * blockDim.x + threadIdx.x; }
  unsigned threads() const { return blocks * blockDim.x; }
  bool is_leader() const { return rank == 0 && threadIdx.x == 0; }

  void sync() {
    __syncthreads();
    if (blocks == 1) return;
    if (threadIdx.x == 0) {
      awaited += blocks;
      atomicAdd(arrivals, 1);
      while (fresh(arrivals) < awaited) emulator::leave();
    }
    __syncthreads();
  }

  void fence_seq_cst() const { emulator::perhaps_leave(); }

  template <class F> void run_on_first_block(F f) {
    if (rank == 0) {
      const int all_blocks = blocks;
      __syncthreads();
      if (threadIdx.x == 0) blocks = 1;
      __syncthreads();
      f();
      __syncthreads();
      if (threadIdx.x == 0) blocks = all_blocks;
      __syncthreads();
    }
    sync();
  }

  template <class T> void sync_and_read(shared_counters<T>* counters, T& snapshot) {
    __syncthreads();
    if (threadIdx.x >= 32) return;
    if (threadIdx.x == 0 && blocks == 1) {
      snapshot = *counters;
    } else if (threadIdx.x == 0) {
      awaited += blocks;
      const unsigned long long barrier = awaited / blocks;
      if (atomicAdd(arrivals, 1) + 1 == awaited) {
        counters->published[barrier & 1] = *counters;
        counters->barrier[barrier & 1] = barrier;
      }
      while (fresh(&counters->barrier[barrier & 1]) != barrier) emulator::leave();
      snapshot = counters->published[barrier & 1];
    }
    __syncwarp();
  }
};

inline group group_of_block(int blocks, unsigned long long* arrivals) {
  return {blocks, int(blockIdx.x) % blocks, arrivals + blockIdx.x / blocks, 0};
}

}  // namespace mgraph
