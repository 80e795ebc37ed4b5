// The vertices that a search reached, with their distances: what is written of it.
//
//   reached_summarize  how many there are, and the greatest distance
//   reached_flag       a one for each reached vertex; the host adds them up
//   reached_list       the reached vertices in ascending order, with distance and predecessor
//
// One thread per vertex, in a grid-stride loop. Distances are taken as integers, whose order is
// theirs (path_length.cuh). Cost: a read of the distances each, and a write of the rows.
//   MGRAPH_KEY_T     int or long long: 32 or 64 bits of a distance of any type
//   MGRAPH_VERTEX_T  int or long long: the type of vertices in the rows

using key_t = MGRAPH_KEY_T;
using vertex_t = MGRAPH_VERTEX_T;
using u32 = unsigned;
using u64 = unsigned long long;

// Increase *count by the number of reached vertices, and *max, at least 0, to the greatest
// distance.
extern "C" __global__ void reached_summarize(const key_t* distance, long long n, key_t infinity,
                                             u64* count, u64* max) {
  u64 reached = 0, greatest = 0;
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long v = (long long)blockIdx.x * blockDim.x + threadIdx.x; v < n; v += stride) {
    const key_t key = distance[v];
    if (key == infinity) continue;
    ++reached;
    greatest = u64(key) > greatest ? u64(key) : greatest;
  }
  for (u32 reach = 16; reach > 0; reach /= 2) {
    const u64 other = __shfl_xor_sync(0xFFFFFFFF, greatest, reach);
    greatest = other > greatest ? other : greatest;
    reached += __shfl_xor_sync(0xFFFFFFFF, reached, reach);
  }
  if (threadIdx.x % 32 == 0 && reached) {
    atomicAdd(count, reached);
    atomicMax(max, greatest);
  }
}

extern "C" __global__ void reached_flag(const key_t* distance, long long n, key_t infinity,
                                        u32* flags) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long v = (long long)blockIdx.x * blockDim.x + threadIdx.x; v < n; v += stride) {
    flags[v] = distance[v] != infinity;
  }
}

// through[v]: the number of reached vertices up to v; null if all are reached. first: the number of
// the first vertex. predecessor and predecessors may be null.
extern "C" __global__ void reached_list(const key_t* distance, const vertex_t* predecessor,
                                        long long n, key_t infinity, const u32* through,
                                        long long first, vertex_t* vertices, key_t* distances,
                                        vertex_t* predecessors) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long v = (long long)blockIdx.x * blockDim.x + threadIdx.x; v < n; v += stride) {
    if (distance[v] == infinity) continue;
    const long long row = through ? (long long)through[v] - 1 : v;
    vertices[row] = vertex_t(first + v);
    distances[row] = distance[v];
    if (predecessor) predecessors[row] = predecessor[v];
  }
}
