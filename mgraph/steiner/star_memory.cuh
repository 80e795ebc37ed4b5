// What STAR's kernels are passed once per graph: its arrays, and the memory of the groups.
//
// star_memory_gpu.py allocates the memory and packs these structs. The host defines
// MGRAPH_ROW_MARKS, the number of marks of a sorted row.
#pragma once

#include "arc_queue.cuh"
#include "star_sorted_row.cuh"

namespace mgraph {

constexpr int threads_per_block = 512;  // one block per multiprocessor: more registers per thread
constexpr int keys_per_label = 4;       // of a vertex, which fill a memory sector

struct star_graph {
  const long long* indptr;    // [n + 1]
  const int* indices;         // [arcs]
  const weight_t* weights;    // [arcs]; null: every weight is 1
  const sorted_row* rows;     // [n]; null: rows are not sorted by weight
  const weight_t* row_marks;  // [marks_per_row], where rows are sorted
  int n;
  int tile;  // lanes per piece of arcs, a power of two
  float mean_degree;
};

constexpr int above = 0, below = 1;  // the sides: the two partitions of a tree

struct distances {
  key_t distance[2];  // from the partition above and from the partition below

  // An index that is a variable would put the array into local memory.
  __device__ key_t of(int side) const { return side == above ? distance[above] : distance[below]; }
};

// What a search knows of a vertex, in one memory sector, since most labels are read alone.
struct alignas(keys_per_label * sizeof(key_t)) label : distances {
  u32 flags, unused[sizeof(key_t) / 2 - 1];
};
static_assert(sizeof(label) == keys_per_label * sizeof(key_t), "as the host allocates labels");

// The memory of all groups. Bucket queues and far lists have two halves: one is read while the
// other is written. Sides are the two partitions of a tree. The initial tree's levels use the
// buckets for vertices of many arcs, and the far lists for the vertices of a level and all that are
// touched.
struct search_memory {
  label* labels;       // [groups][n]; between searches no_key and no flags
  int* bucket_vertex;  // [groups][2 halves][bucket_capacity]
  u64* bucket_arcs;
  key_t* bucket_key;
  int* far;             // [groups][2 sides][2 halves][n]; in the end the path that was found
  int* touched;         // [groups][2 sides][n]
  u32* path_size;       // [groups]: the number of vertices of the path that was found
  u32 bucket_capacity;  // in pieces of arcs
};

// The part of one group.
__device__ __forceinline__ search_memory memory_of_group(const search_memory& all, size_t group,
                                                         size_t n) {
  const size_t bucket = 2 * group * all.bucket_capacity;
  return {all.labels + group * n,  all.bucket_vertex + bucket, all.bucket_arcs + bucket,
          all.bucket_key + bucket, all.far + 4 * group * n,    all.touched + 2 * group * n,
          all.path_size + group,   all.bucket_capacity};
}

}  // namespace mgraph
