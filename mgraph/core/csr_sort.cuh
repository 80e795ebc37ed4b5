// How rows of arcs are sorted, for the kernels of csr.cu, which says when each is launched.
//
// An arc is a key: its destination, with its weight's bits where there are weights, in the order of
// the rows. A warp sorts a row in registers and a block one in shared memory, by bitonic networks;
// longer rows are sorted in chunks by blocks, which are merged by pairs. Weights are taken as
// integers in their order, so that their type does not matter.
#pragma once

using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;
using u32 = unsigned;
using u64 = unsigned long long;

constexpr u32 all_lanes = 0xFFFFFFFF;
constexpr u32 short_arcs = 256;      // of a row, at most, that a warp sorts
constexpr u32 shared_bytes = 32768;  // of the arcs of a row that a block sorts
constexpr u32 rows_per_tile = 32;    // a tile's rows are examined by the lanes of a warp

// How rows are sorted: whether weights are floats, and whether by weight, then destination, instead
// of by destination, then weight.
constexpr int float_weights = 1, by_weight = 2;

// An arc of 64 bits of weight as a key, in the order of the rows.
struct wide_key {
  long long first, second;
  __device__ bool operator<(const wide_key& other) const {
    return first != other.first ? first < other.first : second < other.second;
  }
};

// The weight's bits as an integer in the weight's order, and back: of a negative float, all bits
// but the sign are inverted. A function is its own inverse.
__device__ weight_t ordered(weight_t bits, bool is_float) {
  constexpr weight_t highest = weight_t(~(u64(1) << (8 * sizeof(weight_t) - 1)));
  return is_float && bits < 0 ? bits ^ highest : bits;
}

// Keys of arcs without weights, with 32 bits of weight, and with 64.
struct plain_arcs {
  using key_t = u32;
  int* indices;
  __device__ key_t load(u64 position) const { return u32(indices[position]); }
  __device__ void store(u64 position, key_t key) const { indices[position] = int(key); }
  __device__ static key_t last() { return ~0u; }
  __device__ static key_t shuffle(key_t key, u32 reach) {
    return __shfl_xor_sync(all_lanes, key, reach);
  }
};

struct narrow_arcs {
  using key_t = u64;
  int* indices;
  weight_t* weights;
  int order;
  __device__ key_t load(u64 position) const {
    const u32 word = u32(ordered(weights[position], order & float_weights)) ^ 0x80000000;
    const u32 vertex = u32(indices[position]);
    return order & by_weight ? u64(word) << 32 | vertex : u64(vertex) << 32 | word;
  }
  __device__ void store(u64 position, key_t key) const {
    const u32 high = u32(key >> 32), low = u32(key), word = order & by_weight ? high : low;
    indices[position] = int(order & by_weight ? low : high);
    weights[position] = ordered(weight_t(int(word ^ 0x80000000)), order & float_weights);
  }
  __device__ static key_t last() { return ~0ULL; }
  __device__ static key_t shuffle(key_t key, u32 reach) {
    return __shfl_xor_sync(all_lanes, key, reach);
  }
};

struct wide_arcs {
  using key_t = wide_key;
  int* indices;
  weight_t* weights;
  int order;
  __device__ key_t load(u64 position) const {
    const long long word = ordered(weights[position], order & float_weights);
    const long long vertex = u32(indices[position]);
    return order & by_weight ? key_t{word, vertex} : key_t{vertex, word};
  }
  __device__ void store(u64 position, const key_t& key) const {
    indices[position] = int(order & by_weight ? key.second : key.first);
    const long long word = order & by_weight ? key.first : key.second;
    weights[position] = ordered(weight_t(word), order & float_weights);
  }
  __device__ static key_t last() { return {0x7FFFFFFFFFFFFFFFLL, 0x7FFFFFFFFFFFFFFFLL}; }
  __device__ static key_t shuffle(const key_t& key, u32 reach) {
    return {__shfl_xor_sync(all_lanes, key.first, reach),
            __shfl_xor_sync(all_lanes, key.second, reach)};
  }
};

template <bool is_wide> struct weighted {
  using arcs = narrow_arcs;
};
template <> struct weighted<true> {
  using arcs = wide_arcs;
};
using weighted_arcs = weighted<sizeof(weight_t) == 8>::arcs;

