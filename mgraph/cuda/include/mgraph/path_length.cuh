// Lengths of paths as integers whose order is the lengths' order, so that atomicMin serves all.
//
// MGRAPH_WEIGHT_T is the type of a weight and MGRAPH_LENGTH_T that of a path's length: int,
// long long, float or double. A float that is not negative has bits that order as integers do.
#pragma once

namespace mgraph {

using weight_t = MGRAPH_WEIGHT_T;
using length_t = MGRAPH_LENGTH_T;

template <int bytes> struct bits_of;
template <> struct bits_of<4> { using type = int; };
template <> struct bits_of<8> { using type = long long; };
using key_t = bits_of<sizeof(length_t)>::type;

// Keys are not negative, so that as these they are in order, too.
template <int bytes> struct unsigned_of;
template <> struct unsigned_of<4> { using type = unsigned; };
template <> struct unsigned_of<8> { using type = unsigned long long; };

__device__ __forceinline__ int as_key(int x) { return x; }
__device__ __forceinline__ long long as_key(long long x) { return x; }
__device__ __forceinline__ int as_key(float x) { return __float_as_int(x); }
__device__ __forceinline__ long long as_key(double x) { return __double_as_longlong(x); }

__device__ __forceinline__ void from_key(int key, int& x) { x = key; }
__device__ __forceinline__ void from_key(long long key, long long& x) { x = key; }
__device__ __forceinline__ void from_key(int key, float& x) { x = __int_as_float(key); }
__device__ __forceinline__ void from_key(long long key, double& x) {
  x = __longlong_as_double(key);
}

__device__ __forceinline__ length_t as_length(key_t key) {
  length_t x;
  from_key(key, x);
  return x;
}

// CuPy compiles with -ftz=true; written as PTX, a sum keeps its subnormals, as on a CPU.
__device__ __forceinline__ float sum(float a, float b) {
  float c;
  asm("add.rn.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
__device__ __forceinline__ double sum(double a, double b) { return a + b; }
__device__ __forceinline__ int sum(int a, int b) { return a + b; }
__device__ __forceinline__ long long sum(long long a, long long b) { return a + b; }

__device__ __forceinline__ key_t extended(key_t key, weight_t weight) {
  return as_key(sum(as_length(key), static_cast<length_t>(weight)));
}

// The largest key: above every length, infinity included.
constexpr key_t no_key = sizeof(key_t) == 4 ? key_t(0x7FFFFFFF) : key_t(0x7FFFFFFFFFFFFFFFLL);

struct path_step {
  key_t weight;  // to the next vertex, or from the one before
  int vertex;
};

// A length as a double, rounded up. These conversions, too, keep subnormals.
__device__ __forceinline__ double double_of(key_t key) {
  if constexpr (static_cast<length_t>(0.5) == 0) {
    return __ll2double_ru(key);
  } else if constexpr (sizeof(length_t) == 4) {
    double x;
    asm("cvt.f64.f32 %0, %1;" : "=d"(x) : "f"(float(as_length(key))));
    return x;
  } else {
    return as_length(key);
  }
}

// The largest key whose length is at most x; x is not negative.
__device__ __forceinline__ key_t key_at_most(double x) {
  if constexpr (static_cast<length_t>(0.5) == 0) {
    return x >= static_cast<double>(no_key) ? no_key - 1 : static_cast<key_t>(x);
  } else if constexpr (sizeof(length_t) == 4) {
    float length;
    asm("cvt.rm.f32.f64 %0, %1;" : "=f"(length) : "d"(x));
    return as_key(length);
  } else {
    return as_key(static_cast<length_t>(x));
  }
}

}  // namespace mgraph
