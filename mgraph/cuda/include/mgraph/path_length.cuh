// Lengths of paths as keys: integers in the order of the lengths, so that atomicMin works for all.
//
// MGRAPH_WEIGHT_T is the type of a weight: int, long long, float or double. MGRAPH_LENGTH_T is that
// of a path's length: int, long long or double. The bits of non-negative doubles have the order of
// the doubles. Fractional weights are added as doubles; if the length is of an integer type, the
// caller scales and rounds them first (whole_lengths.cuh).
#pragma once

#include <mgraph/widened.cuh>

namespace mgraph {

using weight_t = MGRAPH_WEIGHT_T;
using length_t = MGRAPH_LENGTH_T;

constexpr bool whole_weights = static_cast<weight_t>(0.5) == 0;
constexpr bool whole_lengths = static_cast<length_t>(0.5) == 0;

template <int bytes> struct bits_of;
template <> struct bits_of<4> {
  using type = int;
};
template <> struct bits_of<8> {
  using type = long long;
};
using key_t = bits_of<sizeof(length_t)>::type;

// Keys are not negative, so they have the same order as unsigned integers.
template <int bytes> struct unsigned_of;
template <> struct unsigned_of<4> {
  using type = unsigned;
};
template <> struct unsigned_of<8> {
  using type = unsigned long long;
};

__device__ __forceinline__ int as_key(int x) { return x; }
__device__ __forceinline__ long long as_key(long long x) { return x; }
__device__ __forceinline__ long long as_key(double x) { return __double_as_longlong(x); }

__device__ __forceinline__ void from_key(int key, int& x) { x = key; }
__device__ __forceinline__ void from_key(long long key, long long& x) { x = key; }
__device__ __forceinline__ void from_key(long long key, double& x) {
  x = __longlong_as_double(key);
}

__device__ __forceinline__ length_t as_length(key_t key) {
  length_t x;
  from_key(key, x);
  return x;
}

template <class Weight> __device__ __forceinline__ key_t extended(key_t key, Weight weight) {
  constexpr bool whole = static_cast<Weight>(0.5) == 0;
  static_assert(whole || !whole_lengths,
                "scale and round fractional weights as in whole_lengths.cuh");
  if constexpr (whole) {
    return as_key(as_length(key) + static_cast<length_t>(weight));
  } else {
    return as_key(as_length(key) + widened(weight));
  }
}

// The maximum key: above every length, infinity included.
constexpr key_t no_key = sizeof(key_t) == 4 ? key_t(0x7FFFFFFF) : key_t(0x7FFFFFFFFFFFFFFFLL);

struct path_step {
  key_t weight;  // of the arc to the next vertex, or from the previous one
  int vertex;
};

// A length as a double, rounded up.
__device__ __forceinline__ double double_of(key_t key) {
  if constexpr (whole_lengths) {
    return __ll2double_ru(key);
  } else {
    return as_length(key);
  }
}

// The maximum key whose length is at most x. x must not be negative.
__device__ __forceinline__ key_t key_at_most(double x) {
  if constexpr (whole_lengths) {
    return x >= static_cast<double>(no_key) ? no_key - 1 : static_cast<key_t>(x);
  } else {
    return as_key(static_cast<length_t>(x));
  }
}

}  // namespace mgraph
