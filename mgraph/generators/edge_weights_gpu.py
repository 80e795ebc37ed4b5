"""Weights of generated edges on a GPU: one pass over them, 12 or 20 bytes an edge."""

from typing import Any

import numpy as np

from mgraph.core.hashing import weight_key
from mgraph.cuda.source import Source
from mgraph.cuda.transfer import multiprocessors
from mgraph.generators.copy_model import CopyModel

_TYPES = {np.dtype(np.int32): "int", np.dtype(np.int64): "long long"}
_THREADS, _BLOCKS_PER_MULTIPROCESSOR = 256, 8

KERNELS = Source(
    __package__,
    "edge_weights.cu",
    check=tuple((("MGRAPH_VERTEX_T", vertex_t),) for vertex_t in _TYPES.values()),
)


def fill(model: CopyModel, src: Any, dst: Any, weight: Any, checksum: Any) -> None:
    """Write the weights of edges on the device, on the current stream.

    src, dst: of ``model.dtype``; weight: int32, of their shape. checksum: uint64 of shape (1,), to
    which the weighted edges' hashes are added.
    """
    assert model.weights
    low, high = model.weights
    kernel = KERNELS.kernel("edge_weights_fill", MGRAPH_VERTEX_T=_TYPES[model.dtype])
    kernel(
        (multiprocessors() * _BLOCKS_PER_MULTIPROCESSOR,),
        (_THREADS,),
        (
            src, dst, np.int64(src.size), weight_key(model.seed), np.uint64(low),
            np.uint64(high - low + 1), weight, checksum,
        ),
    )  # fmt: skip
