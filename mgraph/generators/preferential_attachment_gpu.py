"""Generated edges on a GPU: device memory, weights, and copies to the host.

Each method has a function ``fill(model, part, src, dst, checksum)``, which writes a vertex range's
edges on the current stream: CuPy arrays of ``model.dtype`` and shape (edges of the range,), and a
uint64 array of shape (1,) to which the edges' hashes are added.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core import cancellation_gpu
from mgraph.core.edges import EdgeList
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.transfer import stream_to_host
from mgraph.generators import cuppa_gpu, cuppa_hash_gpu, edge_weights_gpu

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

Fill = Callable[["CopyModel", range, Any, Any, Any], None]


def empty_ids(model: "CopyModel", part: range) -> Any:
    """An uninitialised device array for one column of a range's edges, of ``model.dtype``.

    The first row beyond the exact core, or beyond the clique if the method has no core, is aligned
    to 16 bytes, so that stores can be that wide.
    """
    import cupy

    first = model.d if model.stores_endpoints else model.core_vertices
    rows_before = model.edges_in(range(part.start, max(part.start, first)))
    pad = -rows_before % (16 // model.dtype.itemsize)
    return cupy.empty(pad + model.edges_in(part), model.dtype)[pad:]


def generate_endpoints(model: "CopyModel", stop: int, extra_bytes: int = 0, **options: Any) -> Any:
    """The endpoints of all vertices below ``stop``, by ``cuppa``; options: as for its ``fill``.

    Raises OutOfMemoryError if they and ``extra_bytes`` more do not fit in memory.
    """
    import cupy

    model.check_memory(stop, free_bytes(), "this GPU", extra_bytes)
    dst = empty_ids(model, range(stop))
    clique = range(min(model.d, stop))
    unused = cupy.zeros(1, np.uint64)
    cuppa_hash_gpu.fill(model, clique, None, dst[: model.edges_in(clique)], unused)
    if stop > model.d:
        cuppa_gpu.fill(model, stop, dst, **options)
    cancellation_gpu.finish()  # so that callers do not keep an incomplete graph
    return dst


def _fill_function(model: "CopyModel", ends: Any) -> Fill:
    """The method's ``fill``. ends: all endpoints, of a method that stores them."""
    if not model.stores_endpoints:
        return cuppa_hash_gpu.fill

    def fill(model: "CopyModel", part: range, src: Any, dst: Any, checksum: Any) -> None:
        cuppa_gpu.fill_rows(model, part, ends, src, dst, checksum)

    return fill


def _fill_edges(
    fill: Fill, model: "CopyModel", part: range, src: Any, dst: Any, weight: Any, checksum: Any
) -> int:
    """Write edges, and weights if the model has them; return the number of rows."""
    rows = model.edges_in(part)
    if not model.weights:
        fill(model, part, src[:rows], dst[:rows], checksum[:1])
        return rows
    fill(model, part, src[:rows], dst[:rows], checksum[1:])
    edge_weights_gpu.fill(model, src[:rows], dst[:rows], weight[:rows], checksum[:1])
    return rows


def generate_edges(model: "CopyModel", part: range) -> tuple[EdgeList, int]:
    """A vertex range's edges as CuPy arrays on the current device, and their checksum."""
    import cupy

    ends = None
    if model.stores_endpoints:
        ends = generate_endpoints(model, part.stop, model.source_and_weight_bytes(part))
    src = empty_ids(model, part)
    dst = empty_ids(model, part) if ends is None else ends[model.edges_before(part.start) :]
    weight = cupy.empty(dst.size, model.weight_dtype) if model.weights else None
    checksum = cupy.zeros(2, np.uint64)  # of the edges; of the edges without weights
    _fill_edges(_fill_function(model, ends), model, part, src, dst, weight, checksum)
    return EdgeList(src, dst, weight), int(checksum[0])


def stream(
    model: "CopyModel", part: range, block_edges: int, ends: Any
) -> Iterator[tuple[EdgeList, int]]:
    """Generate a vertex range in blocks, in order, as host arrays.

    The last block carries the checksum of all. ends: all endpoints below the range's end, if the
    method stores them. While the caller works on one block, the next is generated; a block is
    overwritten once the next one is requested. Device and pinned memory: a block each, 8 or 16
    bytes per edge of ``block_edges``, and 4 more for weights.
    """
    import cupy

    blocks = model.blocks(part, block_edges)
    capacity = max((model.edges_in(block) for block in blocks), default=0)
    columns = [(capacity, dtype) for dtype in model.columns.values()]

    checksum = cupy.zeros(2, np.uint64)
    cupy.cuda.get_current_stream().synchronize()  # the kernels run on another
    fill = _fill_function(model, ends)

    def launch(block: range, src: Any, dst: Any, weight: Any = None) -> int:
        return _fill_edges(fill, model, block, src, dst, weight, checksum)

    remaining = len(blocks)
    for block_columns in stream_to_host(blocks, launch, columns):
        remaining -= 1
        yield EdgeList(*block_columns), 0 if remaining else int(checksum[0])
