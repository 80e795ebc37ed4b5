"""Weights of generated edges on a GPU: one pass over the edges, 12 or 20 bytes per edge."""

from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core.hash_keys import weight_key
from mgraph.cuda.source import C_TYPES, Source

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

KERNELS = Source(
    __package__,
    "edge_weights.cu",
    check=tuple((("MGRAPH_VERTEX_T", C_TYPES[vertex]),) for vertex in ("int32", "int64")),
)


def fill(model: "CopyModel", src: Any, dst: Any, weight: Any, checksum: Any) -> None:
    """Write the weights of edges on the device, on the current stream.

    src, dst: of ``model.dtype``; weight: int32, of the same shape. checksum: uint64 of shape (1,),
    to which the weighted edges' hashes are added.
    """
    assert model.weights
    low, high = model.weights
    KERNELS.launch(
        "edge_weights_fill",
        (
            src, dst, np.int64(src.size), weight_key(model.seed), np.uint64(low),
            np.uint64(high - low + 1), weight, checksum,
        ),
        MGRAPH_VERTEX_T=C_TYPES[str(model.dtype)],
    )  # fmt: skip
