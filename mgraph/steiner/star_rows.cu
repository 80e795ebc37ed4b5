// Rows that are sorted by weight, with the number of arcs up to each of some weights, the marks: a
// search that takes arcs up to a length reads about these alone. Cost: one binary search per mark.
#include "star_sorted_row.cuh"

using namespace mgraph;

// Write the description of each row: one thread per row.
extern "C" __global__ void star_write_rows(const long long* indptr, const weight_t* weights,
                                           const weight_t* marks, long long n, sorted_row* rows) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long v = (long long)blockIdx.x * blockDim.x + threadIdx.x; v < n; v += stride) {
    const long long begin = indptr[v], end = indptr[v + 1];
    rows[v].begin = begin;
    long long low = begin;
    for (int i = 0; i < marks_per_row; ++i) {  // marks ascend
      long long high = end;
      while (low < high) {
        const long long middle = low + (high - low) / 2;
        if (weights[middle] <= marks[i]) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      rows[v].counts[i] = u32(low - begin);
    }
  }
}
