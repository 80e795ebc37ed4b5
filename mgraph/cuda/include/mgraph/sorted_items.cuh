// Keys in ascending order, each with a value or without, in shared memory: a block sorts and merges
// them. All threads of the block call the functions.
#pragma once

namespace mgraph {

struct no_value {};

template <class value_t> constexpr bool has_values = true;
template <> constexpr bool has_values<no_value> = false;

template <class key_t, class value_t> struct items {
  key_t* keys;
  value_t* values;

  // Item `to` becomes item `index` of `from`.
  __device__ void copy(unsigned to, const items& from, unsigned index) const {
    keys[to] = from.keys[index];
    if constexpr (has_values<value_t>) values[to] = from.values[index];
  }
  // Item `index` changes places with item `other_index` of `other`.
  __device__ void swap(unsigned index, const items& other, unsigned other_index) const {
    const key_t key = keys[index];
    keys[index] = other.keys[other_index];
    other.keys[other_index] = key;
    if constexpr (has_values<value_t>) {
      const value_t value = values[index];
      values[index] = other.values[other_index];
      other.values[other_index] = value;
    }
  }
};

// One of two lists, by value: a reference to one of them would force both into memory.
template <class key_t, class value_t>
__device__ items<key_t, value_t> select(bool is_first, const items<key_t, value_t>& first,
                                        const items<key_t, value_t>& second) {
  return {is_first ? first.keys : second.keys, is_first ? first.values : second.values};
}

// Sorts `count` items, at most `size`, a power of two: Batcher's bitonic network, in the form in
// which every comparator puts the smaller item first, so that missing items count as the largest.
template <unsigned size, unsigned threads, class key_t, class value_t>
__device__ void sort_items(const items<key_t, value_t>& list, unsigned count) {
  for (unsigned run = 2; run / 2 < count; run *= 2) {
    for (unsigned reach = run; reach > 1; reach /= 2) {
      for (unsigned i = threadIdx.x; i < size / 2; i += threads) {
        const unsigned offset = i & (reach / 2 - 1), begin = 2 * (i - offset);
        const unsigned low = begin + offset;
        const unsigned high = reach == run ? begin + reach - 1 - offset : low + reach / 2;
        if (high < count && list.keys[high] < list.keys[low]) list.swap(low, list, high);
      }
      __syncthreads();
    }
  }
}

// Of two sorted lists of `size` items each, the first gets the `size` smallest of both, and the
// second the others, sorted: Batcher's bitonic merging network on both as one list, the second from
// its end on. A thread has several items in registers, at a distance of `stride` from each other,
// for as many steps of the network as these allow; at last, lanes of a warp compare theirs. (Each
// round is a function of its own, since compilers do not always unroll a loop over the rounds.)
template <unsigned size, unsigned threads, unsigned stride = threads, class key_t, class value_t>
__device__ void merge_full_lists(const items<key_t, value_t>& first,
                                 const items<key_t, value_t>& second) {
  constexpr unsigned per_thread = 2 * size / threads, lanes = threads < 32 ? threads : 32;
  constexpr bool is_first_round = stride == threads, is_last_round = stride == lanes;
  const unsigned thread = threadIdx.x % threads;  // so that the compiler knows its range
  const unsigned begin = thread / stride * stride * per_thread + thread % stride;
  const auto list_of = [&](unsigned k) {
    return select(is_first_round ? k < per_thread / 2 : begin < size, first, second);
  };
  key_t keys[per_thread];
  value_t values[per_thread];
#pragma unroll
  for (unsigned k = 0; k < per_thread; ++k) {
    const unsigned index = (begin + k * stride) % size;
    const bool from_end = is_first_round && k >= per_thread / 2;
    const items<key_t, value_t> list = list_of(k);
    keys[k] = list.keys[from_end ? size - 1 - index : index];
    if constexpr (has_values<value_t>) values[k] = list.values[from_end ? size - 1 - index : index];
  }
#pragma unroll
  for (unsigned reach = per_thread / 2; reach > 0; reach /= 2) {
#pragma unroll
    for (unsigned k = 0; k < per_thread; ++k) {
      if (k & reach) continue;
      const bool swap = keys[k + reach] < keys[k];
      const key_t low = swap ? keys[k + reach] : keys[k];
      keys[k + reach] = swap ? keys[k] : keys[k + reach];
      keys[k] = low;
      if constexpr (has_values<value_t>) {
        const value_t low_value = swap ? values[k + reach] : values[k];
        values[k + reach] = swap ? values[k] : values[k + reach];
        values[k] = low_value;
      }
    }
  }
#pragma unroll
  for (unsigned reach = is_last_round ? lanes / 2 : 0; reach > 0; reach /= 2) {
    const bool upper = thread & reach;
#pragma unroll
    for (unsigned k = 0; k < per_thread; ++k) {
      const key_t other = __shfl_xor_sync(~0u >> (32 - lanes), keys[k], reach);
      if constexpr (has_values<value_t>) {
        const value_t other_value = __shfl_xor_sync(~0u >> (32 - lanes), values[k], reach);
        const bool take = (upper ? keys[k] : other) < (upper ? other : keys[k]);
        keys[k] = take ? other : keys[k];
        values[k] = take ? other_value : values[k];
      } else {
        keys[k] = upper ? max(keys[k], other) : min(keys[k], other);
      }
    }
  }
  if (is_first_round) __syncthreads();  // the second list was read from its end
#pragma unroll
  for (unsigned k = 0; k < per_thread; ++k) {
    const unsigned index = (begin + k * stride) % size;
    const items<key_t, value_t> list = list_of(k);
    list.keys[index] = keys[k];
    if constexpr (has_values<value_t>) list.values[index] = values[k];
  }
  __syncthreads();
  if constexpr (!is_last_round) {
    constexpr unsigned next = stride / per_thread > lanes ? stride / per_thread : lanes;
    merge_full_lists<size, threads, next>(first, second);
  }
}

// Of two sorted lists, of `size` items at most each, the first gets the `low` smallest items of
// both and the second the others, sorted: the merge path of Green, McColl and Bader (2012). A
// thread makes consecutive items of the result. How many items of the first list go before them it
// finds by bisection.
template <unsigned size, unsigned threads, class key_t, class value_t>
__device__ void merge_lists(const items<key_t, value_t>& first, unsigned in_first,
                            const items<key_t, value_t>& second, unsigned in_second, unsigned low) {
  constexpr unsigned per_thread = 2 * size / threads;
  const unsigned begin = min(threadIdx.x * per_thread, in_first + in_second);
  const unsigned count = min(per_thread, in_first + in_second - begin);
  unsigned i = begin > in_second ? begin - in_second : 0;
  for (unsigned end = min(begin, in_first); i < end;) {
    const unsigned middle = (i + end) / 2;
    if (second.keys[begin - 1 - middle] < first.keys[middle]) {
      end = middle;
    } else {
      i = middle + 1;
    }
  }
  unsigned j = begin - i;
  key_t keys[per_thread];
  value_t values[per_thread];
#pragma unroll
  for (unsigned k = 0; k < per_thread; ++k) {
    if (k >= count) continue;
    const bool is_first = j == in_second || (i < in_first && !(second.keys[j] < first.keys[i]));
    const items<key_t, value_t> list = select(is_first, first, second);
    const unsigned index = is_first ? i++ : j++;
    keys[k] = list.keys[index];
    if constexpr (has_values<value_t>) values[k] = list.values[index];
  }
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < per_thread; ++k) {
    if (k >= count) continue;
    const unsigned place = begin + k;
    const items<key_t, value_t> list = select(place < low, first, second);
    list.keys[place < low ? place : place - low] = keys[k];
    if constexpr (has_values<value_t>) list.values[place < low ? place : place - low] = values[k];
  }
  __syncthreads();
}

}  // namespace mgraph
