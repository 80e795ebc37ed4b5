// A group of blocks that work on one thing, and its barriers.
//
// A group is as many neighbouring blocks of a launch as the host says. All of them must be
// resident, as for grid_barrier.cuh. A group of one block needs no global memory for its barriers.
//
// Hand-overs between the blocks of a group:
//
//   sync           The first thread of each block fences, counts its arrival, reads the count until
//                  it is complete, and fences again; block barriers stand before and after. So what
//                  any thread of the group wrote before the barrier, every thread reads after it.
//   sync_and_read  The last block to arrive has seen all arrivals, fences, and publishes the
//                  counters: each word in one 64-bit store beside the number of the barrier. Who
//                  reads that number has the word of this barrier, and fences before going on. The
//                  two published copies alternate: one is written again two barriers later, by when
//                  every block has read it, since a block reads before it arrives again.
#pragma once

#include <mgraph/grid_barrier.cuh>

namespace mgraph {

constexpr int shared_counters_bytes = 640;  // at most, of a group

// The counters that the blocks of a group share (T, of up to 32 words), and the copies of them as
// they stood at the last two barriers, for groups of several blocks. All 0 at the launch.
template <class T> struct shared_counters : T {
  unsigned long long published[2][32];
};

struct group {
  int blocks, rank;              // the number of blocks, and which of them this is
  unsigned long long* arrivals;  // the number of arrivals at barriers; 0 at the launch
  unsigned long long awaited;    // arrivals at the next barrier, as each first thread knows

  __device__ unsigned thread() const { return rank * blockDim.x + threadIdx.x; }
  __device__ unsigned threads() const { return blocks * blockDim.x; }
  __device__ bool is_leader() const { return rank == 0 && threadIdx.x == 0; }

  __device__ void sync() {
    __syncthreads();
    if (blocks == 1) return;
    if (threadIdx.x == 0) {
      awaited += blocks;
      fence();
      atomicAdd(arrivals, 1ULL);
      while (*(volatile unsigned long long*)arrivals < awaited) {
      }
      fence();
    }
    __syncthreads();
  }

  // Two threads each write a word, call this, and read the other's word: at least one of them reads
  // what the other wrote.
  __device__ void fence_seq_cst() const {
    if (blocks == 1) {
      asm volatile("fence.sc.cta;" ::: "memory");
    } else {
      asm volatile("fence.sc.gpu;" ::: "memory");
    }
  }

  // Call f on the first block, for which the group consists of that block alone meanwhile; the
  // other blocks wait. The group must be in shared memory.
  template <class F> __device__ void run_on_first_block(F f) {
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

  // Wait for all blocks, and copy the counters as they stand then into ``snapshot``, in shared
  // memory. Only the first warp may read it before the next block barrier. Other blocks may count
  // again as soon as they have passed: the published copy does not change.
  template <class T> __device__ void sync_and_read(shared_counters<T>* counters, T& snapshot) {
    constexpr int words = sizeof(T) / 4;
    static_assert(words <= 32, "one lane copies one word");
    const volatile unsigned* const current = (const volatile unsigned*)static_cast<T*>(counters);
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const bool has_word = threadIdx.x < words;
    unsigned word = 0;
    if (blocks == 1) {
      if (has_word) word = current[threadIdx.x];
    } else {
      bool is_last = false;
      fence();
      if (threadIdx.x == 0) {
        awaited += blocks;
        is_last = atomicAdd(arrivals, 1ULL) + 1 == awaited;
      }
      is_last = __any_sync(~0u, is_last);
      const unsigned barrier = __shfl_sync(~0u, unsigned(awaited / blocks), 0);
      volatile unsigned long long* const copy = &counters->published[barrier & 1][threadIdx.x];
      if (is_last) {
        fence();
        if (has_word) {
          word = current[threadIdx.x];
          *copy = (unsigned long long)barrier << 32 | word;
        }
      } else if (has_word) {
        unsigned long long tagged_word;
        do {
          tagged_word = *copy;
        } while (unsigned(tagged_word >> 32) != barrier);
        word = unsigned(tagged_word);
      }
      fence();
    }
    if (has_word) ((unsigned*)&snapshot)[threadIdx.x] = word;
    __syncwarp();
  }
};

// The group that this block belongs to, of ``blocks`` blocks. arrivals: one counter per group.
__device__ __forceinline__ group group_of_block(int blocks, unsigned long long* arrivals) {
  return {blocks, int(blockIdx.x) % blocks, arrivals + blockIdx.x / blocks, 0};
}

}  // namespace mgraph
