// The edges of a forest from a bit an arc; spanning_forest_gpu.py has the plan.
//   MGRAPH_VERTEX_T  int or long long
//   MGRAPH_WEIGHT_T  int or long long: 32 or 64 bits of weight, whatever they mean

using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;
using u32 = unsigned int;

constexpr long long lane_row_arcs = 256;      // a lane writes rows of so many arcs at most,
constexpr long long long_row_arcs = 1 << 17;  // a warp those of so many, the whole grid longer ones

namespace {

__device__ long long thread() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long threads() { return (long long)gridDim.x * blockDim.x; }

}  // namespace

// A graph and its arcs' bits, set for those of the forest.
struct marked_graph {
  const long long* indptr;
  const vertex_t* indices;
  long long n;
  const u32* bits;
  const u32* set_before_end;  // of each word of bits: how many are set in it and in those before
};

// The edges of the forest, ascending by id.
struct forest_columns {
  vertex_t* src;
  vertex_t* dst;
  weight_t* weight;
  long long* edge_id;
};

// Rows of more than long_row_arcs arcs, in any order; the count is 0 at first.
struct long_rows {
  u32* count;
  long long* row;
};

namespace {

// Write the edges in every so many words of a row, from one on.
__device__ void write_row(const marked_graph& graph, const weight_t* weights,
                          const forest_columns& forest, long long row, long long from,
                          long long every) {
  const long long begin = graph.indptr[row], last = graph.indptr[row + 1] - 1;
  if (last < begin) return;
  for (long long word = begin / 32 + from; word <= last / 32; word += every) {
    u32 set = graph.bits[word], at = graph.set_before_end[word];
    if (word == last / 32) set &= ~0u >> (31 - (last & 31));
    at -= __popc(graph.bits[word] & ~set);
    if (word == begin / 32) set &= ~0u << (begin & 31);
    at -= __popc(set);
    for (; set; set &= set - 1, ++at) {
      const long long id = word * 32 + __ffs(set) - 1;
      forest.src[at] = vertex_t(row);
      forest.dst[at] = graph.indices[id];
      forest.weight[at] = weights ? weights[id] : 1;
      forest.edge_id[at] = id;
    }
  }
}

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
extern "C" __global__ void spanning_forest_write(
    __grid_constant__ const marked_graph marked_graph_, const weight_t* weights,
    __grid_constant__ const forest_columns forest_columns_,
    __grid_constant__ const long_rows long_rows_, int listed) {
  const marked_graph graph = marked_graph_;
  const forest_columns forest = forest_columns_;
  const long_rows longs = long_rows_;
  const long long n = graph.n;
  const int lane = threadIdx.x & 31;
  for (u32 i = 0; listed && i < *longs.count; ++i) {
    write_row(graph, weights, forest, longs.row[i], thread(), threads());
  }
  for (long long first = thread() - lane; !listed && first < n; first += threads()) {
    const long long row = first + lane;
    const long long arcs = row < n ? graph.indptr[row + 1] - graph.indptr[row] : 0;
    if (row < n && arcs <= lane_row_arcs) write_row(graph, weights, forest, row, 0, 1);
    if (arcs > long_row_arcs) longs.row[atomicAdd(longs.count, 1u)] = row;
    u32 rows = __ballot_sync(~0u, arcs > lane_row_arcs && arcs <= long_row_arcs);
    for (; rows; rows &= rows - 1) write_row(graph, weights, forest, first + __ffs(rows) - 1, lane, 32);
  }
}
