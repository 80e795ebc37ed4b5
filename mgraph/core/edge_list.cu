// The checksum of an edge list: the sum modulo 2^64 of a 64-bit hash of each edge, so that it
// depends neither on the order of the edges nor on their division into parts. edge_list_cpu.py
// computes the same bits.
//
// One thread per edge, in a grid-stride loop; threads add in registers, and one atomic per warp
// adds to *checksum. Cost: each edge is read once.
//   MGRAPH_VERTEX_T  int or long long, the type of a vertex id
//   MGRAPH_WEIGHT_T  the type of a weight

#include <mgraph/hash.cuh>
#include <mgraph/widened.cuh>

using namespace mgraph;
using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;

namespace {

__device__ u64 bits(long long weight) { return u64(weight); }
__device__ u64 bits(int weight) { return bits((long long)weight); }
__device__ u64 bits(double weight) { return u64(__double_as_longlong(weight)); }
__device__ u64 bits(float weight) { return bits(widened(weight)); }

}  // namespace

// Add the edges' hashes to *checksum. weight: null for edges without weights.
extern "C" __global__ void edge_list_checksum(const vertex_t* src, const vertex_t* dst,
                                              const weight_t* weight, long long count,
                                              u64* checksum) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  u64 partial = 0;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const u64 from = u64(src[i]), to = u64(dst[i]);
    partial += weight ? weighted_edge_hash(from, to, bits(weight[i])) : edge_hash(from, to);
  }
  add_checksum(partial, checksum);
}
