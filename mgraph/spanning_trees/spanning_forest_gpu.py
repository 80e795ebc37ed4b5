"""Spanning forests on a GPU: keys of 32 bits, the method, and the ends of what it found."""

from typing import Any

import numpy as np

from mgraph.core import csr_gpu
from mgraph.core.graph import Graph
from mgraph.core.room import LARGER_GPU, room_for
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import C_TYPES, Source
from mgraph.errors import DeviceError
from mgraph.spanning_trees import boruvka_gpu, filter_boruvka_gpu
from mgraph.spanning_trees.minimum_spanning_forest import SpanningForest
from mgraph.spanning_trees.weight_keys import order_keys, ranks

_EDGE_TYPES = {"uint32": "unsigned", "int64": "long long"}
_WORDS = {4: C_TYPES["int32"], 8: C_TYPES["int64"]}  # whatever they mean

KERNELS = Source(
    __package__,
    "spanning_forest.cu",
    check=tuple(
        (("MGRAPH_EDGE_T", edge), ("MGRAPH_VERTEX_T", vertex), ("MGRAPH_WEIGHT_T", weight))
        for edge in _EDGE_TYPES.values()
        for vertex in _WORDS.values()
        for weight in _WORDS.values()
    ),
)


def run(
    graph: Graph, method: str, variants: dict[str, str] | None = None, timed: bool = False
) -> SpanningForest:
    """The forest of a graph on the device whose rows ascend."""
    import cupy

    how = boruvka_gpu.check_variants(variants or {})
    clock = boruvka_gpu.Clock() if timed else None
    indptr, indices, weights = graph.indptr, graph.indices, graph.weights
    if graph.n > csr_gpu.MOST_VERTICES:
        raise DeviceError(f"a GPU takes graphs of fewer than 2^31 vertices, not {graph.n:,}")
    with room_for(f"the spanning forest of {graph}", LARGER_GPU):
        narrow = indices.astype(np.int32, copy=False)
        if method == "boruvka":
            if graph.m > boruvka_gpu.MOST_ARCS:
                raise DeviceError(f"boruvka takes fewer than 2^32 arcs, not {graph.m:,}")
            keys = cupy.zeros(graph.m, np.uint32) if weights is None else ranks(order_keys(weights))
            ids = boruvka_gpu.run(indptr, narrow, keys, how, clock)
        else:
            keys = weights
            if weights is not None and weights.itemsize == 8:
                keys = ranks(order_keys(weights))
            ids = filter_boruvka_gpu.of_graph(indptr, narrow, keys)
        del narrow, keys
        weight_t = np.dtype(np.int32) if weights is None else weights.dtype
        src, dst = (cupy.empty(ids.size, indices.dtype) for _ in range(2))
        weight, edge_id = cupy.empty(ids.size, weight_t), cupy.empty(ids.size, np.int64)
        KERNELS.launch(
            "spanning_forest_ends",
            (
                indptr, indices, 0 if weights is None else weights, np.int64(graph.n), ids,
                np.int64(ids.size), src, dst, weight, edge_id,
            ),
            MGRAPH_EDGE_T=_EDGE_TYPES[str(ids.dtype)],
            MGRAPH_VERTEX_T=_WORDS[indices.itemsize],
            MGRAPH_WEIGHT_T=_WORDS[weight_t.itemsize],
        )  # fmt: skip
    times = clock.times if clock else None
    return SpanningForest(graph.n, src, dst, weight, edge_id, method, "gpu", times)


def fits(graph: Graph, method: str) -> bool:
    """Whether the current device has room for a graph of the CPU and for the method."""
    return graph.nbytes + 16 * graph.m + 60 * graph.n < free_bytes()
