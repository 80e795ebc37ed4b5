"""The copy model on one core by hashing: copies beyond the exact core are drawn again, not read.

It makes the graph of ``cuppa_hash``, edge by edge: its oracle, and the paper's SCM-Hash. Source:
section 5.6.1 of "Novel parallel algorithms for fast multi-GPU-based generation of massive
scale-free networks"; the core is ours (``copy_model``). Cost: at most 1/p draws per edge; 16 MiB
beyond the output.
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
    """Write the endpoints of vertex ``first`` >= d and on; ends: int32 or int64, d a vertex.

    core: the endpoints of the exact core, vertices d to ``stored`` - 1.
    """
    degree = int64(draws.d)
    slots, room = slots_of_block(degree)
    table = empty_table(degree)
    read = 0
    while first < stored and read < ends.size:
        row = int64(first - draws.d) * degree
        ends[read : read + degree] = core[row : row + degree]
        first += uint64(1)
        read += degree
    for begin in range(read, ends.size, slots.size):
        block = ends[begin : begin + slots.size]
        for i in range(block.size):
            v, slot = first + (slots[i] >> SLOT_BITS), slots[i] & SLOT_MASK
            block[i] = endpoint(v, slot, uint64(0), draws, core, stored)
        if degree > PAIRWISE or count_repeats(block.size, degree, room, block) > 0:
            for row in range(0, block.size, degree):
                v = first + uint64(row // degree)
                redraw(v, block[row : row + degree], draws, core, stored, table)
        first += uint64(block.size // degree)


def fill_endpoints(model: "CopyModel", first: int, ends: np.ndarray) -> None:
    """``fill`` for a model; ends: of ``model.dtype``."""
    stored = np.uint64(model.core_vertices)
    fill(np.uint64(first), parameters(model), exact_core(model), stored, ends)