// Sorts `count` arcs from `begin` on, at most 32 · per_lane, by a bitonic network whose item
// 32·k + lane is in register k of a lane.
template <u32 per_lane, class arcs_t>
__device__ void sort_by_warp(const arcs_t& arcs, u64 begin, u32 count) {
  using key_t = typename arcs_t::key_t;
  const u32 lane = threadIdx.x % 32;
  key_t keys[per_lane];
#pragma unroll
  for (u32 k = 0; k < per_lane; ++k) {
    keys[k] = 32 * k + lane < count ? arcs.load(begin + 32 * k + lane) : arcs_t::last();
  }
#pragma unroll 1
  for (u32 run = 2; run <= 32 * per_lane; run *= 2) {
#pragma unroll
    for (u32 step = per_lane / 2; step > 0; step /= 2) {  // between the registers of a lane
      if (32 * step >= run) continue;
#pragma unroll
      for (u32 k = 0; k < per_lane; ++k) {
        if (k & step) continue;
        const key_t low = keys[k], high = keys[k + step];
        const bool swaps = (32 * k & run) ? low < high : high < low;
        keys[k] = swaps ? high : low;
        keys[k + step] = swaps ? low : high;
      }
    }
#pragma unroll 1
    for (u32 reach = run < 32 ? run / 2 : 16; reach > 0; reach /= 2) {  // between lanes
#pragma unroll
      for (u32 k = 0; k < per_lane; ++k) {
        const bool ascends = ((32 * k + lane) & run) == 0;
        const bool takes_smaller = ascends == ((lane & reach) == 0);
        const key_t other = arcs_t::shuffle(keys[k], reach);
        if (takes_smaller ? other < keys[k] : keys[k] < other) keys[k] = other;
      }
    }
  }
#pragma unroll
  for (u32 k = 0; k < per_lane; ++k) {
    if (32 * k + lane < count) arcs.store(begin + 32 * k + lane, keys[k]);
  }
}

template <class arcs_t>
__device__ void sort_short_rows(const arcs_t& arcs, const u64* indptr, long long n) {
  const long long warps = (long long)gridDim.x * (blockDim.x / 32);
  for (long long row = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32; row < n;
       row += warps) {
    const u64 begin = indptr[row], length = indptr[row + 1] - begin;
    if (length < 2 || length > short_arcs) continue;
    if (length <= 32) {
      sort_by_warp<1>(arcs, begin, u32(length));
    } else if (length <= 64) {
      sort_by_warp<2>(arcs, begin, u32(length));
    } else if (length <= 128) {
      sort_by_warp<4>(arcs, begin, u32(length));
    } else {
      sort_by_warp<8>(arcs, begin, u32(length));
    }
  }
}

// Sorts `count` arcs by the block, in shared memory: the form of the bitonic network in which every
// comparator puts the smaller item first, so that items which are missing count as the largest.
template <class arcs_t>
__device__ void sort_by_block(const arcs_t& arcs, u64 begin, u32 count,
                              typename arcs_t::key_t* keys) {
  using key_t = typename arcs_t::key_t;
  for (u32 i = threadIdx.x; i < count; i += blockDim.x) keys[i] = arcs.load(begin + i);
  __syncthreads();
  u32 size = 2;
  while (size < count) size *= 2;
  for (u32 run = 2; run <= size; run *= 2) {
    for (u32 reach = run; reach > 1; reach /= 2) {
      for (u32 i = threadIdx.x; i < size / 2; i += blockDim.x) {
        const u32 offset = i & (reach / 2 - 1), first = 2 * (i - offset), low = first + offset;
        const u32 high = reach == run ? first + reach - 1 - offset : low + reach / 2;
        if (high < count && keys[high] < keys[low]) {
          const key_t key = keys[low];
          keys[low] = keys[high];
          keys[high] = key;
        }
      }
      __syncthreads();
    }
  }
  for (u32 i = threadIdx.x; i < count; i += blockDim.x) arcs.store(begin + i, keys[i]);
  __syncthreads();
}

// Rows that are too long for a block: their numbers and lengths, in any order, and how many.
struct row_list {
  u64* count;
  long long* rows;
  long long* lengths;
};

