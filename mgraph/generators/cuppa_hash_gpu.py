"""cuPPA-Hash on a GPU: the launches of ``cuppa_hash.cu``.

Cost: 4 (int32) or 8 (int64) bytes per edge written to device memory, 1/p hashes per edge, one
launch per range; the exact core, 16 MiB at most, is made by ``cuppa`` and kept. Deterministic.
``cuppa_hash_cpu`` explains the method.
"""

import dataclasses
import functools
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core import cancellation_gpu
from mgraph.core.hashing import stream_key
from mgraph.cuda.source import Source, multiprocessors
from mgraph.generators import cuppa_gpu
from mgraph.generators.copy_model_gpu import WARP_SLOTS, hash_table_size, model_defines

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

_SHORT_THREADS, _SHORT_BLOCKS_PER_MULTIPROCESSOR = 256, 8


KERNELS = Source(
    __package__,
    "cuppa_hash.cu",
    check=tuple(
        tuple(model_defines(d, dtype, start).items())
        for d, start in (
            *((d, "paper") for d in (1, 4, 7, 8, 32, 33, 4096)),
            (1, "ba"),
            (8, "ba"),
        )
        for dtype in ("int32", "int64")
    ),
)

_cores = threading.Lock()


def exact_core(model: "CopyModel") -> Any:
    """The endpoints of the exact core, d per vertex, on the current device: a CuPy array of int32.

    Those of the clique are the vertex itself, where a copy from it ends. Made once for a model's
    draws and kept; whatever the model's n.
    """
    import cupy

    vertices = model.core_vertices
    exact = dataclasses.replace(
        model, n=max(vertices, model.d + 1), method="cuppa", weights=None
    )  # the same for every n
    with _cores:
        return _exact_core(exact, vertices, cupy.cuda.runtime.getDevice())


@functools.lru_cache(maxsize=8)
def _exact_core(model: "CopyModel", vertices: int, device: int) -> Any:
    import cupy

    d = model.d
    ends = cupy.empty(vertices * d, np.int32)
    ends[: d * d].set(np.repeat(np.arange(d, dtype=np.int32), d))
    if vertices > d:
        cuppa_gpu.fill(model, vertices, ends[d * d - model.edges_before(d) :])
    cupy.cuda.get_current_stream().synchronize()  # the next user may be on another stream
    cancellation_gpu.finish()  # raises, so that a core that was cut short is not kept
    return ends


def fill(model: "CopyModel", part: range, src: Any, dst: Any, checksum: Any) -> None:
    """Launch the kernels that write a vertex range's edges, on the current stream.

    src: CuPy array or None, dst: CuPy array, both of ``model.dtype`` and shape (edges of the
    range,). checksum: uint64 CuPy array of shape (1,), to which the edges' hashes are added.
    """
    macros = model_defines(model.d, model.dtype, model.start)
    clique_stop = min(max(part.start, model.d), part.stop)
    core_stop = min(max(clique_stop, model.core_vertices), part.stop)
    if part.start < clique_stop:
        kernel = KERNELS.kernel("cuppa_hash_fill_clique", **macros)
        rows = (np.int64(part.start), np.int64(clique_stop))
        kernel((min(clique_stop, 1024),), (256,), (*rows, *_columns(src, dst, 0), checksum))
    if clique_stop == part.stop:
        return
    core = exact_core(model)
    row = model.edges_in(range(part.start, clique_stop))
    if clique_stop < core_stop:
        rows = (np.int64(clique_stop), np.int64(core_stop))
        arguments = (*rows, core, *_columns(src, dst, row), checksum)
        KERNELS.launch("cuppa_hash_fill_core", arguments, **macros)
    if core_stop == part.stop:
        return
    row = model.edges_in(range(part.start, core_stop))
    white0, white1, key = (np.uint32(word) for word in stream_key(model.seed))
    draws = (np.int64(core_stop), np.int64(part.stop), np.uint64(model.threshold))
    rest = (core, np.int64(model.core_vertices), *_columns(src, dst, row), checksum)
    if model.d <= WARP_SLOTS:
        kernel = KERNELS.kernel("cuppa_hash_fill_short", **macros)
        threads = min(_SHORT_THREADS, kernel.max_threads_per_block // 32 * 32)
        blocks = multiprocessors() * _SHORT_BLOCKS_PER_MULTIPROCESSOR
        kernel((blocks,), (threads,), (*draws, white0, white1, key, white1 ^ key, *rest))
    else:
        kernel = KERNELS.kernel("cuppa_hash_fill_long", **macros)
        shared = 8 * hash_table_size(model.d) + 4 * model.d
        kernel.max_dynamic_shared_size_bytes = shared
        threads = min(512, -(-model.d // 32) * 32)
        blocks = min(len(part), multiprocessors() * 64)
        kernel((blocks,), (threads,), (*draws, white0, white1, key, *rest), shared_mem=shared)


def _columns(src: Any, dst: Any, row: int) -> tuple[Any, Any]:
    """Both columns from a row on; a null pointer for sources that are not asked for."""
    return 0 if src is None else src[row:], dst[row:]
