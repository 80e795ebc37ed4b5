"""cuPPA-Hash on a GPU: launches of ``cuppa_hash.cu``, device memory, and copies to the host.

Cost: 4 (int32) or 8 (int64) bytes an edge written to device memory, 1/p hashes an edge, one launch
a range. Deterministic. ``cuppa_hash_cpu`` explains the method.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.core.hashing import stream_key
from mgraph.cuda.source import C_TYPES, Source, multiprocessors
from mgraph.cuda.transfer import copied_to_host
from mgraph.generators import edge_weights_gpu
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
        table = 64
        while table < 2 * model.d:
            table *= 2
        shared = 8 * table + 4 * model.d
        kernel.max_dynamic_shared_size_bytes = shared
        threads = min(512, -(-model.d // 32) * 32)
        blocks = min(len(part), multiprocessors() * 64)
        kernel((blocks,), (threads,), arguments, shared_mem=shared)


def empty_ids(model: CopyModel, part: range) -> Any:
    """A device array for one column of a range's edges: ``model.dtype``, uninitialised.

    The row of the first vertex after the clique starts a 16-byte word, which stores then fill.
    """
    import cupy

    clique_rows = model.edges_in(range(part.start, max(part.start, model.d)))
    pad = -clique_rows % (16 // model.dtype.itemsize)
    return cupy.empty(pad + model.edges_in(part), model.dtype)[pad:]


def _fill_all(model: CopyModel, part: range, src: Any, dst: Any, weight: Any, checksum: Any) -> int:
    """``fill``, and the weights where the model has them; returns the rows written."""
    rows = model.edges_in(part)
    if not model.weights:
        fill(model, part, src[:rows], dst[:rows], checksum[:1])
        return rows
    fill(model, part, src[:rows], dst[:rows], checksum[1:])
    edge_weights_gpu.fill(model, src[:rows], dst[:rows], weight[:rows], checksum[:1])
    return rows


def edges(model: CopyModel, part: range) -> tuple[EdgeList, int]:
    """A vertex range's edges as CuPy arrays on the current device, and their checksum."""
    import cupy

    src, dst = empty_ids(model, part), empty_ids(model, part)
    weight = cupy.empty(dst.size, model.weight_dtype) if model.weights else None
    checksum = cupy.zeros(2, np.uint64)  # of the edges; of those without the weights
    _fill_all(model, part, src, dst, weight, checksum)
    return EdgeList(src, dst, weight), int(checksum[0])


def stream(model: CopyModel, part: range, block_edges: int) -> Iterator[tuple[EdgeList, int]]:
    """Blocks of a vertex range, in order, as host arrays; the last carries the sum of all hashes.

    While the caller works on one block the next is generated and copied. A yielded block is
    overwritten once the iterator is asked for the one after it. Device and pinned memory: two
    blocks each, 16 or 32 bytes an edge of ``block_edges``, and 8 more for weights.
    """
    import cupy

    blocks = model.blocks(part, block_edges)
    capacity = max((model.edges_in(block) for block in blocks), default=0)
    columns = [(capacity, dtype) for dtype in model.columns.values()]

    checksum = cupy.zeros(2, np.uint64)
    cupy.cuda.get_current_stream().synchronize()  # the kernels run on another

    def launch(block: range, src: Any, dst: Any, weight: Any = None) -> int:
        return _fill_all(model, block, src, dst, weight, checksum)

    left = len(blocks)
    for made in copied_to_host(blocks, launch, columns):
        left -= 1
        yield EdgeList(*made), 0 if left else int(checksum[0])
