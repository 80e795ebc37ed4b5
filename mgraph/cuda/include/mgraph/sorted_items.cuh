// Keys in ascending order, each with a value perhaps, in shared memory: a block sorts and merges.
#pragma once

namespace mgraph {

struct no_value {};

template <class value_t> constexpr bool has_values = true;
template <> constexpr bool has_values<no_value> = false;

template <class key_t, class value_t> struct items {
  key_t* keys;
  value_t* values;

  __device__ void move(unsigned to, const items& from, unsigned at) const {
    keys[to] = from.keys[at];
    if constexpr (has_values<value_t>) values[to] = from.values[at];
  }
};

// One of two lists: not a reference to one, for which both would have to be in memory.
template <class key_t, class value_t>
__device__ items<key_t, value_t> either(bool this_one, const items<key_t, value_t>& one,
                                        const items<key_t, value_t>& other) {
  return {this_one ? one.keys : other.keys, this_one ? one.values : other.values};
}

// Sorts `count` items, at most `size`, a power of two: Batcher's bitonic network, in the form in
// which every comparator puts the smaller item first, so that what is missing counts as largest.
template <unsigned size, unsigned threads, class key_t, class value_t>
__device__ void sort_items(const items<key_t, value_t>& all, unsigned count) {
  for (unsigned run = 2; run / 2 < count; run *= 2) {
    for (unsigned reach = run; reach > 1; reach /= 2) {
      for (unsigned i = threadIdx.x; i < size / 2; i += threads) {
        const unsigned at = i & (reach / 2 - 1), begin = 2 * (i - at), low = begin + at;
        const unsigned high = reach == run ? begin + reach - 1 - at : low + reach / 2;
        if (high < count && all.keys[high] < all.keys[low]) {
          const key_t key = all.keys[low];
          all.keys[low] = all.keys[high];
          all.keys[high] = key;
          if constexpr (has_values<value_t>) {
            const value_t value = all.values[low];
            all.values[low] = all.values[high];
            all.values[high] = value;
          }
        }
      }
      __syncthreads();
    }
  }
}

// Of two sorted lists of `size` items each, the first gets the smallest `size` of both, and the
// second the others, sorted: Batcher's bitonic merging network on both as one list, the second from
// its end on. A thread has several items in registers, which are `apart` from each other, for as
// many steps of the network as these allow; at last, lanes of a warp compare theirs. (Each round is
// a function of its own, since compilers do not always unroll a loop of them.)
template <unsigned size, unsigned threads, unsigned apart = threads, class key_t, class value_t>
__device__ void merge_full_lists(const items<key_t, value_t>& first,
                                 const items<key_t, value_t>& second) {
  constexpr unsigned each = 2 * size / threads, lanes = threads < 32 ? threads : 32;
  constexpr bool is_first_round = apart == threads, is_last_round = apart == lanes;
  const unsigned thread = threadIdx.x % threads;  // which is all that the compiler knows of it
  const unsigned begin = thread / apart * apart * each + thread % apart;
  const auto list_of = [&](unsigned k) {
    return either(is_first_round ? k < each / 2 : begin < size, first, second);
  };
  key_t keys[each];
  value_t values[each];
#pragma unroll
  for (unsigned k = 0; k < each; ++k) {
    const unsigned at = (begin + k * apart) % size;
    const bool from_end = is_first_round && k >= each / 2;
    const items<key_t, value_t> its = list_of(k);
    keys[k] = its.keys[from_end ? size - 1 - at : at];
    if constexpr (has_values<value_t>) values[k] = its.values[from_end ? size - 1 - at : at];
  }
#pragma unroll
  for (unsigned reach = each / 2; reach > 0; reach /= 2) {
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      if (k & reach) continue;
      const bool swap = keys[k + reach] < keys[k];
      const key_t low = swap ? keys[k + reach] : keys[k];
      keys[k + reach] = swap ? keys[k] : keys[k + reach];
      keys[k] = low;
      if constexpr (has_values<value_t>) {
        const value_t its = swap ? values[k + reach] : values[k];
        values[k + reach] = swap ? values[k] : values[k + reach];
        values[k] = its;
      }
    }
  }
#pragma unroll
  for (unsigned reach = is_last_round ? lanes / 2 : 0; reach > 0; reach /= 2) {
    const bool upper = thread & reach;
#pragma unroll
    for (unsigned k = 0; k < each; ++k) {
      const key_t other = __shfl_xor_sync(~0u >> (32 - lanes), keys[k], reach);
      if constexpr (has_values<value_t>) {
        const value_t its = __shfl_xor_sync(~0u >> (32 - lanes), values[k], reach);
        const bool take = (upper ? keys[k] : other) < (upper ? other : keys[k]);
        keys[k] = take ? other : keys[k];
        values[k] = take ? its : values[k];
      } else {
        keys[k] = upper ? max(keys[k], other) : min(keys[k], other);
      }
    }
  }
  if (is_first_round) __syncthreads();  // the second list was read from its end
#pragma unroll
  for (unsigned k = 0; k < each; ++k) {
    const unsigned at = (begin + k * apart) % size;
    const items<key_t, value_t> its = list_of(k);
    its.keys[at] = keys[k];
    if constexpr (has_values<value_t>) its.values[at] = values[k];
  }
  __syncthreads();
  if constexpr (!is_last_round) {
    constexpr unsigned next = apart / each > lanes ? apart / each : lanes;
    merge_full_lists<size, threads, next>(first, second);
  }
}

// Of two sorted lists, of `size` items at most each, the first gets the `low` smallest items of
// both and the second the others, sorted. An item's place is its own in its list, and as many more
// as items of the other list go before it, found by bisection.
template <unsigned size, unsigned threads, class key_t, class value_t>
__device__ void merge_lists(const items<key_t, value_t>& first, unsigned in_first,
                            const items<key_t, value_t>& second, unsigned in_second, unsigned low) {
  constexpr unsigned each = size / threads;
  key_t keys[2 * each] = {};
  value_t values[2 * each];
  unsigned before[2 * each];
#pragma unroll
  for (unsigned k = 0; k < 2 * each; ++k) {
    const items<key_t, value_t>& own = k < each ? first : second;
    const unsigned at = threadIdx.x + k % each * threads;
    before[k] = 0;
    if (at >= (k < each ? in_first : in_second)) continue;
    keys[k] = own.keys[at];
    if constexpr (has_values<value_t>) values[k] = own.values[at];
  }
  for (unsigned step = size; step > 0; step /= 2) {
#pragma unroll
    for (unsigned k = 0; k < 2 * each; ++k) {
      const unsigned at = before[k] + step;
      if (at > (k < each ? in_second : in_first)) continue;
      const key_t other = (k < each ? second : first).keys[at - 1];
      if (k < each ? other < keys[k] : !(keys[k] < other)) before[k] = at;
    }
  }
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < 2 * each; ++k) {
    const unsigned at = threadIdx.x + k % each * threads, to = at + before[k];
    if (at >= (k < each ? in_first : in_second)) continue;
    const items<key_t, value_t> its = either(to < low, first, second);
    its.keys[to < low ? to : to - low] = keys[k];
    if constexpr (has_values<value_t>) its.values[to < low ? to : to - low] = values[k];
  }
  __syncthreads();
}

}  // namespace mgraph