template <class arcs_t>
__device__ void sort_long_rows(const arcs_t& arcs, const u64* indptr, long long n, row_list longer,
                               void* shared) {
  using key_t = typename arcs_t::key_t;
  constexpr u32 block_arcs = shared_bytes / sizeof(key_t);
  const u32 lane = threadIdx.x % 32;
  for (long long first = (long long)blockIdx.x * rows_per_tile; first < n;
       first += (long long)gridDim.x * rows_per_tile) {
    const long long row = first + lane;
    const u64 length = row < n ? indptr[row + 1] - indptr[row] : 0;
    // Every warp of the block examines the same rows, so all have the same mask.
    for (u32 mask = __ballot_sync(all_lanes, length > short_arcs); mask; mask &= mask - 1) {
      const long long found = first + __ffs(int(mask)) - 1;
      const u64 begin = indptr[found], count = indptr[found + 1] - begin;
      if (count <= block_arcs) {
        sort_by_block(arcs, begin, u32(count), static_cast<key_t*>(shared));
      } else if (threadIdx.x == 0) {
        const u64 place = atomicAdd(longer.count, 1ULL);
        longer.rows[place] = found;
        longer.lengths[place] = (long long)(count);
      }
    }
  }
}

// Some rows, and where each begins in an array of the arcs of all: starts[count] is their number.
// Their arcs are sorted in chunks that a block sorts, of `block_arcs`, and merged by pairs of runs.
struct listed_rows {
  const long long* rows;
  const long long* starts;
  long long count;

  // The row of arc i, by its index among the listed ones.
  __device__ long long index_of(long long i) const {
    long long low = 0, high = count;
    while (high - low > 1) {
      const long long middle = (low + high) / 2;
      (starts[middle] <= i ? low : high) = middle;
    }
    return low;
  }
};

template <class arcs_t>
__device__ void sort_chunks(const arcs_t& arcs, const u64* indptr, const listed_rows& listed,
                            void* shared) {
  using key_t = typename arcs_t::key_t;
  constexpr long long block_arcs = shared_bytes / sizeof(key_t);
  const long long chunks = listed.starts[listed.count] / block_arcs + listed.count;
  // Chunk c of row r has number starts[r] / block_arcs + r + c, or there is none of a number.
  for (long long number = blockIdx.x; number < chunks; number += gridDim.x) {
    long long low = 0, high = listed.count;
    while (high - low > 1) {
      const long long middle = (low + high) / 2;
      (listed.starts[middle] / block_arcs + middle <= number ? low : high) = middle;
    }
    const long long length = listed.starts[low + 1] - listed.starts[low];
    const long long begin = (number - listed.starts[low] / block_arcs - low) * block_arcs;
    if (begin >= length) continue;
    const long long count = length - begin < block_arcs ? length - begin : block_arcs;
    sort_by_block(arcs, indptr[listed.rows[low]] + u64(begin), u32(count),
                  static_cast<key_t*>(shared));
  }
}

// Merges pairs of sorted runs of the listed rows. An arc's new place is its index in its run plus
// the number of arcs of the other run that go before it, found by bisection. In the
// graph a listed row begins where indptr says, in the other arcs where starts says.
template <class arcs_t>
__device__ void merge_runs(const arcs_t& from, const arcs_t& to, bool to_graph, const u64* indptr,
                           const listed_rows& listed, long long run) {
  using key_t = typename arcs_t::key_t;
  const long long arcs = listed.starts[listed.count];
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < arcs; i += stride) {
    const long long row = listed.index_of(i), start = listed.starts[row];
    const u64 in_graph = indptr[listed.rows[row]];
    const u64 source = to_graph ? u64(start) : in_graph;
    const u64 target = to_graph ? in_graph : u64(start);
    const long long length = listed.starts[row + 1] - start, offset = i - start;
    const long long pair = offset / (2 * run) * (2 * run);
    const bool is_second = offset - pair >= run;
    const long long other = is_second ? pair : pair + run;
    const long long other_end = other + run < length ? other + run : length;
    const key_t key = from.load(source + u64(offset));
    long long low = other < length ? other : length, high = other_end;
    const long long first = low;
    while (low < high) {  // of equal arcs, those of the first run go first
      const long long middle = (low + high) / 2;
      const key_t found = from.load(source + u64(middle));
      if (is_second ? !(key < found) : found < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const long long before = low - first, index = offset - pair - (is_second ? run : 0);
    to.store(target + u64(pair + index + before), key);
  }
}
