"""Spanning forests on a GPU: 32-bit keys, the method, and the edges from one bit per arc.

Cost of the edges: one bit per arc and 8 bytes per vertex are read, 20 to 32 bytes per edge are
written, in order. The host waits for their number only.
"""

import functools
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import csr_gpu, primitives_gpu
from mgraph.core.graph import Graph
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import copy, free_bytes
from mgraph.cuda.source import C_TYPES, Loader, Source
from mgraph.errors import DeviceError
from mgraph.spanning_trees import boruvka_gpu, filter_boruvka_gpu
from mgraph.spanning_trees.spanning_forest import SpanningForest
from mgraph.spanning_trees.weight_keys import order_keys, ranks

_WORDS = {4: C_TYPES["int32"], 8: C_TYPES["int64"]}  # by size: weights are only copied
_RANKING_BYTES_PER_ARC = 40  # while 64-bit weights are ranked
_EDGE_BYTES_PER_VERTEX = 20  # of the forest's arrays, in addition to the method's memory


def _defines(vertex_bytes: int, weight_bytes: int) -> dict[str, str]:
    """The kernels' macros for the sizes of vertex ids and weights."""
    return {"MGRAPH_VERTEX_T": _WORDS[vertex_bytes], "MGRAPH_WEIGHT_T": _WORDS[weight_bytes]}


KERNELS = Source(
    __package__,
    "spanning_forest.cu",
    check=tuple(tuple(_defines(*sizes).items()) for sizes in product(_WORDS, _WORDS)),
)


class Declared(NamedTuple):
    """What ``spanning_forest.cu`` declares."""

    marked_graph: StructType
    forest_columns: StructType
    long_rows: StructType
    long_row_arcs: int


@functools.cache
def _read_declarations(vertex_bytes: int, weight_bytes: int) -> Declared:
    """Read the kernels' source, once per variant."""
    macros = _defines(vertex_bytes, weight_bytes)

    def struct(name: str) -> StructType:
        return KERNELS.struct(name, None, **macros)

    return Declared(
        marked_graph=struct("marked_graph"),
        forest_columns=struct("forest_columns"),
        long_rows=struct("long_rows"),
        long_row_arcs=KERNELS.constant("long_row_arcs", **macros),
    )


def loaders(graph: Graph, method: str) -> list[Loader]:
    """Return functions that compile or load what the forest of such a graph needs."""
    weight = np.dtype(np.int32) if graph.weights is None else graph.weights.dtype
    key = "uint32" if weight.itemsize == 8 else str(weight)
    kernels = KERNELS.loader(**_defines(graph.indices.itemsize, weight.itemsize))
    shared = primitives_gpu.loaders("uint32", "int32", "int64")
    if method != "filter_boruvka":
        return [boruvka_gpu.KERNELS.loader(), kernels, *shared]
    return [filter_boruvka_gpu.KERNELS.loader(**filter_boruvka_gpu.defines(key)), kernels, *shared]


def run(
    graph: Graph, method: str, variants: dict[str, str] | None = None, timed: bool = False
) -> SpanningForest:
    """Compute the forest of a graph on the device whose rows ascend."""
    checked_variants = boruvka_gpu.check_variants(variants or {})
    clock = boruvka_gpu.StepClock() if timed else None
    indptr, weights = graph.indptr, graph.weights
    if graph.n > csr_gpu.MAX_VERTICES:
        raise DeviceError(f"a GPU takes graphs of fewer than 2^31 vertices (got {graph.n:,})")
    if method == "boruvka" and graph.num_arcs > boruvka_gpu.MAX_ARCS:
        raise DeviceError(
            f"boruvka takes graphs of fewer than 2^32 arcs (got {graph.num_arcs:,}); use "
            "filter_boruvka"
        )
    with memory_guard(f"the spanning forest of {graph}", LARGER_GPU):
        indices = graph.indices.astype(np.int32, copy=False)
        if method == "boruvka":
            keys = _rank_weights(graph)
            ids = boruvka_gpu.run(indptr, indices, keys, checked_variants, clock)
            bits = _mark(ids, graph.num_arcs)
        else:
            keys = weights
            if weights is not None and weights.itemsize == 8:
                keys = ranks(order_keys(weights))
            if filter_boruvka_gpu.fits(graph.n, graph.num_arcs):
                bits = filter_boruvka_gpu.mark_forest(indptr, indices, keys)
            else:
                ids = filter_boruvka_gpu.select_forest_in_pieces(indptr, indices, keys)
                bits = _mark(ids, graph.num_arcs)
        del indices, keys
        src, dst, weight, edge_id = _write_edges(graph, bits)
    times = clock.times if clock else None
    return SpanningForest(graph.n, src, dst, weight, edge_id, method, "gpu", times)


