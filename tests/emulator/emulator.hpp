// CUDA on a CPU: each thread of a launch is a fiber, and one after another, chosen at random, runs
// for a while. A seed decides all, so what fails once can be run again.
//
// Threads are switched at barriers, warp intrinsics, atomic operations, and the loads and stores of
// <mgraph/relaxed.cuh>; in between nothing else runs. Some blocks stand still for long, as on a
// device that is shared. Memory is sequentially consistent, so a missing fence does not show.
// A launch fails where all threads wait for each other, or where they never come to an end.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace emulator {

constexpr size_t stack_bytes = 64 * 1024;
constexpr uint64_t most_steps = 30'000'000;

struct index {
  unsigned x, y = 0, z = 0;
};

// Threads that wait for each other, the values that they brought, and those of the time before,
// which the slower ones have yet to read.
struct meeting {
  unsigned members = 0, arrived = 0;
  uint64_t times = 0;
  std::vector<uint64_t> brought[2];
  std::vector<int> waiting;
};

constexpr size_t beyond = 256;  // bytes after a block's dynamic shared memory, to be left alone
constexpr char unused = char(0xAB);

struct block {
  meeting all;
  std::vector<meeting> warps;
  std::vector<char> dynamic_shared;
  std::map<int, std::vector<char>> static_shared;
  bool stands_still = false;
};

struct thread {
  index thread_index, block_index;
  block* its_block;
  std::vector<char> stack;
  ucontext_t start;
  jmp_buf place;
  bool started = false, done = false;
};

inline std::vector<std::unique_ptr<thread>> threads;
inline std::vector<std::unique_ptr<block>> blocks;
inline std::vector<int> runnable;
inline int current;
inline index launched_blocks, launched_threads;
inline std::function<void()> kernel;
inline jmp_buf scheduler;
inline uint64_t random_state, steps, time_now;

inline uint64_t random_word() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

inline thread& self() { return *threads[current]; }

// Back to the scheduler, until it is this thread's turn again.
inline void leave() {
  ++time_now;
  if (!_setjmp(self().place)) _longjmp(scheduler, 1);
}

inline void perhaps_leave() {
  if (random_word() % 4 == 0) leave();
}

inline void stop_running() {
  *std::find(runnable.begin(), runnable.end(), current) = runnable.back();
  runnable.pop_back();
}

inline void begin_anew(meeting& its) {
  ++its.times;
  its.arrived = 0;
  runnable.insert(runnable.end(), its.waiting.begin(), its.waiting.end());
  its.waiting.clear();
}

// Waits for all members; returns what each brought.
inline const std::vector<uint64_t>& meet(meeting& its, unsigned member, uint64_t value) {
  auto& brought = its.brought[its.times % 2];
  brought[member] = value;
  if (++its.arrived == its.members) {
    begin_anew(its);
  } else {
    stop_running();
    its.waiting.push_back(current);
    leave();
  }
  return brought;
}

inline void leave_for_good(meeting& its) {
  --its.members;
  if (its.members && its.arrived == its.members) begin_anew(its);
}

inline void run_thread() {
  kernel();
  self().done = true;
  stop_running();
  leave_for_good(self().its_block->all);
  leave_for_good(self().its_block->warps[self().thread_index.x / 32]);
  _longjmp(scheduler, 1);
}

inline void prepare(meeting& its, unsigned members) {
  its.members = members;
  for (auto& values : its.brought) values.resize(members);
}

inline void prepare(unsigned grid, unsigned size, size_t shared) {
  threads.clear();
  blocks.clear();
  runnable.clear();
  for (unsigned b = 0; b < grid; ++b) {
    blocks.push_back(std::make_unique<block>());
    block& its = *blocks.back();
    prepare(its.all, size);
    its.warps.resize((size + 31) / 32);
    for (unsigned w = 0; w < its.warps.size(); ++w) prepare(its.warps[w], std::min(32u, size - 32 * w));
    its.dynamic_shared.resize(shared + 16 + beyond, unused);
    for (unsigned t = 0; t < size; ++t) {
      runnable.push_back(int(threads.size()));
      threads.push_back(std::make_unique<thread>());
      thread& one = *threads.back();
      one.thread_index = {t};
      one.block_index = {b};
      one.its_block = &its;
      one.stack.resize(stack_bytes);
      getcontext(&one.start);
      one.start.uc_stack.ss_sp = one.stack.data();
      one.start.uc_stack.ss_size = one.stack.size();
      makecontext(&one.start, run_thread, 0);
    }
  }
}

