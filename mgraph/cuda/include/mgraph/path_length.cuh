// Lengths of paths as integers whose order is the lengths' order, so that atomicMin serves all.
//
// MGRAPH_WEIGHT_T is the type of a weight: int, long long, float or double. MGRAPH_LENGTH_T is that of
// a path's length: int, long long or double. A double that is not negative has bits that order as
// integers do. Fractional weights are added up as doubles; where the length is whole, the caller says
// how long they are (whole_lengths.cuh).
#pragma once

#include <mgraph/widened.cuh>

namespace mgraph {

using weight_t = MGRAPH_WEIGHT_T;
using length_t = MGRAPH_LENGTH_T;

constexpr bool whole_weights = static_cast<weight_t>(0.5) == 0;
constexpr bool whole_lengths = static_cast<length_t>(0.5) == 0;

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
  static_assert(whole || !whole_lengths, "whole_lengths.cuh says how long such a weight is");
  if constexpr (whole) {
    return as_key(as_length(key) + static_cast<length_t>(weight));
  } else {
    return as_key(as_length(key) + widened(weight));
  }
}

// The largest key: above every length, infinity included.
constexpr key_t no_key = sizeof(key_t) == 4 ? key_t(0x7FFFFFFF) : key_t(0x7FFFFFFFFFFFFFFFLL);

struct path_step {
  key_t weight;  // to the next vertex, or from the one before
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

// The largest key whose length is at most x; x is not negative.
__device__ __forceinline__ key_t key_at_most(double x) {
  if constexpr (whole_lengths) {
    return x >= static_cast<double>(no_key) ? no_key - 1 : static_cast<key_t>(x);
  } else {
    return as_key(static_cast<length_t>(x));
  }
}

}  // namespace mgraph
