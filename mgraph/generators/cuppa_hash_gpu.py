"""cuPPA-Hash on a GPU: the launches of ``cuppa_hash.cu``.

Cost: 4 (int32) or 8 (int64) bytes an edge written to device memory, 1/p hashes an edge, one launch
a range. Deterministic. ``cuppa_hash_cpu`` explains the method.
"""

from typing import Any

import numpy as np

from mgraph.core.hashing import stream_key
from mgraph.cuda.source import C_TYPES, Source, multiprocessors
from mgraph.generators.copy_model import CopyModel

SHORT = 32  # up to this d a warp handles many vertices; above it a block handles one
_SHORT_THREADS, _SHORT_BLOCKS_PER_MULTIPROCESSOR = 256, 8

KERNELS = Source(
    __package__,
    "cuppa_hash.cu",
    check=tuple(
        (("MGRAPH_D", str(d)), ("MGRAPH_VERTEX_T", C_TYPES[vertex]))
        for d in (1, 4, 7, 8, 32, 33, 4096)
        for vertex in ("int32", "int64")
    ),
)


def fill(model: CopyModel, part: range, src: Any, dst: Any, checksum: Any) -> None:
    """Launch the kernels that write a vertex range's edges, on the current stream.

    src: CuPy array or None, dst: CuPy array, both of ``model.dtype`` and shape (edges of the
    range,). checksum: uint64 CuPy array of shape (1,), to which the edges' hashes are added.
    """
    defines = {"MGRAPH_D": model.d, "MGRAPH_VERTEX_T": C_TYPES[str(model.dtype)]}
    middle = min(max(part.start, model.d), part.stop)
    if part.start < middle:
        clique = KERNELS.kernel("cuppa_hash_fill_clique", **defines)
        rows = (np.int64(part.start), np.int64(middle))
        clique((min(middle, 1024),), (256,), (*rows, src if src is not None else 0, dst, checksum))
    if middle == part.stop:
        return
    clique_rows = model.edges_in(range(part.start, middle))
    key = stream_key(model.seed)
    arguments = (
        np.int64(middle),
        np.int64(part.stop),
        np.uint64(model.threshold),
        *(np.uint32(word) for word in key),
        src[clique_rows:] if src is not None else 0,
        dst[clique_rows:],
        checksum,
    )
    if model.d <= SHORT:
        kernel = KERNELS.kernel("cuppa_hash_fill_short", **defines)
        threads = min(_SHORT_THREADS, kernel.max_threads_per_block // 32 * 32)
        blocks = multiprocessors() * _SHORT_BLOCKS_PER_MULTIPROCESSOR
        kernel((blocks,), (threads,), arguments)
    else:
        kernel = KERNELS.kernel("cuppa_hash_fill_long", **defines)
        shared = 8 * model.table_size + 4 * model.d
        kernel.max_dynamic_shared_size_bytes = shared
        threads = min(512, -(-model.d // 32) * 32)
        blocks = min(len(part), multiprocessors() * 64)
        kernel((blocks,), (threads,), arguments, shared_mem=shared)
