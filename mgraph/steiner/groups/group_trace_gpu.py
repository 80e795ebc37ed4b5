"""The trees of group Steiner searches on a GPU: the launches of ``group_trace.cu``."""

import functools
from typing import Any

import numpy as np

from mgraph.cuda.declarations import StructType
from mgraph.cuda.source import Source
from mgraph.steiner.star import broken_path_error

KERNELS = Source(__package__, "group_trace.cu")

_TREE_ARCS = 1 << 10  # of a tree for which there is room at first
_THREADS = 128


@functools.cache
def _trace_launch() -> StructType:
    return KERNELS.struct("trace_launch")


def find_meetings(launch: Any) -> None:
    """Find for each query where the halves of its tree meet. launch: of ``group_search.cu``."""
    KERNELS.launch("group_meet", (launch,))


def trace(launch: Any, count: int, k: int, weights: Any) -> dict[str, Any]:
    """Return the arcs of each query's tree, as NumPy's arrays, and the vertices of its groups.

    launch: of ``group_search.cu``, for ``count`` queries of k groups. weights: of the graph's arcs,
    or None. Returns ``tails``, ``heads``, ``weights`` (the bits of each weight), ``counts`` (of
    arcs) and ``chosen``, with a row per query.
    """
    capacity = _TREE_ARCS
    while True:
        trees = _trace(launch, count, k, weights, capacity)
        if trees["counts"].max() <= capacity:
            return trees
        capacity = int(trees["counts"].max())


def _trace(launch: Any, count: int, k: int, weights: Any, capacity: int) -> dict[str, Any]:
    import cupy

    arrays = {
        "tails": cupy.empty((count, capacity), np.int32),
        "heads": cupy.empty((count, capacity), np.int32),
        "weights": cupy.empty((count, capacity), np.uint64),
        "counts": cupy.empty(count, np.int32),
        "chosen": cupy.zeros((count, k), np.int32),
    }
    is_broken = cupy.zeros(1, np.uint32)
    weight_bytes = 4 if weights is None else weights.dtype.itemsize
    argument = _trace_launch().pack(
        {
            **arrays, "is_broken": is_broken, "graph_weights": weights,
            "weight_bytes": weight_bytes, "capacity": capacity,
        }
    )  # fmt: skip
    KERNELS.kernel("group_trace")((count,), (_THREADS,), (launch, argument))
    if is_broken.get()[0]:
        raise broken_path_error()
    return {name: array.get() for name, array in arrays.items()}
