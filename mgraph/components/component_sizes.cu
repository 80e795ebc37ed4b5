// How many vertices each component has; component_sizes_gpu.py launches the kernels.
//
//   sizes_count  the vertices of each label; lanes with the same label add to its count at once
//   sizes_mark   1 for each label that occurs, to be summed up to its place
//   sizes_list   the labels that occur as keys, which ascend from the largest component on
//   sizes_unpack labels and sizes of sorted keys
//
// Cost: a read and an atomic operation per vertex, mostly one per 32 in a large component; 8 bytes
// per vertex.
//   MGRAPH_LABEL_T  int or long long, the type of a label

using label_t = MGRAPH_LABEL_T;
using u32 = unsigned;
using u64 = unsigned long long;

namespace {

__device__ long long first_item() { return (long long)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ long long stride() { return (long long)gridDim.x * blockDim.x; }

}  // namespace

// counts: by label, 0 before.
extern "C" __global__ void sizes_count(const label_t* labels, long long n, u32* counts) {
  const long long rounded = (n + 31) / 32 * 32;
  for (long long v = first_item(); v < rounded; v += stride()) {
    const bool is_vertex = v < n;
    const u32 label = is_vertex ? u32(labels[v]) : ~0u;
    const u32 lanes = __match_any_sync(~0u, label);
    if (is_vertex && (threadIdx.x & 31) == __ffs(lanes) - 1) {
      atomicAdd(&counts[label], u32(__popc(lanes)));
    }
  }
}

extern "C" __global__ void sizes_mark(const u32* counts, long long n, u32* places) {
  for (long long v = first_item(); v < n; v += stride()) places[v] = counts[v] != 0;
}

// places: how many labels occur up to each. A key has the complement of the size above the label,
// so that of equally large components the one with the smaller label is first.
extern "C" __global__ void sizes_list(const u32* counts, const u32* places, long long n,
                                      u64* keys) {
  for (long long v = first_item(); v < n; v += stride()) {
    if (counts[v]) keys[places[v] - 1] = u64(~counts[v]) << 32 | u32(v);
  }
}

extern "C" __global__ void sizes_unpack(const u64* keys, long long count, label_t* labels,
                                        long long* sizes) {
  for (long long i = first_item(); i < count; i += stride()) {
    labels[i] = label_t(u32(keys[i]));
    sizes[i] = ~u32(keys[i] >> 32);
  }
}
