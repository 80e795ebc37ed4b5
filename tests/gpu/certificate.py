"""A certificate of exact graphs on a GPU: rows are drawn again from the endpoints before them."""

import numpy as np

from mgraph.core.hash_keys import stream_key
from mgraph.generators import cuppa_gpu

CODE = """
#include "cuppa_graph.cuh"
using namespace mgraph;

// One warp per vertex: slot after slot, the first draw that differs from all lower slots.
extern "C" __global__ void certify(const long long* vertices, int count, u64 threshold, u32 white0,
                                   u32 white1, u32 key,
                                   __grid_constant__ const endpoint_memory endpoints, u64* wrong) {
  const copy_model model{threshold, {white0, white1, key}};
  const endpoint_store memory(endpoints);
  const u32 lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  for (int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < count; i += warps) {
    const uvertex v = uvertex(vertices[i]);
    const vertex_t* row = memory.at(v, 0);
    for (u32 slot = 0; slot < D; ++slot) {
      for (u32 attempt = 0;; ++attempt) {
        uvertex u = v;
        u32 at = slot;
        vertex_t end;
        if (draw(model, draw_key(model, attempt), u, at)) end = vertex_t(u);
        else end = *memory.at(u, at);
        bool repeats = false;
        for (u32 lower = lane; lower < slot; lower += 32) repeats |= row[lower] == end;
        if (__any_sync(full_warp, repeats)) continue;
        if (lane == 0 && row[slot] != end) atomicAdd(wrong, 1ULL);
        break;
      }
    }
  }
}
"""


def wrong_endpoints(model, dst, vertices):
    """The number of endpoints of these vertices, d or above, that differ from the exact model.

    dst: the endpoints of all vertices, or ``cuppa_gpu.Endpoints``.
    """
    import cupy

    ends = dst
    if not isinstance(dst, cuppa_gpu.Endpoints):
        ends = cuppa_gpu.Endpoints(dst[model.edges_before(model.d) :])
    macros = cuppa_gpu.defines(model.d, model.dtype, 256, model.start, ends.ranks)
    defines = "".join(f"#define {name} {value}\n" for name, value in macros.items())
    includes = [f"-I{path}" for path in cuppa_gpu.KERNELS.include_paths()]
    declared = cuppa_gpu.read_declarations(model.d, str(model.dtype), 256, model.start)
    module = cupy.RawModule(code=defines + CODE, options=("-std=c++17", *includes))
    wrong = cupy.zeros(1, np.uint64)
    sampled = cupy.asarray(vertices, np.int64)
    key = (np.uint32(word) for word in stream_key(model.seed))
    memory = declared.endpoint_memory.pack(ends.values)
    arguments = (sampled, np.int32(sampled.size), np.uint64(model.threshold), *key, memory, wrong)
    module.get_function("certify")((1056,), (256,), arguments)
    return int(wrong[0])


def sample(model, count, seed=1):
    """Random vertices, and as many of the last ones; all vertices of a small graph."""
    if model.n - model.d <= 2 * count:
        return np.arange(model.d, model.n)
    chosen = np.random.default_rng(seed).integers(model.d, model.n, count)
    return np.concatenate([chosen, np.arange(model.n - count, model.n)])
