"""Checksums of edges in device memory: a launch of ``edge_list.cu``; one pass over them."""

import numpy as np

from mgraph.core.edges import EdgeList
from mgraph.cuda.source import Source
from mgraph.cuda.transfer import multiprocessors

_THREADS, _BLOCKS_PER_MULTIPROCESSOR = 256, 8
_TYPES = {"int32": "int", "int64": "long long", "float32": "float", "float64": "double"}

KERNELS = Source(
    __package__,
    "edge_list.cu",
    check=tuple(
        (("MGRAPH_ID_T", id_t), ("MGRAPH_WEIGHT_T", weight_t))
        for id_t in ("int", "long long")
        for weight_t in _TYPES.values()
    ),
)


def checksum(edges: EdgeList) -> int:
    """What ``edge_list_cpu.checksum`` gives for the same edges. src and dst: of one type."""
    import cupy

    weight = edges.weight
    types = {
        "MGRAPH_ID_T": _TYPES[str(edges.src.dtype)],
        "MGRAPH_WEIGHT_T": _TYPES["int32" if weight is None else str(weight.dtype)],
    }
    total = cupy.zeros(1, np.uint64)
    arrays = (edges.src, edges.dst, 0 if weight is None else weight)
    blocks = multiprocessors() * _BLOCKS_PER_MULTIPROCESSOR
    kernel = KERNELS.kernel("edge_list_checksum", **types)
    kernel((blocks,), (_THREADS,), (*arrays, np.int64(len(edges)), total))
    return int(total[0])
