// The edges of a forest from a bit an arc; spanning_forest_gpu.py has the plan.
//   MGRAPH_EDGE_T    unsigned or long long, the type of an edge's id
//   MGRAPH_VERTEX_T  int or long long
//   MGRAPH_WEIGHT_T  int or long long: 32 or 64 bits of weight, whatever they mean

using edge_t = MGRAPH_EDGE_T;
using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;
using u32 = unsigned int;

namespace {

__device__ long long thread() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long threads() { return (long long)gridDim.x * blockDim.x; }

}  // namespace

// Set the bits of edges that are listed by id.
extern "C" __global__ void spanning_forest_mark(const edge_t* ids, long long count, u32* bits) {
  for (long long i = thread(); i < count; i += threads()) {
    atomicOr(&bits[ids[i] / 32], 1u << (ids[i] & 31));
  }
}

// How many bits are set in each word.
extern "C" __global__ void spanning_forest_count(const u32* bits, long long words, u32* count) {
  for (long long w = thread(); w < words; w += threads()) count[w] = __popc(bits[w]);
}

// Write the edges down. upto: bits set in all words up to each. A lane takes a row, or all of a warp one that is
// long, so that rows of a few arcs each are written side by side. weights may be null, then each is 1.
extern "C" __global__ void spanning_forest_write(const long long* indptr, const vertex_t* indices,
                                                 const weight_t* weights, long long n, const u32* bits,
                                                 const u32* upto, vertex_t* src, vertex_t* dst,
                                                 weight_t* weight, long long* edge_id) {
  constexpr long long long_row = 256;
  const int lane = threadIdx.x & 31;
  // The edges of a row in one word.
  const auto write = [&](long long row, long long begin, long long end, long long word) {
    u32 set = bits[word];
    if (word == begin / 32) set &= ~0u << (begin & 31);
    if (word == (end - 1) / 32) set &= ~0u >> (31 - ((end - 1) & 31));
    u32 at = upto[word] - __popc(bits[word] & (~0u << (set ? __ffs(set) - 1 : 0)));
    for (; set; set &= set - 1, ++at) {
      const long long id = word * 32 + __ffs(set) - 1;
      src[at] = vertex_t(row);
      dst[at] = indices[id];
      weight[at] = weights ? weights[id] : 1;
      edge_id[at] = id;
    }
  };
  for (long long first = thread() - lane; first < n; first += threads()) {
    const long long row = first + lane;
    const long long begin = row < n ? indptr[row] : 0, end = row < n ? indptr[row + 1] : 0;
    const bool is_long = end - begin > long_row;
    if (end > begin && !is_long) {
      for (long long word = begin / 32; word <= (end - 1) / 32; ++word) write(row, begin, end, word);
    }
    for (u32 longs = __ballot_sync(~0u, is_long); longs; longs &= longs - 1) {
      const int whose = __ffs(longs) - 1;
      const long long from = __shfl_sync(~0u, begin, whose), to = __shfl_sync(~0u, end, whose);
      for (long long word = from / 32 + lane; word <= (to - 1) / 32; word += 32) {
        write(first + whose, from, to, word);
      }
    }
  }
}
