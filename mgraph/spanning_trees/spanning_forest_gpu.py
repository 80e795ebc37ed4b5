"""Spanning forests on a GPU: keys of 32 bits, the method, and the edges from a bit an arc.

Cost of the edges: a bit of each arc and 8 bytes of each vertex read, 20 to 32 bytes an edge
written, in order; nothing is waited for but their number.
"""

from itertools import product
from typing import Any

import numpy as np

from mgraph.core import csr_gpu
from mgraph.core.graph import Graph
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import C_TYPES, Source
from mgraph.errors import DeviceError
from mgraph.spanning_trees import boruvka_gpu, filter_boruvka_gpu
from mgraph.spanning_trees.spanning_forest import SpanningForest
from mgraph.spanning_trees.weight_keys import order_keys, ranks

_WORDS = {4: C_TYPES["int32"], 8: C_TYPES["int64"]}  # whatever they mean
_BYTES_RANKED = 40  # an arc, while weights of 64 bits are ranked
_LONG_ROW = 1 << 17  # as in the kernel


def _types(vertex_bytes: int, weight_bytes: int) -> dict[str, str]:
    """The kernels' macros."""
    return {"MGRAPH_VERTEX_T": _WORDS[vertex_bytes], "MGRAPH_WEIGHT_T": _WORDS[weight_bytes]}


KERNELS = Source(
    __package__,
    "spanning_forest.cu",
    check=tuple(tuple(_types(*sizes).items()) for sizes in product(_WORDS, _WORDS)),
)


def run(
    graph: Graph, method: str, variants: dict[str, str] | None = None, timed: bool = False
) -> SpanningForest:
    """The forest of a graph on the device whose rows ascend."""
    import cupy

    how = boruvka_gpu.check_variants(variants or {})
    clock = boruvka_gpu.Clock() if timed else None
    indptr, indices, weights = graph.indptr, graph.indices, graph.weights
    if graph.n > csr_gpu.MAX_VERTICES:
        raise DeviceError(f"a GPU takes graphs of fewer than 2^31 vertices, not {graph.n:,}")
    with memory_guard(f"the spanning forest of {graph}", LARGER_GPU):
        narrow = indices.astype(np.int32, copy=False)
        if method == "boruvka":
            if graph.num_arcs > boruvka_gpu.MOST_ARCS:
                raise DeviceError(f"boruvka takes fewer than 2^32 arcs, not {graph.num_arcs:,}")
            keys = (
                cupy.zeros(graph.num_arcs, np.uint32)
                if weights is None
                else ranks(order_keys(weights))
            )
            bits = _marked(boruvka_gpu.run(indptr, narrow, keys, how, clock), graph.num_arcs)
        else:
            keys = weights
            if weights is not None and weights.itemsize == 8:
                keys = ranks(order_keys(weights))
            if filter_boruvka_gpu.fits(graph.n, graph.num_arcs):
                bits = filter_boruvka_gpu.of_graph(indptr, narrow, keys)
            else:
                bits = _marked(filter_boruvka_gpu.in_pieces(indptr, narrow, keys), graph.num_arcs)
        del narrow, keys
        src, dst, weight, edge_id = _edges(graph, bits)
    times = clock.times if clock else None
    return SpanningForest(graph.n, src, dst, weight, edge_id, method, "gpu", times)


def _marked(ids: Any, m: int) -> Any:
    """A bit an arc, set for those of the forest: uint32, ``(ceil(m / 32),)``."""
    import cupy

    bits = cupy.zeros(-(-m // 32), np.uint32)
    KERNELS.launch(
        "spanning_forest_mark", (ids.astype(np.int64), np.int64(ids.size), bits), **_types(4, 4)
    )
    return bits


def _edges(graph: Graph, bits: Any) -> tuple[Any, ...]:
    """The arrays of a ``SpanningForest``: src, dst, weight and edge_id."""
    import cupy

    ids, weights = graph.indices.dtype, graph.weights
    dtypes = ids, ids, np.dtype(np.int32) if weights is None else weights.dtype, np.int64
    types = _types(ids.itemsize, dtypes[2].itemsize)
    upto = cupy.empty_like(bits)
    KERNELS.launch("spanning_forest_count", (bits, np.int64(bits.size), upto), **types)
    upto = cupy.cumsum(upto, dtype=np.uint32)
    arrays = tuple(cupy.empty(graph.n, dtype) for dtype in dtypes)
    count, rows = cupy.zeros(1, np.uint32), cupy.empty(graph.num_arcs // _LONG_ROW + 1, np.int64)
    bits_of = f"i{arrays[2].itemsize}"
    structs = {
        "marked_graph": {
            "indptr": graph.indptr, "indices": graph.indices, "n": graph.n, "bits": bits,
            "set_before_end": upto,
        },
        "forest_columns": {
            "src": arrays[0], "dst": arrays[1], "weight": arrays[2].view(bits_of),
            "edge_id": arrays[3],
        },
        "long_rows": {"count": count, "row": rows},
    }  # fmt: skip
    packed = [KERNELS.struct(name, None, **types).pack(structs[name]) for name in structs]
    for listed in (0, 1):
        arguments = (packed[0], 0 if weights is None else weights, *packed[1:], np.int32(listed))
        KERNELS.launch("spanning_forest_write", arguments, **types)
    found = int(upto[-1]) if bits.size else 0
    if 2 * found > graph.n:
        return tuple(array[:found] for array in arrays)
    return tuple(array[:found].copy() for array in arrays)


def fits(graph: Graph, method: str) -> bool:
    """Whether the current device takes a graph of the CPU, and has room for it and the method."""
    if graph.n > csr_gpu.MAX_VERTICES:
        return False
    if method == "boruvka":
        an_arc, a_vertex = 44, 44
        if graph.num_arcs > boruvka_gpu.MOST_ARCS:
            return False
    else:
        an_arc = filter_boruvka_gpu.BYTES_AN_ARC
        a_vertex = filter_boruvka_gpu.BYTES_A_VERTEX + 20
    if graph.weights is not None and graph.weights.itemsize == 8:
        an_arc += _BYTES_RANKED
    return graph.nbytes + an_arc * graph.num_arcs + a_vertex * graph.n < free_bytes()