def _rank_weights(graph: Graph) -> Any:
    """A uint32 key per arc, in the order of the weights."""
    import cupy

    if graph.weights is None:
        return cupy.zeros(graph.num_arcs, np.uint32)
    return ranks(order_keys(graph.weights))


def _mark(ids: Any, m: int) -> Any:
    """One bit per arc, set for those with these ids: uint32, ``(ceil(m / 32),)``."""
    import cupy

    bits = cupy.zeros(-(-m // 32), np.uint32)
    KERNELS.launch(
        "spanning_forest_mark", (ids.astype(np.int64), np.int64(ids.size), bits), **_defines(4, 4)
    )
    return bits


def _write_edges(graph: Graph, bits: Any) -> tuple[Any, ...]:
    """The arrays of a ``SpanningForest``: src, dst, weight and edge_id."""
    import cupy

    id_dtype, weights = graph.indices.dtype, graph.weights
    weight_dtype = np.dtype(np.int32) if weights is None else weights.dtype
    sizes = id_dtype.itemsize, weight_dtype.itemsize
    macros, declared = _defines(*sizes), _read_declarations(*sizes)
    bits_through = cupy.empty_like(bits)
    KERNELS.launch("spanning_forest_count", (bits, np.int64(bits.size), bits_through), **macros)
    primitives_gpu.accumulate(bits_through)
    dtypes = id_dtype, id_dtype, weight_dtype, np.dtype(np.int64)
    src, dst, weight, edge_id = (cupy.empty(graph.n, dtype) for dtype in dtypes)
    long_rows = cupy.empty(graph.num_arcs // declared.long_row_arcs + 1, np.int64)
    long_row_count = cupy.zeros(1, np.uint32)
    graph_argument = declared.marked_graph.pack(
        {
            "indptr": graph.indptr, "indices": graph.indices, "n": graph.n, "bits": bits,
            "bits_through": bits_through,
        }
    )  # fmt: skip
    columns = declared.forest_columns.pack(
        {"src": src, "dst": dst, "weight": weight.view(f"i{sizes[1]}"), "edge_id": edge_id}
    )
    long_row_argument = declared.long_rows.pack({"count": long_row_count, "row": long_rows})
    for listed in (0, 1):
        weights_argument = 0 if weights is None else weights
        arguments = (graph_argument, weights_argument, columns, long_row_argument, np.int32(listed))
        KERNELS.launch("spanning_forest_write", arguments, **macros)
    edges = int(bits_through[-1]) if bits.size else 0
    arrays = (src, dst, weight, edge_id)
    if 2 * edges > graph.n:
        return tuple(array[:edges] for array in arrays)
    return tuple(copy(array[:edges]) for array in arrays)  # release the memory of the rest


def fits(graph: Graph, method: str) -> bool:
    """Whether the current device takes a graph of the CPU, and has memory for it and the method."""
    if graph.n > csr_gpu.MAX_VERTICES:
        return False
    if method == "boruvka":
        bytes_per_arc, bytes_per_vertex = 44, 44
        if graph.num_arcs > boruvka_gpu.MAX_ARCS:
            return False
    else:
        bytes_per_arc = filter_boruvka_gpu.BYTES_PER_ARC
        bytes_per_vertex = filter_boruvka_gpu.BYTES_PER_VERTEX + _EDGE_BYTES_PER_VERTEX
    if graph.weights is not None and graph.weights.itemsize == 8:
        bytes_per_arc += _RANKING_BYTES_PER_ARC
    needed = graph.nbytes + bytes_per_arc * graph.num_arcs + bytes_per_vertex * graph.n
    return needed < free_bytes()
