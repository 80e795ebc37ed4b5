"""Spanning forests on a GPU: keys of 32 bits, the method, and the ends of what it found."""

from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.core.room import LARGER_GPU, room_for
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import C_TYPES, Source
from mgraph.spanning_trees import filter_boruvka_gpu
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


def run(graph: Graph, method: str) -> SpanningForest:
    """The forest of a graph on the device whose rows ascend."""
    import cupy

    indptr, indices, weights = graph.indptr, graph.indices, graph.weights
    with room_for(f"the spanning forest of {graph}", LARGER_GPU):
        narrow = indices.astype(np.int32, copy=False)
        keys = weights if weights is None or weights.itemsize == 4 else ranks(order_keys(weights))
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
    return SpanningForest(graph.n, src, dst, weight, edge_id, method, "gpu")


def fits(graph: Graph, method: str) -> bool:
    """Whether the current device has room for a graph of the CPU and for the method."""
    return graph.nbytes + 16 * graph.m + 60 * graph.n < free_bytes()
