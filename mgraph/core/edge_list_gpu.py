"""Checksums of edges in device memory: launches of ``edge_list.cu``, one pass over the edges."""

import itertools
from collections.abc import Sequence

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.cuda.source import C_TYPES, Source

KERNELS = Source(
    __package__,
    "edge_list.cu",
    check=tuple(
        (("MGRAPH_VERTEX_T", C_TYPES[vertex]), ("MGRAPH_WEIGHT_T", weight_t))
        for vertex in ("int32", "int64")
        for weight_t in C_TYPES.values()
    ),
)


def checksum(edges: EdgeList) -> int:
    """Return the checksum that ``edge_list_cpu`` computes. src and dst must be of one type."""
    return checksums(edges, [0, len(edges)])[0]


def checksums(edges: EdgeList, cuts: Sequence[int]) -> list[int]:
    """Return the checksum of the rows from each cut to the next: a launch each, and one copy."""
    import cupy

    weight = edges.weight
    totals = cupy.zeros(max(len(cuts) - 1, 0), np.uint64)
    for index, (first, stop) in enumerate(itertools.pairwise(cuts)):
        rows = edges.rows(first, stop)
        arrays = (rows.src, rows.dst, 0 if rows.weight is None else rows.weight)
        KERNELS.launch(
            "edge_list_checksum",
            (*arrays, np.int64(stop - first), totals[index : index + 1]),
            MGRAPH_VERTEX_T=C_TYPES[str(edges.src.dtype)],
            MGRAPH_WEIGHT_T=C_TYPES["int32" if weight is None else str(weight.dtype)],
        )
    found: list[int] = totals.get().tolist()
    return found
