// From a bit per arc to the arrays of a forest; spanning_forest_gpu.py launches the kernels.
//
//   mark   sets the bits of edges that a method listed by id
//   count  counts the bits of each word; an inclusive scan follows
//   write  writes the edges in ascending order of id, which is the order of rows. A lane writes a
//          row of up to lane_row_arcs arcs, so that short rows are written side by side; a warp one
//          of up to long_row_arcs. Longer rows are listed, and the whole grid writes them in a
//          second launch.
// An edge's position is the number of bits before its own, so that threads need no order.
//
//   MGRAPH_VERTEX_T  int or long long
//   MGRAPH_WEIGHT_T  int or long long: 32 or 64 bits of weight, which are only copied

using vertex_t = MGRAPH_VERTEX_T;
using weight_t = MGRAPH_WEIGHT_T;
using u32 = unsigned int;

constexpr long long lane_row_arcs = 256;
constexpr long long long_row_arcs = 1 << 17;

// The kernel's arguments, which spanning_forest_gpu.py packs.

// A graph and its arcs' bits, set for those of the forest.
struct marked_graph {
  const long long* indptr;
  const vertex_t* indices;
  long long n;
  const u32* bits;
  const u32* bits_through;  // an inclusive scan: the bits set in a word and in those before it
};

// The edges of the forest.
struct forest_columns {
  vertex_t* src;
  vertex_t* dst;
  weight_t* weight;
  long long* edge_id;
};

// Rows of more than long_row_arcs arcs, in any order.
struct long_rows {
  u32* count;  // 0 at first
  long long* row;
};

namespace {

__device__ long long thread() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long threads() { return (long long)gridDim.x * blockDim.x; }

// Writes the edges in every `stride`-th word of a row, beginning with word `offset`.
__device__ void write_row(const marked_graph& graph, const weight_t* weights,
                          const forest_columns& forest, long long row, long long offset,
                          long long stride) {
  const long long begin = graph.indptr[row], last = graph.indptr[row + 1] - 1;
  if (last < begin) return;
  for (long long word = begin / 32 + offset; word <= last / 32; word += stride) {
    u32 set = graph.bits[word], at = graph.bits_through[word];
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

extern "C" __global__ void spanning_forest_mark(const long long* ids, long long count, u32* bits) {
  for (long long i = thread(); i < count; i += threads()) {
    atomicOr(&bits[ids[i] / 32], 1u << (ids[i] & 31));
  }
}

extern "C" __global__ void spanning_forest_count(const u32* bits, long long words, u32* count) {
  for (long long w = thread(); w < words; w += threads()) count[w] = __popc(bits[w]);
}

// weights: null if the graph has none, then each is 1; a parameter of its own, since only then does
// the compiler specialise the loops for null. listed: 0 in the first launch, 1 in the second.
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
    for (; rows; rows &= rows - 1)
      write_row(graph, weights, forest, first + __ffs(rows) - 1, lane, 32);
  }
}
