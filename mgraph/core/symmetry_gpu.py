"""The symmetry check on a GPU: one launch of ``symmetry.cu``.

Cost: each arc is read once, and a few words of ``indptr`` from the cache.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core.symmetry_cpu import weights_as_words
from mgraph.cuda.source import C_TYPES, Source

if TYPE_CHECKING:
    from mgraph.core.graph import Graph

_WORDS = {4: C_TYPES["int32"], 8: C_TYPES["int64"]}  # by size in bytes, whatever the type

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
    """Return the kernel's macros for a graph."""
    weight_bytes = 4 if graph.weights is None else graph.weights.itemsize
    return {
        "MGRAPH_VERTEX_T": _WORDS[graph.indices.itemsize],
        "MGRAPH_WEIGHT_T": _WORDS[weight_bytes],
    }


def arguments(graph: "Graph", total: Any) -> tuple[Any, ...]:
    """Return the kernel's arguments for a graph. total: uint64, ``(1,)``, 0 at the launch."""
    words, sign = weights_as_words(graph.weights)
    arrays = graph.indptr, graph.indices, 0 if graph.weights is None else words
    return *arrays, sign, np.int64(graph.n), np.int64(graph.num_arcs), total


def symmetric(graph: "Graph") -> bool:
    """Return whether each arc has its mirror; wrong with a probability of 2^-64."""
    import cupy

    total = cupy.zeros(1, np.uint64)
    KERNELS.launch("symmetry_sum", arguments(graph, total), **defines(graph))
    return int(total[0]) == 0
