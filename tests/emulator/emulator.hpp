// CUDA on a CPU: each thread of a launch is a fiber, and one after another, chosen at random, runs
// for a while. A seed decides all, so what fails once can be run again.
//
// Threads are switched at barriers, warp intrinsics, atomic operations, and the loads and stores of
// <mgraph/relaxed.cuh>; in between nothing else runs. Some blocks stand still for long, as on a
// device that is shared. Memory is sequentially consistent, so a missing fence does not show.
// A launch fails where all threads wait for each other, or where they never come to an end.
//
// Most of the tests' time with a new kernel is the compiler's, and each kernel has many variants.
// So this file includes little, and what needs more stands in emulator.cpp, compiled once.
#pragma once

#define _GLIBCXX_BITS_SPECFUN_H  // of <cmath>: a fifth of a second for functions that none calls
#include <stdint.h>
#include <string.h>

#include <cmath>
#include <type_traits>

#define LAUNCHER extern "C" __attribute__((visibility("default")))

namespace emulator {

// What an argument must be: the kind (f: floating point, i: integer, 0: any other) and the bytes of
// a number, or of what a pointer points to.
struct parameter_type {
  char kind, bytes, is_pointer;
};

template <class P>
constexpr parameter_type type_of() {
  using number = std::remove_cv_t<std::remove_pointer_t<P>>;
  constexpr bool is_pointer = std::is_pointer<P>();
  if constexpr (!std::is_arithmetic<number>()) return {0, 0, is_pointer};
  else return {std::is_floating_point<number>() ? 'f' : 'i', sizeof(number), is_pointer};
}

template <class... P>
const parameter_type* types_of(void (*)(P...)) {
  static const parameter_type types[] = {type_of<P>()..., {}};
  return types;
}

struct index {
  unsigned x, y = 0, z = 0;
};

struct block;

struct thread {
  index thread_index, block_index;
  block* its_block;
};

extern thread* current;  // the one that runs
extern index launched_blocks, launched_threads;
extern uint64_t random_state, time_now;

inline uint64_t random_word() {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

inline thread& self() { return *current; }

// Back to the scheduler, until it is this thread's turn again.
void leave();

inline void perhaps_leave() {
  if (random_word() % 4 == 0) leave();
}

// 0, or 1 where threads wait for each other, or 2 where they never end, or 3 where a block has less
// shared memory than it writes.
int launch(unsigned grid, unsigned size, size_t shared, uint64_t seed, void (*body)(const void*),
           const void* arguments);

template <class F>
int launch(unsigned grid, unsigned size, size_t shared, uint64_t seed, const F& call) {
  auto body = [](const void* f) { (*static_cast<const F*>(f))(); };
  return launch(grid, size, shared, seed, body, &call);
}

void* dynamic_shared();
void* static_shared(int which, size_t size);

template <class T> T& static_shared(int which) {
  return *static_cast<T*>(static_shared(which, sizeof(T)));
}

// What the threads of a block or a warp brought when they met.
struct values {
  const uint64_t* first;
  unsigned count;

  unsigned size() const { return count; }
  uint64_t operator[](unsigned member) const { return first[member]; }
};

values of_block(uint64_t value);
values of_warp(uint64_t value);

template <class T> uint64_t bits_of(T value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T> T from_bits(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// A word that a thread may be spinning on.
template <class T> T reread(T* address) {
  perhaps_leave();
  return *static_cast<volatile T*>(address);
}

// A lane's value for this one, or its own where there is no such lane.
template <class T> T of_lane(T value, int lane) {
  const auto all = of_warp(bits_of(value));
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

template <class T> const T& max(const T& x, const T& y) { return x < y ? y : x; }
template <class T> const T& min(const T& x, const T& y) { return y < x ? y : x; }

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
inline int __syncthreads_count(int vote) {
  const auto all = emulator::of_block(vote != 0);
  int count = 0;
  for (unsigned member = 0; member < all.size(); ++member) count += int(all[member]);
  return count;
}
inline int __syncthreads_and(int vote) { return !__syncthreads_count(!vote); }
inline int __syncthreads_or(int vote) { return __syncthreads_count(vote) != 0; }
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
  const auto all = emulator::of_warp(vote != 0);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < all.size(); ++lane) votes |= unsigned(all[lane]) << lane;
  return votes;
}
inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
inline int __all_sync(unsigned mask, int vote) { return __ballot_sync(mask, !vote) == 0; }
template <class F> unsigned reduced(unsigned value, F f) {
  const auto all = emulator::of_warp(value);
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
  const auto all = emulator::of_warp(emulator::bits_of(value));
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
inline float __saturatef(float x) { return x > 0 ? min(x, 1.0f) : 0; }
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
