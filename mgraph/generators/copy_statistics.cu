// Statistics of a graph of the copy model from its finished endpoints; copy_statistics_cpu.py tells
// how and has the same counts. copy_model.cuh says what the host defines, and here also
//   MGRAPH_MOST   elements of a histogram

#include "copy_model.cuh"

using namespace mgraph;

constexpr u32 most = MGRAPH_MOST;
constexpr u32 in_shared = 256;  // draws, and chains, that are mostly not longer

// The graph, as the host passes it.
struct graph_launch {
  copy_model model;
  long long count;       // edges
  const vertex_t* ends;  // D a vertex, from vertex D on
  u64 stored;            // copies from vertices below it read endpoints; others draw for the slot
};

// The segments of a method that reads endpoints, if there are some.
struct segment_counts {
  const u64* stops;     // where each ends
  u32 segments;         // how many
  u64* dependent;       // of each, copies from vertices of the same segment;
  u64* most_dependent;  // those of one vertex, at most
  u32* of_vertex;       // those of each vertex, 0 at the launch
};

struct histograms {
  u64* attempts;
  u64* chains;
};

struct finished_graph {
  copy_model model;
  const vertex_t* ends;
  uvertex stored;

  __device__ vertex_t end(uvertex v, u32 slot) const { return ends[u64(v - D) * D + slot]; }

  // Where a slot's draw number `attempt` leads.
  __device__ vertex_t endpoint(uvertex v, u32 slot, u32 attempt) const {
    const uvertex readable = min(stored, v);  // v itself may be stored, and is made again here
    u32 key = draw_key(model, attempt);
    while (!draw(model, key, v, slot)) {
      if (v < readable) return end(v, slot);
      key = draw_key(model, 0);
    }
    return vertex_t(v);
  }

  __device__ u32 accepted(uvertex v, u32 slot) const {
    const vertex_t found = end(v, slot);
    u32 attempt = 0;
    while (endpoint(v, slot, attempt) != found) ++attempt;
    return attempt;
  }
};

// Adds the edges of a graph to the histograms, and its copies to those of their segments.
extern "C" __global__ void copy_statistics_count(
    __grid_constant__ const graph_launch graph_launch_,
    __grid_constant__ const segment_counts segment_counts_,
    __grid_constant__ const histograms histograms_) {
  __shared__ u32 few_attempts[in_shared], few_chains[in_shared];
  const finished_graph graph{graph_launch_.model, graph_launch_.ends,
                             uvertex(graph_launch_.stored)};
  const u64* const stops = segment_counts_.stops;
  for (u32 i = threadIdx.x; i < in_shared; i += blockDim.x) few_attempts[i] = few_chains[i] = 0;
  __syncthreads();

  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x; e < graph_launch_.count; e += stride) {
    uvertex v = uvertex(D + e / D);
    u32 slot = u32(e % D);
    u32 attempt = graph.accepted(v, slot);
    const u32 drawn = min(attempt + 1, most - 1);
    if (drawn < in_shared) atomicAdd(&few_attempts[drawn], 1u);
    else atomicAdd(&histograms_.attempts[drawn], 1ULL);

    if (segment_counts_.segments) {
      u32 low = 0, high = segment_counts_.segments - 1;  // the segment of v: the first that stops above it
      while (low < high) {
        const u32 middle = (low + high) / 2;
        if (stops[middle] > u64(v)) high = middle;
        else low = middle + 1;
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
    length = min(length, most - 1);
    if (length < in_shared) atomicAdd(&few_chains[length], 1u);
    else atomicAdd(&histograms_.chains[length], 1ULL);
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < in_shared; i += blockDim.x) {
    if (few_attempts[i]) atomicAdd(&histograms_.attempts[i], u64(few_attempts[i]));
    if (few_chains[i]) atomicAdd(&histograms_.chains[i], u64(few_chains[i]));
  }
}
