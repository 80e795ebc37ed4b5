// One rank's steps of partitioned_components.py on a GPU; the _gpu.py launches them.
//
//   components_join_own     joins the ends of arcs between own vertices, by position
//   components_find_first   the first ghost of each label of an owner
//   components_group        lets ghosts with the same label hang below the first of them
//   components_join_ghosts  joins the ends of arcs to ghosts, by local number
//   components_flatten      writes each vertex's root
//   components_follow       own vertices' labels become the roots of these, and are counted
//   components_label        writes the labels of own vertices
//
// union_find.cuh says why no lock is needed. Cost: 8 bytes per arc and pass, and mostly two random
// reads of parents; 4 bytes per own vertex and ghost.
//
// The host defines
//   MGRAPH_LABEL_T   int or long long: the type of the labels that are written

#include <mgraph/union_find.cuh>

using label_t = MGRAPH_LABEL_T;
using u32 = unsigned;
using u64 = unsigned long long;

namespace {

__device__ long long first_item() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long stride() { return (long long)gridDim.x * blockDim.x; }

__device__ void join_if_apart(u32 one, u32 other, u32* parent) {
  const u32 a = parent[one], b = parent[other];
  if (a != b) mgraph::join(a, b, parent);
}

}  // namespace

// rows: of the arcs, positions. parent: of own vertices. Of arcs with mirrors one is looked at.
extern "C" __global__ void components_join_own(const u32* rows, const u32* heads, long long count,
                                               u32 below, u32 owned, int is_directed, u32* parent) {
  for (long long i = first_item(); i < count; i += stride()) {
    const u32 row = rows[i], position = heads[i] - below;  // of a lower ghost beyond all of them
    if (position < owned && (is_directed || position < row)) join_if_apart(position, row, parent);
  }
}

// labels: of the ghosts from local number `start` on, positions. first: by label, ~0 before.
extern "C" __global__ void components_find_first(const u32* labels, long long count, u32 start,
                                                 u32* first) {
  for (long long i = first_item(); i < count; i += stride()) {
    const u32 number = start + u32(i);
    if (first[labels[i]] > number) atomicMin(&first[labels[i]], number);
  }
}

extern "C" __global__ void components_group(const u32* labels, long long count, u32 start,
                                            const u32* first, u32* parent) {
  for (long long i = first_item(); i < count; i += stride()) {
    parent[start + u32(i)] = first[labels[i]];
  }
}

// parent: by local number. Of arcs with mirrors those to lower ghosts are looked at.
extern "C" __global__ void components_join_ghosts(const u32* rows, const u32* heads,
                                                  long long count, u32 below, u32 owned,
                                                  int is_directed, u32* parent) {
  for (long long i = first_item(); i < count; i += stride()) {
    const u32 head = heads[i];
    if (head < below || (is_directed && head - below >= owned)) {
      join_if_apart(head, below + rows[i], parent);
    }
  }
}

// In place: nothing halves paths meanwhile, so that what is written stays.
extern "C" __global__ void components_flatten(long long count, u32* parent) {
  for (long long v = first_item(); v < count; v += stride()) {
    parent[v] = mgraph::read_root(u32(v), (const u32*)parent);
  }
}

// own: positions of labels, which become local numbers of roots. counts: of own vertices, by root;
// lanes with the same root add to it at once.
extern "C" __global__ void components_follow(long long owned, u32 below, const u32* parent,
                                             u32* own, u32* counts) {
  const long long rounded = (owned + 31) / 32 * 32;
  for (long long v = first_item(); v < rounded; v += stride()) {
    const bool is_vertex = v < owned;
    u32 root = ~0u;
    if (is_vertex) own[v] = root = parent[below + own[v]];
    const u32 lanes = __match_any_sync(~0u, root);
    if (is_vertex && (threadIdx.x & 31) == __ffs(lanes) - 1) {
      atomicAdd(&counts[root], u32(__popc(lanes)));
    }
  }
}

// own: local numbers of roots. index: by root, of its label.
extern "C" __global__ void components_label(const u32* own, long long owned, const u32* index,
                                            const long long* root_labels, label_t* labels) {
  for (long long v = first_item(); v < owned; v += stride()) {
    labels[v] = label_t(root_labels[index[own[v]]]);
  }
}
