// Stands in for the header of this name where kernels run on a CPU: the same, but who waits lets others
// run.
#pragma once

#include <mgraph/grid_barrier.cuh>

namespace mgraph {

template <class T> struct board : T {
  T published[2];
  unsigned long long tag[2];
};

struct group {
  int blocks, rank;
  unsigned long long* count;
  unsigned long long awaited;

  unsigned thread() const { return rank * blockDim.x + threadIdx.x; }
  unsigned threads() const { return blocks * blockDim.x; }
  bool leads() const { return rank == 0 && threadIdx.x == 0; }

  void wait() {
    __syncthreads();
    if (blocks == 1) return;
    if (threadIdx.x == 0) {
      awaited += blocks;
      atomicAdd(count, 1);
      while (fresh(count) < awaited) emulator::leave();
    }
    __syncthreads();
  }

  void fence_both() const { emulator::perhaps_leave(); }

  template <class F> void first_alone(F f) {
    if (rank == 0) {
      const int all = blocks;
      __syncthreads();
      if (threadIdx.x == 0) blocks = 1;
      __syncthreads();
      f();
      __syncthreads();
      if (threadIdx.x == 0) blocks = all;
      __syncthreads();
    }
    wait();
  }

  template <class T> void see(board<T>* told, T& seen) {
    __syncthreads();
    if (threadIdx.x >= 32) return;
    if (threadIdx.x == 0 && blocks == 1) {
      seen = *told;
    } else if (threadIdx.x == 0) {
      awaited += blocks;
      const unsigned long long tag = awaited / blocks;
      if (atomicAdd(count, 1) + 1 == awaited) {
        told->published[tag & 1] = *told;
        told->tag[tag & 1] = tag;
      }
      while (fresh(&told->tag[tag & 1]) != tag) emulator::leave();
      seen = told->published[tag & 1];
    }
    __syncwarp();
  }
};

inline group this_group(int blocks, unsigned long long* counts) {
  return {blocks, int(blockIdx.x) % blocks, counts + blockIdx.x / blocks, 0};
}

}  // namespace mgraph
