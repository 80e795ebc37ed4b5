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

// Sorts `count` items, at most `size`, a power of two: Batcher's bitonic network, in the form in
// which every comparator puts the smaller item first, so that what is missing counts as largest.
template <unsigned size, unsigned threads, class key_t, class value_t>
__device__ void sort_items(const items<key_t, value_t>& all, unsigned count) {
  for (unsigned run = 2; run / 2 < count; run *= 2) {
    for (unsigned reach = run; reach > 1; reach /= 2) {
      for (unsigned i = threadIdx.x; i < size / 2; i += threads) {
        const unsigned begin = i / (reach / 2) * reach, at = i % (reach / 2);
        const unsigned low = begin + at;
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

// Of two sorted lists, of `size` items at most each, the first gets the `low` smallest items of
// both and the second the others, sorted. Merge path (Green, McColl, Bader, ICS 2012): a thread
// finds by bisection where its part of the merged list begins in each.
template <unsigned size, unsigned threads, class key_t, class value_t>
__device__ void merge_items(const items<key_t, value_t>& first, unsigned in_first,
                            const items<key_t, value_t>& second, unsigned in_second, unsigned low) {
  constexpr unsigned part = (2 * size + threads - 1) / threads;
  const unsigned all = in_first + in_second, begin = min(threadIdx.x * part, all);
  const unsigned end = min(begin + part, all);
  unsigned least = begin > in_second ? begin - in_second : 0, most = min(begin, in_first);
  while (least < most) {
    const unsigned middle = (least + most) / 2;
    if (second.keys[begin - 1 - middle] < first.keys[middle]) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  key_t keys[part];
  value_t values[part];
  unsigned i = least, j = begin - least;
#pragma unroll
  for (unsigned k = 0; k < part; ++k) {
    if (begin + k >= end) continue;
    const bool of_second = i == in_first || (j < in_second && second.keys[j] < first.keys[i]);
    const items<key_t, value_t>& from = of_second ? second : first;
    const unsigned at = of_second ? j++ : i++;
    keys[k] = from.keys[at];
    if constexpr (has_values<value_t>) values[k] = from.values[at];
  }
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < part; ++k) {
    const unsigned at = begin + k;
    if (at >= end) continue;
    const items<key_t, value_t>& to = at < low ? first : second;
    to.keys[at < low ? at : at - low] = keys[k];
    if constexpr (has_values<value_t>) to.values[at < low ? at : at - low] = values[k];
  }
  __syncthreads();
}

}  // namespace mgraph
