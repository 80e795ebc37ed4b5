// Statistics of a graph of the copy model from its finished endpoints; copy_statistics_cpu.py tells
// how and has the same counts. copy_model.cuh says what the host defines, and here also
//   MGRAPH_MOST   elements of a histogram

#include "copy_model.cuh"

using namespace mgraph;

constexpr u32 most = MGRAPH_MOST;
constexpr u32 in_shared = 256;  // draws, and chains, that are mostly not longer

struct finished_graph {
  copy_model model;
  const vertex_t* ends;  // D a vertex, from vertex D on
  uvertex stored;        // copies from vertices below it read endpoints; others draw for the slot

  __device__ vertex_t end(uvertex v, u32 slot) const { return ends[u64(v - D) * D + slot]; }

  // Where a slot's draw number `attempt` leads.
  __device__ vertex_t endpoint(uvertex v, u32 slot, u32 attempt) const {
    const uvertex readable = min(stored, v);  // v itself may be stored, and is made again here
    u32 key = model.key(attempt);
    while (!draw(model, key, v, slot)) {
      if (v < readable) return end(v, slot);
      key = model.key(0);
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

// Adds to the histograms of `count` edges. stops: where the `segments` segments end, if there are
// some; to `dependent` and `most_dependent` each vertex adds its copies from its own segment.
extern "C" __global__ void copy_statistics_count(long long count, u64 threshold, u32 white0,
                                                 u32 white1, u32 key, const vertex_t* ends,
                                                 u64 stored, const u64* stops, u32 segments, u64* attempts,
                                                 u64* chains, u64* dependent, u64* most_dependent,
                                                 u32* of_vertex) {
  __shared__ u32 few_attempts[in_shared], few_chains[in_shared];
  const finished_graph graph{{threshold, {white0, white1, key}}, ends, uvertex(stored)};
  for (u32 i = threadIdx.x; i < in_shared; i += blockDim.x) few_attempts[i] = few_chains[i] = 0;
  __syncthreads();

  const long long stride = (long long)gridDim.x * blockDim.x;
  for (long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x; e < count; e += stride) {
    uvertex v = uvertex(D + e / D);
    u32 slot = u32(e % D);
    u32 attempt = graph.accepted(v, slot);
    const u32 drawn = min(attempt + 1, most - 1);
    if (drawn < in_shared) atomicAdd(&few_attempts[drawn], 1u);
    else atomicAdd(&attempts[drawn], 1ULL);

    if (segments) {
      u32 low = 0, high = segments - 1;  // the segment of v: the first that stops above it
      while (low < high) {
        const u32 middle = (low + high) / 2;
        if (stops[middle] > u64(v)) high = middle;
        else low = middle + 1;
      }
      const u64 start = low ? stops[low - 1] : u64(D);
      uvertex u = v;
      u32 at = slot;
      if (!draw(graph.model, graph.model.key(0), u, at) && u64(u) >= start) {
        atomicAdd(&dependent[low], 1ULL);
        atomicMax(&most_dependent[low], u64(atomicAdd(&of_vertex[v - D], 1u) + 1));
      }
    }

    u32 length = 1;
    while (!draw(graph.model, graph.model.key(attempt), v, slot)) {
      attempt = v < graph.stored ? graph.accepted(v, slot) : 0;
      ++length;
    }
    length = min(length, most - 1);
    if (length < in_shared) atomicAdd(&few_chains[length], 1u);
    else atomicAdd(&chains[length], 1ULL);
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < in_shared; i += blockDim.x) {
    if (few_attempts[i]) atomicAdd(&attempts[i], u64(few_attempts[i]));
    if (few_chains[i]) atomicAdd(&chains[i], u64(few_chains[i]));
  }
}
