// Statistics of a graph of the copy model from its final endpoints; copy_statistics_cpu.py explains
// how and computes the same counts.
//
// One thread per edge repeats the edge's draws: attempt after attempt until one leads to the stored
// endpoint, then along the chain of copies, each copied edge by its own accepted attempt, to a
// direct edge or the clique. Small counts are added up in shared memory first. The counts do not
// depend on the order of threads.
//
//   MGRAPH_HISTOGRAM_SIZE  elements of a histogram; the last counts all larger values, too
// and the macros of copy_model.cuh.

#include "copy_model.cuh"

using namespace mgraph;

constexpr u32 histogram_size = MGRAPH_HISTOGRAM_SIZE;
constexpr u32 in_shared = 256;  // small counts, which are the most frequent

// The kernel's arguments, which copy_statistics_gpu.py packs.

struct graph_launch {
  copy_model model;
  long long count;       // edges beyond the clique
  const vertex_t* ends;  // D per vertex, from vertex D on
  u64 stored;            // copies from vertices below it read endpoints, others repeat the draw
};

// For a method that reads stored endpoints: dependent copies per segment.
struct segment_counts {
  const u64* stops;  // [segments] the vertex after each segment
  u32 segments;
  u64* dependent;       // [segments] copies from vertices of the same segment
  u64* most_dependent;  // [segments] the maximum of these per vertex
  u32* of_vertex;       // of vertex D and on, 0 at the launch: these copies per vertex
};

struct histograms {
  u64* attempts;  // of attempts per edge
  u64* chains;    // of draws per chain
};

struct final_graph {
  copy_model model;
  const vertex_t* ends;
  uvertex stored;

  __device__ vertex_t end(uvertex v, u32 slot) const { return ends[u64(v - D) * D + slot]; }

  // The endpoint of a slot's draw number `attempt`.
  __device__ vertex_t endpoint(uvertex v, u32 slot, u32 attempt) const {
    const uvertex readable = min(stored, v);  // v itself may be stored, and is drawn again here
    u32 key = draw_key(model, attempt);
    while (!draw(model, key, v, slot)) {
      if (v < readable) return end(v, slot);
      key = draw_key(model, 0);
    }
    return vertex_t(v);
  }

  // The number of the draw that a slot accepted.
  __device__ u32 accepted(uvertex v, u32 slot) const {
    const vertex_t expected = end(v, slot);
    u32 attempt = 0;
    while (endpoint(v, slot, attempt) != expected) ++attempt;
    return attempt;
  }
};

extern "C" __global__ void copy_statistics_count(__grid_constant__ const graph_launch graph_launch_,
                                                 __grid_constant__ const segment_counts
                                                     segment_counts_,
                                                 __grid_constant__ const histograms histograms_) {
  __shared__ u32 few_attempts[in_shared], short_chains[in_shared];
  const final_graph graph{graph_launch_.model, graph_launch_.ends, uvertex(graph_launch_.stored)};
  const u64* const stops = segment_counts_.stops;
  for (u32 i = threadIdx.x; i < in_shared; i += blockDim.x) few_attempts[i] = short_chains[i] = 0;
  __syncthreads();

  const long long stride = (long long)gridDim.x * blockDim.x;
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (long long e = thread; e < graph_launch_.count; e += stride) {
    uvertex v = uvertex(D + e / D);
    u32 slot = u32(e % D);
    u32 attempt = graph.accepted(v, slot);
    const u32 attempts = min(attempt + 1, histogram_size - 1);
    if (attempts < in_shared)
      atomicAdd(&few_attempts[attempts], 1u);
    else
      atomicAdd(&histograms_.attempts[attempts], 1ULL);

    if (segment_counts_.segments) {
      u32 low = 0, high = segment_counts_.segments - 1;  // the segment of v, by binary search
      while (low < high) {
        const u32 middle = (low + high) / 2;
        if (stops[middle] > u64(v))
          high = middle;
        else
          low = middle + 1;
      }
      const u64 start = low ? stops[low - 1] : u64(D);
      uvertex u = v;
      u32 at = slot;
      if (!draw(graph.model, draw_key(graph.model, 0), u, at) && u64(u) >= start) {
        atomicAdd(&segment_counts_.dependent[low], 1ULL);
        const u32 earlier = atomicAdd(&segment_counts_.of_vertex[v - D], 1u);
        atomicMax(&segment_counts_.most_dependent[low], u64(earlier + 1));
      }
    }

    u32 length = 1;
    while (!draw(graph.model, draw_key(graph.model, attempt), v, slot)) {
      attempt = v < graph.stored ? graph.accepted(v, slot) : 0;
      ++length;
    }
    length = min(length, histogram_size - 1);
    if (length < in_shared)
      atomicAdd(&short_chains[length], 1u);
    else
      atomicAdd(&histograms_.chains[length], 1ULL);
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < in_shared; i += blockDim.x) {
    if (few_attempts[i]) atomicAdd(&histograms_.attempts[i], u64(few_attempts[i]));
    if (short_chains[i]) atomicAdd(&histograms_.chains[i], u64(short_chains[i]));
  }
}
