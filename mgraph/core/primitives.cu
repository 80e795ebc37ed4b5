// Small parallel primitives on arrays, for which CuPy would compile kernels of its own.
//
//   fill, fill_leading, put    all elements, those that begin each row, or some, become one value
//   put_each                   some elements become others
//   scan_sums, scan_offsets, scan_write   cumulative sums: of tiles, of these by one block, and
//                              within tiles (reduce, then scan: Merrill, Garland 2016)
//   find_rows                  the row in which each of some arcs lies
//   write_tails                the row of every arc
//   summarize_degrees          the maximum degree, and how the arcs of large vertices are cut
//   count_rows, list_rows      the rows whose degrees lie in a range
//   sum_integers, summarize_weights   one partial sum per block, which the host adds up in order
//
// Launches have any number of blocks of a multiple of 32 threads, at most 1,024.
//   MGRAPH_ELEMENT_T  the type of the elements of the arrays that are filled, summed up or scanned

using element_t = MGRAPH_ELEMENT_T;
using u32 = unsigned;
using u64 = unsigned long long;

constexpr u32 all_lanes = 0xFFFFFFFF;
constexpr u32 tile_items = 4096;  // of a scan, and arcs of which a block writes the rows at a time
constexpr u32 max_warps = 32;     // of a block

extern "C" __global__ void fill(element_t* array, long long count, element_t value) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    array[i] = value;
  }
}

// The first `leading` elements of each row of `width` elements become one value.
extern "C" __global__ void fill_leading(element_t* array, long long rows, long long width,
                                        long long leading, element_t value) {
  const long long count = rows * leading, stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    array[i / leading * width + i % leading] = value;
  }
}

extern "C" __global__ void put(element_t* array, const long long* positions, long long count,
                               element_t value) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    array[positions[i]] = value;
  }
}

extern "C" __global__ void put_each(element_t* array, const long long* positions,
                                    const element_t* values, long long count) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    array[positions[i]] = values[i];
  }
}

// The sum of `value` over the threads of this block before this one, and of all in `total`. `warps`
// has room for one value per warp; it may be reused after the next barrier.
template <class value_t>
__device__ value_t sum_before(value_t value, value_t* warps, value_t& total) {
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  value_t through = value;
  for (u32 reach = 1; reach < 32; reach *= 2) {
    const value_t other = __shfl_up_sync(all_lanes, through, reach);
    if (lane >= reach) through += other;
  }
  if (lane == 31) warps[warp] = through;
  __syncthreads();
  value_t before = through - value;
  total = 0;
  for (u32 w = 0; w < blockDim.x / 32; ++w) {
    if (w < warp) before += warps[w];
    total += warps[w];
  }
  return before;
}

// sums[t] becomes the sum of tile t.
extern "C" __global__ void scan_sums(const element_t* values, long long count, element_t* sums) {
  __shared__ element_t warps[max_warps];
  for (long long tile = blockIdx.x; tile * tile_items < count; tile += gridDim.x) {
    element_t sum = 0, total;
    for (u32 k = threadIdx.x; k < tile_items; k += blockDim.x) {
      const long long i = tile * tile_items + k;
      if (i < count) sum += values[i];
    }
    sum_before(sum, warps, total);
    if (threadIdx.x == 0) sums[tile] = total;
    __syncthreads();
  }
}

// Each of the tiles' sums becomes the sum of those before it: one block.
extern "C" __global__ void scan_offsets(element_t* sums, long long tiles) {
  __shared__ element_t warps[max_warps];
  if (blockIdx.x > 0) return;
  element_t carried = 0;
  for (long long first = 0; first < tiles; first += blockDim.x) {
    const long long i = first + threadIdx.x;
    const element_t value = i < tiles ? sums[i] : element_t(0);
    element_t total;
    const element_t before = sum_before(value, warps, total);
    if (i < tiles) sums[i] = carried + before;
    carried += total;
    __syncthreads();
  }
}

// values[i] becomes the sum of values[0 .. i]. offsets: of tiles, as scan_offsets leaves them.
extern "C" __global__ void scan_write(element_t* values, long long count,
                                      const element_t* offsets) {
  __shared__ element_t warps[max_warps];
  for (long long tile = blockIdx.x; tile * tile_items < count; tile += gridDim.x) {
    element_t carried = offsets[tile];
    for (u32 k = 0; k < tile_items; k += blockDim.x) {
      const long long i = tile * tile_items + k + threadIdx.x;
      const bool present = k + threadIdx.x < tile_items && i < count;
      const element_t value = present ? values[i] : element_t(0);
      element_t total;
      const element_t before = sum_before(value, warps, total);
      if (present) values[i] = carried + before + value;
      carried += total;
      __syncthreads();
    }
  }
}

// The last of n rows that begins at or before an arc's position.
__device__ long long row_of(const u64* indptr, long long n, u64 position) {
  long long low = 0, high = n;
  while (high - low > 1) {
    const long long middle = (low + high) / 2;
    (indptr[middle] <= position ? low : high) = middle;
  }
  return low;
}

