// Checksums of edges: an edge a thread, sums in registers, a warp's by shuffles, one atomic a warp.

#include "mgraph/hash.cuh"

using namespace mgraph;
using id_t = MGRAPH_ID_T;
using weight_t = MGRAPH_WEIGHT_T;

namespace {

__device__ u64 bits(long long weight) { return u64(weight); }
__device__ u64 bits(int weight) { return bits((long long)weight); }
__device__ u64 bits(double weight) { return u64(__double_as_longlong(weight)); }
__device__ u64 bits(float weight) { return bits(double(weight)); }

}  // namespace

// weight: null where there is none. total: 0 before.
extern "C" __global__ void edge_list_checksum(const id_t* src, const id_t* dst,
                                              const weight_t* weight, long long m, u64* total) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  u64 sum = 0;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < m; i += stride) {
    const u64 from = u64(src[i]), to = u64(dst[i]);
    sum += weight ? weighted_edge_hash(from, to, bits(weight[i])) : edge_hash(from, to);
  }
  for (int lanes = 16; lanes; lanes /= 2) sum += __shfl_down_sync(~0u, sum, lanes);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
