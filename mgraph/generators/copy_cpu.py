"""The copy model on one core, reading stored endpoints: the graph that ``cuppa`` makes on a GPU.

Source: R. Kumar et al., "Stochastic models for the web graph", FOCS 2000, as in section 2.4 of
"Novel parallel algorithms for fast multi-GPU-based generation of massive scale-free networks".
Edges are generated in order. An endpoint that a lower slot of the vertex already has is drawn again
with the next attempt. A copy reads the final endpoint of the copied edge, which is stored already.

Why it is fast: draws do not depend on each other, so those of a block vectorise. Then the copies
are read in order, without a branch, so that a core has many reads of main memory in flight. A block
with repeated endpoints, which is rare, is processed again vertex by vertex.
Cost: one draw per edge, 1 - p random reads, 4 or 8 bytes written; no memory beyond the output.
"""

import functools
import threading
from typing import TYPE_CHECKING

import numpy as np
from numba import int64, uint64

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.generators.copy_draws_cpu import (
    ALL_STORED,
    PAIRWISE,
    SLOT_BITS,
    Draws,
    count_repeats,
    draw_all,
    empty_table,
    parameters,
    redraw,
    slots_of_block,
)

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel


@compiled
def _read(drawn, ends):
    """The endpoint of a draw: the drawn vertex, or stored endpoint ~drawn."""
    copied = ends[0 if drawn >= 0 else ~drawn]
    return drawn if drawn >= 0 else int64(copied)


@compiled
def fill(draws, ends, cancelled):
    """Write the endpoints of vertex d and on. ends: int32 or int64, shape (vertices·d,).

    Ends early once ``cancelled[0]`` is not 0.
    """
    d = draws.d
    degree = int64(d)
    slots, to_row_end = slots_of_block(degree)
    words, state, table = np.empty_like(slots), np.empty_like(slots), empty_table(degree)
    drawn = state.view(np.int64)
    for begin in range(0, ends.size, slots.size):
        if cancelled[0]:
            break
        count = min(slots.size, ends.size - begin)
        first = uint64(begin // degree) + d
        for i in range(count):
            words[i] = slots[i] + (first << SLOT_BITS)
        draw_all(count, draws, ALL_STORED, ends, words, state)
        block = ends[begin : begin + count]
        if degree <= PAIRWISE:
            for i in range(count):
                block[i] = _read(drawn[i], ends)
            if count_repeats(count, degree, to_row_end, block) == 0:
                continue
        for row in range(0, count, degree):
            for i in range(row, row + degree):
                block[i] = _read(drawn[i], ends)
            v = first + uint64(row // degree)
            redraw(v, block[row : row + degree], draws, ends, ALL_STORED, table)


def fill_endpoints(model: "CopyModel", dst: np.ndarray) -> None:
    """Write the endpoints of vertex d and on. dst: of ``model.dtype``, the clique's come first."""
    fill(parameters(model), dst[model.edges_before(model.d) :], cancellation.cancel_flag())
    cancellation.raise_if_cancelled()


_cores = threading.Lock()


def exact_core(model: "CopyModel") -> np.ndarray:
    """The endpoints of the exact core, from vertex d on: int32, shape (vertices·d,), read-only.

    Generated once per model and kept, whatever the model's n: at most 16 MiB, 40 ms.
    """
    with _cores:
        return _exact_core(parameters(model), model.core_vertices)


@functools.lru_cache(maxsize=2)
def _exact_core(draws: Draws, vertices: int) -> np.ndarray:
    degree = int(draws.d)
    ends = np.empty((vertices - degree) * degree, np.int32)
    fill(draws, ends, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()  # so that the cache does not keep an incomplete core
    ends.setflags(write=False)
    return ends
