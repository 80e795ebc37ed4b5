// Integer lengths of fractional weights, for STAR's searches; whole_lengths_cpu.py explains them.
//
// The host defines MGRAPH_BOUND_BITS: the bound of a search has so many bits in its units.
#pragma once

#include <mgraph/path_length.cuh>

namespace mgraph {

constexpr int bound_bits = MGRAPH_BOUND_BITS;

template <bool condition, class A, class B> struct choice {
  using type = A;
};
template <class A, class B> struct choice<false, A, B> {
  using type = B;
};

// The length of an arc: an integer weight itself, or a fractional weight in a search's units.
using arc_length_t = choice<whole_weights, weight_t, key_t>::type;
// The sum of a tree's weights.
using cost_t = choice<whole_weights, length_t, double>::type;

constexpr double max_arc_length = 1LL << bound_bits;  // of arcs too heavy to be on a path

// What fractional weights are multiplied by: two powers of two, since one might be infinite.
struct length_scale {
  double factor, rest;

  __device__ double scaled(double x) const { return fmin(x * factor * rest, max_arc_length); }
};

// The scale of a search for paths whose weights add up to less than a bound.
__device__ inline length_scale scale_below(double bound) {
  int exponent;
  frexp(bound, &exponent);
  exponent = bound_bits - exponent;
  const int first = min(exponent, 1000);
  return {ldexp(1.0, first), ldexp(1.0, exponent - first)};
}

__device__ __forceinline__ arc_length_t whole_length(weight_t weight, const length_scale& scale) {
  if constexpr (whole_weights) {
    return weight;
  } else {
    return max(__double2ll_ru(scale.scaled(widened(weight))), 1LL);
  }
}

// The bits of a weight as a tree's steps hold it, which order as weights do.
__device__ __forceinline__ key_t weight_key(weight_t weight) {
  if constexpr (whole_weights) {
    return key_t(weight);
  } else {
    return __double_as_longlong(widened(weight));
  }
}

__device__ __forceinline__ cost_t cost_of(key_t weight) {
  if constexpr (whole_weights) {
    return cost_t(weight);
  } else {
    return __longlong_as_double(weight);
  }
}

__device__ __forceinline__ key_t cost_key(cost_t cost) {
  if constexpr (whole_weights) {
    return key_t(cost);
  } else {
    return __double_as_longlong(cost);
  }
}

}  // namespace mgraph