inline void* aligned(std::vector<char>& bytes) {
  return reinterpret_cast<void*>((uintptr_t(bytes.data()) + 15) / 16 * 16);
}

inline bool wrote_beyond(block& its, size_t shared) {
  const char* end = static_cast<char*>(aligned(its.dynamic_shared)) + shared;
  return std::any_of(end, end + beyond, [](char byte) { return byte != unused; });
}

// 0, or 1 where threads wait for each other, or 2 where they never end, or 3 where a block has less
// shared memory than it writes.
inline int launch(unsigned grid, unsigned size, size_t shared, uint64_t seed,
                  std::function<void()> body) {
  random_state = seed * 0x9E3779B97F4A7C15 + 1;
  kernel = std::move(body);
  launched_blocks = {grid};
  launched_threads = {size};
  prepare(grid, size, shared);
  uint64_t next_change = 0;
  for (steps = 0; !runnable.empty() && steps < most_steps; ++steps) {
    if (steps >= next_change) {
      next_change = steps + random_word() % (200 * size);
      const uint64_t still = random_word() % 4;  // of four blocks, roughly
      for (auto& its : blocks) its->stands_still = random_word() % 4 < still;
    }
    current = runnable[random_word() % runnable.size()];
    if (self().its_block->stands_still && random_word() % 64) continue;
    if (_setjmp(scheduler)) continue;
    if (self().started) _longjmp(self().place, 1);
    self().started = true;
    setcontext(&self().start);
  }
  for (auto& its : blocks) {
    if (wrote_beyond(*its, shared)) return 3;
  }
  if (!runnable.empty()) return 2;
  return std::all_of(threads.begin(), threads.end(), [](auto& one) { return one->done; }) ? 0 : 1;
}

inline void* dynamic_shared() { return aligned(self().its_block->dynamic_shared); }

template <class T> T& static_shared(int which) {
  auto& bytes = self().its_block->static_shared[which];
  if (bytes.empty()) bytes.resize(sizeof(T) + 16, char(0xCD));
  return *static_cast<T*>(aligned(bytes));
}

template <class T> uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T> T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline const std::vector<uint64_t>& of_block(uint64_t value) {
  return meet(self().its_block->all, self().thread_index.x, value);
}

inline const std::vector<uint64_t>& of_warp(uint64_t value) {
  const unsigned t = self().thread_index.x;
  return meet(self().its_block->warps[t / 32], t % 32, value);
}

// A word that a thread may be spinning on.
template <class T> T reread(T* address) {
  perhaps_leave();
  return *static_cast<volatile T*>(address);
}

// A lane's value for this one, or its own where there is no such lane.
template <class T> T of_lane(T value, int lane) {
  const auto& all = of_warp(bits_of(value));
  return lane >= 0 && lane < int(all.size()) ? from_bits<T>(all[lane]) : value;
}

template <class T, class F> T exchange(T* address, F next) {
  perhaps_leave();
  const T old = *address;
  *address = T(next(old));
  perhaps_leave();
  return old;
}

}  // namespace emulator

// The names of CUDA C++.
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define threadIdx (emulator::self().thread_index)
#define blockIdx (emulator::self().block_index)
#define gridDim (emulator::launched_blocks)
#define blockDim (emulator::launched_threads)

using std::max;
using std::min;

struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};
struct alignas(16) longlong2 {
  long long x, y;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};

inline void __syncthreads() { emulator::of_block(0); }
inline int __syncthreads_and(int vote) {
  const auto& all = emulator::of_block(vote != 0);
  return std::find(all.begin(), all.end(), 0) == all.end();
}
inline int __syncthreads_or(int vote) {
  const auto& all = emulator::of_block(vote != 0);
  return std::find(all.begin(), all.end(), 1) != all.end();
}
inline int __syncthreads_count(int vote) {
  const auto& all = emulator::of_block(vote != 0);
  return std::count(all.begin(), all.end(), 1);
}
inline void __nanosleep(unsigned) { emulator::leave(); }

