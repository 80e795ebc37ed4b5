"""The copy model on one core by hashing: draws of copied edges are repeated, not read.

It generates the graph of ``cuppa_hash`` edge by edge, as an oracle, and is the paper's SCM-Hash.
Source: section 5.6.1 of "Novel parallel algorithms for fast multi-GPU-based generation of massive
scale-free networks"; the paper has no exact core (``copy_model`` explains it). Cost: at most 1/p
draws per edge; 16 MiB beyond the output.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import int64, uint64

from mgraph.core.compiled import compiled
from mgraph.generators.copy_cpu import exact_core
from mgraph.generators.copy_draws_cpu import (
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

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel


@compiled
def fill(first, draws, core, stored, ends):
    """Write the endpoints of vertex ``first`` >= d and on; ends: int32 or int64, d per vertex.

    core: the endpoints of the exact core, vertices d to ``stored`` - 1.
    """
    degree = int64(draws.d)
    slots, to_row_end = slots_of_block(degree)
    table = empty_table(degree)
    copied = 0
    while first < stored and copied < ends.size:
        row = int64(first - draws.d) * degree
        ends[copied : copied + degree] = core[row : row + degree]
        first += uint64(1)
        copied += degree
    for begin in range(copied, ends.size, slots.size):
        block = ends[begin : begin + slots.size]
        for i in range(block.size):
            v, slot = first + (slots[i] >> SLOT_BITS), slots[i] & SLOT_MASK
            block[i] = endpoint(v, slot, uint64(0), draws, core, stored)
        if degree > PAIRWISE or count_repeats(block.size, degree, to_row_end, block) > 0:
            for row in range(0, block.size, degree):
                v = first + uint64(row // degree)
                redraw(v, block[row : row + degree], draws, core, stored, table)
        first += uint64(block.size // degree)


def fill_endpoints(model: "CopyModel", first: int, ends: np.ndarray) -> None:
    """Write the endpoints of vertex ``first`` and on. ends: as for ``fill``, of ``model.dtype``."""
    stored = np.uint64(model.core_vertices)
    fill(np.uint64(first), parameters(model), exact_core(model), stored, ends)
