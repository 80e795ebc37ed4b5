// The lengths of arcs for groups/group_search.cu: the same numbers as groups/lengths_cpu.py writes.
#include <mgraph/hash.cuh>

#include "whole_lengths.cuh"

using namespace mgraph;

// A warp per row. tie_bits: of the number that is drawn for an edge and added; -1 for none.
extern "C" __global__ void group_write_lengths(const long long* indptr, const int* indices,
                                               const weight_t* weights, long long n, double factor,
                                               double rest, int shift, int tie_bits,
                                               long long* lengths) {
  const long long warps = (long long)gridDim.x * blockDim.x / 32;
  const length_scale scale{factor, rest};
  const u64 mask = tie_bits >= 0 ? (1ULL << tie_bits) - 1 : 0;
  for (long long v = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32; v < n; v += warps) {
    for (long long arc = indptr[v] + threadIdx.x % 32; arc < indptr[v + 1]; arc += 32) {
      const weight_t weight = weights ? weights[arc] : weight_t(1);
      long long length = (long long)whole_length(weight, scale) << shift;
      if (tie_bits >= 0) {
        const u64 u = indices[arc], w = v;
        length += (long long)(edge_hash(min(u, w), max(u, w)) & mask) + 1;
      }
      lengths[arc] = length;
    }
  }
}

// Note whether a weight is not a multiple of 1 / factor.
extern "C" __global__ void group_find_rounded(const weight_t* weights, long long count,
                                              double factor, u32* is_rounded) {
  const long long all = (long long)gridDim.x * blockDim.x;
  bool found = false;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += all) {
    const double multiple = double(weights[i]) * factor;
    found |= multiple != floor(multiple);
  }
  if (found) *is_rounded = 1;
}