// All lanes of a warp must be in a mask.
inline void __syncwarp(unsigned = ~0u) { emulator::of_warp(0); }
template <class T> T __shfl_sync(unsigned, T value, int lane) {
  return emulator::of_lane(value, lane % 32);
}
template <class T> T __shfl_up_sync(unsigned, T value, unsigned by) {
  return emulator::of_lane(value, int(threadIdx.x % 32) - int(by));
}
template <class T> T __shfl_down_sync(unsigned, T value, unsigned by) {
  return emulator::of_lane(value, int(threadIdx.x % 32 + by));
}
template <class T> T __shfl_xor_sync(unsigned, T value, unsigned by) {
  return emulator::of_lane(value, int(threadIdx.x % 32 ^ by));
}
inline unsigned __ballot_sync(unsigned, int vote) {
  const auto& all = emulator::of_warp(vote != 0);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < all.size(); ++lane) votes |= unsigned(all[lane]) << lane;
  return votes;
}
inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
inline int __all_sync(unsigned mask, int vote) { return __ballot_sync(mask, !vote) == 0; }
template <class F> unsigned reduced(unsigned value, F f) {
  const auto& all = emulator::of_warp(value);
  unsigned result = unsigned(all[0]);
  for (unsigned lane = 1; lane < all.size(); ++lane) result = f(result, unsigned(all[lane]));
  return result;
}
inline unsigned __reduce_add_sync(unsigned, unsigned x) {
  return reduced(x, [](unsigned a, unsigned b) { return a + b; });
}
inline unsigned __reduce_min_sync(unsigned, unsigned x) {
  return reduced(x, [](unsigned a, unsigned b) { return min(a, b); });
}
inline unsigned __reduce_or_sync(unsigned, unsigned x) {
  return reduced(x, [](unsigned a, unsigned b) { return a | b; });
}
template <class T> unsigned __match_any_sync(unsigned, T value) {
  const auto& all = emulator::of_warp(emulator::bits_of(value));
  unsigned equal = 0;
  for (unsigned lane = 0; lane < all.size(); ++lane)
    equal |= unsigned(all[lane] == emulator::bits_of(value)) << lane;
  return equal;
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
  return reversed;
}
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  for (unsigned i = base; i < 32; ++i)
    if (mask >> i & 1 && --offset == 0) return i;
  return ~0u;
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}

inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0 ? std::min(x, 1.0f) : 0; }
#define __log2f std::log2
inline int __float_as_int(float x) { return emulator::from_bits<int>(emulator::bits_of(x)); }
inline unsigned __float_as_uint(float x) {
  return emulator::from_bits<unsigned>(emulator::bits_of(x));
}
inline float __int_as_float(int x) { return emulator::from_bits<float>(emulator::bits_of(x)); }
inline long long __double_as_longlong(double x) { return emulator::bits_of(x); }
inline double __longlong_as_double(long long x) { return emulator::from_bits<double>(x); }
inline double __ll2double_ru(long long x) { return double(x); }
inline long long __double2ll_ru(double x) { return (long long)std::ceil(x); }

template <class T> T __ldcg(const T* address) { return *address; }

template <class T, class U> T atomicAdd(T* at, U x) {
  return emulator::exchange(at, [x](T old) { return old + T(x); });
}
template <class T, class U> T atomicSub(T* at, U x) {
  return emulator::exchange(at, [x](T old) { return old - T(x); });
}
template <class T, class U> T atomicMax(T* at, U x) {
  return emulator::exchange(at, [x](T old) { return max(old, T(x)); });
}
template <class T, class U> T atomicMin(T* at, U x) {
  return emulator::exchange(at, [x](T old) { return min(old, T(x)); });
}
template <class T, class U> T atomicOr(T* at, U x) {
  return emulator::exchange(at, [x](T old) { return old | T(x); });
}
template <class T, class U> T atomicAnd(T* at, U x) {
  return emulator::exchange(at, [x](T old) { return old & T(x); });
}
template <class T, class U> T atomicExch(T* at, U x) {
  return emulator::exchange(at, [x](T) { return T(x); });
}
template <class T, class U> T atomicCAS(T* at, T expected, U x) {
  return emulator::exchange(at, [=](T old) { return old == expected ? T(x) : old; });
}

#define key_t emulated_key_t  // which the C library has, too
