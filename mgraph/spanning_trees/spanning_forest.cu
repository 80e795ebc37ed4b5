// The edges of a forest from a bit an arc; spanning_forest_gpu.py has the plan.
//   MGRAPH_VERTEX_T  int or long long
//   MGRAPH_WEIGHT_T  int or long long: 32 or 64 bits of weight, whatever they mean

using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;
using u32 = unsigned int;

namespace {

__device__ long long thread() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long threads() { return (long long)gridDim.x * blockDim.x; }

// Where the edges come from and go to. upto: bits set in all words up to each. weights may be null, then each is 1.
struct written_forest {
  const long long* indptr;
  const vertex_t* indices;
  const weight_t* weights;
  const u32 *bits, *upto;
  vertex_t *src, *dst;
  weight_t* weight;
  long long* edge_id;

  // The edges in every so many words of a row, from one on.
  __device__ void write(long long row, long long from, long long every) const {
    const long long begin = indptr[row], last = indptr[row + 1] - 1;
    if (last < begin) return;
    for (long long word = begin / 32 + from; word <= last / 32; word += every) {
      u32 set = bits[word], at = upto[word];
      if (word == last / 32) set &= ~0u >> (31 - (last & 31));
      at -= __popc(bits[word] & ~set);
      if (word == begin / 32) set &= ~0u << (begin & 31);
      at -= __popc(set);
      for (; set; set &= set - 1, ++at) {
        const long long id = word * 32 + __ffs(set) - 1;
        src[at] = vertex_t(row);
        dst[at] = indices[id];
        weight[at] = weights ? weights[id] : 1;
        edge_id[at] = id;
      }
    }
  }
};

}  // namespace

// Set the bits of edges that are listed by id.
extern "C" __global__ void spanning_forest_mark(const long long* ids, long long count, u32* bits) {
  for (long long i = thread(); i < count; i += threads()) {
    atomicOr(&bits[ids[i] / 32], 1u << (ids[i] & 31));
  }
}

// How many bits are set in each word.
extern "C" __global__ void spanning_forest_count(const u32* bits, long long words, u32* count) {
  for (long long w = thread(); w < words; w += threads()) count[w] = __popc(bits[w]);
}

// Write the edges down, in order, a row a lane, or a warp where it is longer, so that rows of a few arcs each are
// written side by side. Rows that are longer still are counted and listed, and written by all threads in a second
// launch, with `listed`. weights may be null, then each is 1.
extern "C" __global__ void spanning_forest_write(const long long* indptr, const vertex_t* indices,
                                                 const weight_t* weights, long long n, const u32* bits,
                                                 const u32* upto, vertex_t* src, vertex_t* dst,
                                                 weight_t* weight, long long* edge_id, u32* long_rows,
                                                 long long* long_row, int listed) {
  constexpr long long a_lane = 256, a_warp = 1 << 17;  // arcs at most
  const written_forest f = {indptr, indices, weights, bits, upto, src, dst, weight, edge_id};
  const int lane = threadIdx.x & 31;
  for (u32 i = 0; listed && i < *long_rows; ++i) f.write(long_row[i], thread(), threads());
  for (long long first = thread() - lane; !listed && first < n; first += threads()) {
    const long long row = first + lane, arcs = row < n ? indptr[row + 1] - indptr[row] : 0;
    if (row < n && arcs <= a_lane) f.write(row, 0, 1);
    if (arcs > a_warp) long_row[atomicAdd(long_rows, 1u)] = row;
    u32 rows = __ballot_sync(~0u, arcs > a_lane && arcs <= a_warp);
    for (; rows; rows &= rows - 1) f.write(first + __ffs(rows) - 1, lane, 32);
  }
}
