"""Weights of generated edges on a CPU: a hash of both endpoints and the seed."""

from typing import TYPE_CHECKING

import numpy as np
from numba import uint64

from mgraph.core.compiled import compiled
from mgraph.core.edges import EdgeList
from mgraph.core.hash_keys import weight_key
from mgraph.core.hashing import edge_weight, weighted_edge_hash

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel


@compiled
def _fill(src, dst, key, low, span, weight):
    """Write weights in [low, low + span); return the checksum of the weighted edges."""
    checksum = uint64(0)
    for i in range(src.size):
        u, v = uint64(src[i]), uint64(dst[i])
        drawn = edge_weight(u, v, key, low, span)
        weight[i] = drawn
        checksum += weighted_edge_hash(u, v, drawn)
    return checksum


def fill(model: "CopyModel", edges: EdgeList) -> int:
    """Write ``edges.weight``, int32; return the checksum of the weighted edges."""
    assert model.weights
    low, high = model.weights
    key = weight_key(model.seed)
    ends, weight = (edges.src, edges.dst), edges.weight
    return int(_fill(*ends, key, np.uint64(low), np.uint64(high - low + 1), weight))