extern "C" __global__ void find_rows(const u64* indptr, long long n, const u64* positions,
                                     long long count, long long* rows) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    rows[i] = row_of(indptr, n, positions[i]);
  }
}

// tails[i] becomes the row of arc i, of rows that begin at indptr[r] - indptr[0]: a block marks
// where the rows of a tile begin, and adds up the marks.
extern "C" __global__ void write_tails(const u64* indptr, long long n, long long arcs,
                                       u32 first_row, u32* tails) {
  __shared__ u32 begins[tile_items];
  __shared__ u32 warps[max_warps];
  const u64 origin = indptr[0];
  for (long long tile = blockIdx.x; tile * tile_items < arcs; tile += gridDim.x) {
    const u64 begin = origin + u64(tile) * tile_items;
    const u64 end = min(begin + tile_items, origin + u64(arcs));
    const long long first = row_of(indptr, n, begin);
    for (u32 k = threadIdx.x; k < tile_items; k += blockDim.x) begins[k] = 0;
    __syncthreads();
    // The rows after the tile's first arc's that begin in the tile; empty rows begin there, too.
    for (long long row = first + 1 + threadIdx.x; row < n && indptr[row] < end; row += blockDim.x) {
      atomicAdd(&begins[indptr[row] - begin], 1u);
    }
    __syncthreads();
    u32 carried = 0;
    for (u32 k = 0; k < tile_items; k += blockDim.x) {
      const u32 mark = k + threadIdx.x < tile_items ? begins[k + threadIdx.x] : 0;
      u32 total;
      const u32 before = sum_before(mark, warps, total);
      const u64 i = begin - origin + k + threadIdx.x;
      if (k + threadIdx.x < tile_items && i < u64(arcs)) {
        tails[i] = first_row + u32(first) + carried + before + mark;
      }
      carried += total;
      __syncthreads();
    }
  }
}

// The summary of degrees, of which each thread adds its share: max, the maximum; pieces, how many
// pieces of at most `piece` arcs the rows have that are longer than that.
extern "C" __global__ void summarize_degrees(const u64* indptr, long long n, u64 piece, u64* max,
                                             u64* pieces) {
  u64 largest = 0, sum = 0;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x; row < n; row += stride) {
    const u64 degree = indptr[row + 1] - indptr[row];
    largest = degree > largest ? degree : largest;
    if (degree > piece) sum += (degree + piece - 1) / piece;
  }
  for (u32 reach = 16; reach > 0; reach /= 2) {
    const u64 other = __shfl_xor_sync(all_lanes, largest, reach);
    largest = other > largest ? other : largest;
    sum += __shfl_xor_sync(all_lanes, sum, reach);
  }
  if (threadIdx.x % 32 == 0) {
    if (largest) atomicMax(max, largest);
    if (sum) atomicAdd(pieces, sum);
  }
}

// The rows before `stop` with low <= degree < high; *count is increased by their number.
extern "C" __global__ void count_rows(const u64* indptr, long long stop, u64 low, u64 high,
                                      u64* count) {
  u64 found = 0;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x; row < stop;
       row += stride) {
    const u64 degree = indptr[row + 1] - indptr[row];
    found += low <= degree && degree < high;
  }
  for (u32 reach = 16; reach > 0; reach /= 2) found += __shfl_xor_sync(all_lanes, found, reach);
  if (threadIdx.x % 32 == 0 && found) atomicAdd(count, found);
}

// The same rows, in any order, with their degrees.
extern "C" __global__ void list_rows(const u64* indptr, long long stop, u64 low, u64 high,
                                     u64* count, long long* rows, long long* degrees) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x; row < stop;
       row += stride) {
    const u64 degree = indptr[row + 1] - indptr[row];
    if (degree < low || degree >= high) continue;
    const u64 place = atomicAdd(count, 1ULL);
    rows[place] = row;
    degrees[place] = (long long)degree;
  }
}

// Of the integers that block b reads: low[b] becomes the sum of their lower 32 bits, unsigned, and
// high[b] that of the rest, signed. Neither overflows for fewer than 2^31 elements per block.
extern "C" __global__ void sum_integers(const element_t* values, long long count, long long* low,
                                        long long* high) {
  __shared__ long long low_warps[max_warps], high_warps[max_warps];
  long long low_sum = 0, high_sum = 0, total;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const long long value = (long long)(values[i]);
    low_sum += value & 0xFFFFFFFFLL;
    high_sum += value >> 32;
  }
  sum_before(low_sum, low_warps, total);
  if (threadIdx.x == 0) low[blockIdx.x] = total;
  sum_before(high_sum, high_warps, total);
  if (threadIdx.x == 0) high[blockIdx.x] = total;
}

// sums[b] becomes the sum of the elements that block b reads, as float64.
extern "C" __global__ void summarize_weights(const element_t* values, long long count,
                                             double* sums) {
  __shared__ double warps[max_warps];
  double sum = 0, total;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    sum += double(values[i]);
  }
  sum_before(sum, warps, total);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
