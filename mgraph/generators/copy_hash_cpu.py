"""The copy model on one core by hashing: copies are drawn again, not read.

It makes the graph of ``cuppa_hash``, edge by edge: its oracle, and the paper's SCM-Hash. Source:
section 5.6.1 of "Novel parallel algorithms for fast multi-GPU-based generation of massive
scale-free networks". Cost: 1/p draws an edge; no memory beyond the output.
"""

import numpy as np
from numba import int64, uint64

from mgraph.core.compiled import compiled
from mgraph.generators.copy_draws_cpu import (
    NOT_STORED,
    PAIRWISE,
    SLOT_BITS,
    SLOT_MASK,
    count_repeats,
    empty_table,
    endpoint,
    parameters,
    redraw,
    slots_of_block,
)
from mgraph.generators.copy_model import CopyModel


@compiled
def fill(first, d, threshold, white0, white1, key, ends, nothing):
    """Write the endpoints of vertex ``first`` >= d and on; ends: int32 or int64, d a vertex."""
    degree = int64(d)
    slots, room = slots_of_block(degree)
    table = empty_table(degree)
    for begin in range(0, ends.size, slots.size):
        block = ends[begin : begin + slots.size]
        v = uint64(begin // degree) + first
        for i in range(block.size):
            at, slot = v + (slots[i] >> SLOT_BITS), slots[i] & SLOT_MASK
            block[i] = endpoint(at, slot, uint64(0), d, threshold, white0, white1, key, nothing)
        if degree > PAIRWISE or count_repeats(block.size, degree, room, block) > 0:
            for row in range(0, block.size, degree):
                one = block[row : row + degree]
                redraw(v, one, d, threshold, white0, white1, key, nothing, table)
                v += uint64(1)


def endpoints(model: CopyModel, first: int, ends: np.ndarray) -> None:
    """``fill`` for a model; ends: of ``model.dtype``."""
    fill(np.uint64(first), *parameters(model), ends, NOT_STORED)
