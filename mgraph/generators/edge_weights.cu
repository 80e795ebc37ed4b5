// Weights of generated edges, a hash of both endpoints and the seed; edge_weights_cpu.py computes
// the same bits. One thread per edge, in a grid-stride loop; each warp adds once to the checksum.
//   MGRAPH_VERTEX_T  int or long long, the type of a vertex id

#include <mgraph/hash.cuh>

using mgraph::u64;
using vertex_t = MGRAPH_VERTEX_T;

// Writes `count` weights in [low, low + span), and adds the weighted edges' hashes to the checksum.
extern "C" __global__ void edge_weights_fill(const vertex_t* src, const vertex_t* dst,
                                             long long count, u64 key, u64 low, u64 span,
                                             int* weight, u64* checksum) {
  u64 sum = 0;
  const long long threads = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += threads) {
    const u64 u = u64(src[i]), v = u64(dst[i]);
    const u64 drawn = mgraph::edge_weight(u, v, key, low, span);
    weight[i] = int(drawn);
    sum += mgraph::weighted_edge_hash(u, v, drawn);
  }
  mgraph::add_checksum(sum, checksum);
}
