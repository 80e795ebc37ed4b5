"""Checksums of edges in device memory: one launch of ``edge_list.cu``, one pass over the edges."""

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
    import cupy

    weight = edges.weight
    total = cupy.zeros(1, np.uint64)
    arrays = (edges.src, edges.dst, 0 if weight is None else weight)
    KERNELS.launch(
        "edge_list_checksum",
        (*arrays, np.int64(len(edges)), total),
        MGRAPH_VERTEX_T=C_TYPES[str(edges.src.dtype)],
        MGRAPH_WEIGHT_T=C_TYPES["int32" if weight is None else str(weight.dtype)],
    )
    return int(total[0])
