"""Whether a graph on a GPU holds both arcs of every edge: a launch of ``symmetry.cu``.

Cost: each arc is read once, and a few words of ``indptr`` that are in the cache.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core.symmetry_cpu import words_of
from mgraph.cuda.source import C_TYPES, Source

if TYPE_CHECKING:
    from mgraph.core.graph import Graph

_WORDS = {4: C_TYPES["int32"], 8: C_TYPES["int64"]}  # whatever they mean

KERNELS = Source(
    __package__,
    "symmetry.cu",
    check=tuple(
        (("MGRAPH_VERTEX_T", vertex_t), ("MGRAPH_WEIGHT_T", weight_t))
        for vertex_t in _WORDS.values()
        for weight_t in _WORDS.values()
    ),
)


def defines(graph: "Graph") -> dict[str, str]:
    """The kernel's macros for a graph."""
    weight_bytes = 4 if graph.weights is None else graph.weights.itemsize
    return {
        "MGRAPH_VERTEX_T": _WORDS[graph.indices.itemsize],
        "MGRAPH_WEIGHT_T": _WORDS[weight_bytes],
    }


def arguments(graph: "Graph", total: Any) -> tuple[Any, ...]:
    """The kernel's arguments for a graph. total: uint64, ``(1,)``, 0."""
    words, sign = words_of(graph.weights)
    lists = graph.indptr, graph.indices, 0 if graph.weights is None else words
    return *lists, sign, np.int64(graph.n), np.int64(graph.num_arcs), total


def symmetric(graph: "Graph") -> bool:
    """Whether each arc has one back of the same weight, but for a chance of 2^-64."""
    import cupy

    total = cupy.zeros(1, np.uint64)
    KERNELS.launch("symmetry_sum", arguments(graph, total), **defines(graph))
    return int(total[0]) == 0
