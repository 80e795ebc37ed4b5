// Edges to compressed sparse rows: the kernels that csr_gpu.py launches, in this order.
//
//   csr_count       degree[v] becomes the number of arcs that leave v; the host makes indptr of it
//   csr_scatter     each arc takes the next free position of its row, in any order
//   csr_sort_short  each row of at most `short_arcs` arcs is sorted by a warp, in registers
//   csr_sort_long   each longer row is sorted by a block, if it fits in its shared memory, else it
//                   is listed, and
//   csr_sort_chunks, csr_merge_runs   sort the listed rows: chunks by blocks, then runs by merging
//
// Rows are sorted by destination and parallel arcs by weight, so neither the order of the edges nor
// that of the atomics shows in the result. To merge parallel arcs, csr_count_distinct counts the
// destinations of each row and csr_compact copies the first arc to each, the lightest.
//
// The atomics need no order among each other; a kernel's end orders them before the next one. Cost:
// see csr_gpu.py. Sorting networks: Batcher 1968.
//   MGRAPH_VERTEX_T  int or long long, the type of a vertex id in the list of edges
//   MGRAPH_WEIGHT_T  int or long long: 32 or 64 bits of a weight of any type
#include "csr_sort.cuh"

// Add to degree[v] the number of arcs that leave v. mirror: each edge stands for both directions.
extern "C" __global__ void csr_count(const vertex_t* src, const vertex_t* dst, long long count,
                                     int mirror, int drop_loops, u64* degree) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const vertex_t u = src[i], v = dst[i];
    if (u != v || !drop_loops) atomicAdd(&degree[u], 1ULL);
    if (u != v && mirror) atomicAdd(&degree[v], 1ULL);
  }
}

// Put each arc into its row, in any order. cursor[v]: the position of the next arc of v. weight may
// be null.
extern "C" __global__ void csr_scatter(const vertex_t* src, const vertex_t* dst,
                                       const weight_t* weight, long long count, int mirror,
                                       int drop_loops, u64* cursor, int* indices,
                                       weight_t* weights) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    const vertex_t u = src[i], v = dst[i];
    if (u != v || !drop_loops) {
      const u64 position = atomicAdd(&cursor[u], 1ULL);
      indices[position] = int(v);
      if (weight) weights[position] = weight[i];
    }
    if (u != v && mirror) {
      const u64 position = atomicAdd(&cursor[v], 1ULL);
      indices[position] = int(u);
      if (weight) weights[position] = weight[i];
    }
  }
}

// Sort the rows of at most `short_arcs` arcs: one warp per row. weights may be null.
extern "C" __global__ void csr_sort_short(const u64* indptr, long long n, int* indices,
                                          weight_t* weights, int order) {
  if (weights) {
    sort_short_rows(weighted_arcs{indices, weights, order}, indptr, n);
  } else {
    sort_short_rows(plain_arcs{indices}, indptr, n);
  }
}

// Sort the rows of more than `short_arcs` arcs that fit in shared memory, one block per row, and
// list those that do not. weights may be null.
extern "C" __global__ void csr_sort_long(const u64* indptr, long long n, int* indices,
                                         weight_t* weights, int order, u64* longer_count,
                                         long long* longer_rows, long long* longer_lengths) {
  __shared__ u64 shared[shared_bytes / 8];
  const row_list longer{longer_count, longer_rows, longer_lengths};
  if (weights) {
    sort_long_rows(weighted_arcs{indices, weights, order}, indptr, n, longer, shared);
  } else {
    sort_long_rows(plain_arcs{indices}, indptr, n, longer, shared);
  }
}

// Sort each chunk of the listed rows: one block per chunk.
extern "C" __global__ void csr_sort_chunks(const u64* indptr, int* indices, weight_t* weights,
                                           int order, const long long* rows,
                                           const long long* starts, long long count) {
  __shared__ u64 shared[shared_bytes / 8];
  const listed_rows listed{rows, starts, count};
  if (weights) {
    sort_chunks(weighted_arcs{indices, weights, order}, indptr, listed, shared);
  } else {
    sort_chunks(plain_arcs{indices}, indptr, listed, shared);
  }
}

// Merge pairs of runs of `run` arcs of the listed rows, from the graph's arrays into the others or,
// to_graph, back. A run of a row's length copies it.
extern "C" __global__ void csr_merge_runs(const u64* indptr, int* indices, weight_t* weights,
                                          int order, const long long* rows, const long long* starts,
                                          long long count, int* other_indices,
                                          weight_t* other_weights, int to_graph, long long run) {
  const listed_rows listed{rows, starts, count};
  if (weights) {
    const weighted_arcs graph{indices, weights, order};
    const weighted_arcs others{other_indices, other_weights, order};
    merge_runs(to_graph ? others : graph, to_graph ? graph : others, to_graph != 0, indptr, listed,
               run);
  } else {
    const plain_arcs graph{indices}, others{other_indices};
    merge_runs(to_graph ? others : graph, to_graph ? graph : others, to_graph != 0, indptr, listed,
               run);
  }
}

// degree[v] becomes the number of different destinations of row v: one warp per row.
extern "C" __global__ void csr_count_distinct(const u64* indptr, long long n, const int* indices,
                                              u64* degree) {
  const u32 lane = threadIdx.x % 32;
  const long long warps = (long long)gridDim.x * (blockDim.x / 32);
  for (long long row = ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32; row < n;
       row += warps) {
    const u64 begin = indptr[row], end = indptr[row + 1];
    u64 distinct = 0;
    for (u64 i = begin + lane; i < end; i += 32) {
      distinct += i == begin || indices[i] != indices[i - 1];
    }
    for (u32 reach = 16; reach > 0; reach /= 2) {
      distinct += __shfl_xor_sync(all_lanes, distinct, reach);
    }
    if (lane == 0) degree[row] = distinct;
  }
}

// Copy the first arc to each destination of the rows from `first` to `stop`: one warp per row.
// merged: the indptr of the result. weights may be null.
extern "C" __global__ void csr_compact(const u64* indptr, long long first, long long stop,
                                       const int* indices, const weight_t* weights,
                                       const u64* merged, int* out_indices, weight_t* out_weights) {
  const u32 lane = threadIdx.x % 32;
  const long long warps = (long long)gridDim.x * (blockDim.x / 32);
  for (long long row = first + ((long long)blockIdx.x * blockDim.x + threadIdx.x) / 32; row < stop;
       row += warps) {
    const u64 begin = indptr[row], end = indptr[row + 1];
    u64 target = merged[row] - merged[first];
    for (u64 from = begin; from < end; from += 32) {
      const u64 i = from + lane;
      const bool kept = i < end && (i == begin || indices[i] != indices[i - 1]);
      const u32 mask = __ballot_sync(all_lanes, kept);
      if (kept) {
        const u64 position = target + u32(__popc(mask & ((1u << lane) - 1)));
        out_indices[position] = indices[i];
        if (weights) out_weights[position] = weights[i];
      }
      target += u32(__popc(mask));
    }
  }
}
