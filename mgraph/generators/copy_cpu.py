"""The copy model on one core, reading stored endpoints: the graph that ``cuppa`` makes on a GPU.

Source: R. Kumar et al., "Stochastic models for the web graph", FOCS 2000, as in section 2.4 of
"Novel parallel algorithms for fast multi-GPU-based generation of massive scale-free networks".
Slot after slot, an endpoint is drawn (``copy_draws_cpu``); one that a lower slot of the vertex has
is drawn again with the next attempt. A copy reads the final endpoint, which stands there already.

How it is fast: the draws of a block depend on nothing, so they vectorise; then the copies are
read, in order, without a branch, so that a core has many reads of main memory under way. A block
with a repeated endpoint, which is rare, is gone through again, vertex by vertex.
Cost: one draw an edge, 1 - p random reads, 4 or 8 bytes written; no memory beyond the output.
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
    """Where a draw leads: to the vertex that is drawn, or where endpoint ~drawn does."""
    copied = ends[0 if drawn >= 0 else ~drawn]
    return drawn if drawn >= 0 else int64(copied)


@compiled
def fill(draws, ends, cancelled):
    """Write the endpoints of vertex d and on. ends: int32 or int64, shape (vertices·d,).

    cancelled: ends early once its first element is not 0.
    """
    d = draws.d
    degree = int64(d)
    slots, room = slots_of_block(degree)
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
            if count_repeats(count, degree, room, block) == 0:
                continue
        for row in range(0, count, degree):
            for i in range(row, row + degree):
                block[i] = _read(drawn[i], ends)
            v = first + uint64(row // degree)
            redraw(v, block[row : row + degree], draws, ends, ALL_STORED, table)


def fill_endpoints(model: "CopyModel", dst: np.ndarray) -> None:
    """``fill`` for a model; dst: of ``model.dtype``, after those of the clique are written."""
    fill(parameters(model), dst[model.edges_before(model.d) :], cancellation.cancel_flag())
    cancellation.raise_if_cancelled()


_cores = threading.Lock()


def exact_core(model: "CopyModel") -> np.ndarray:
    """The endpoints of the exact core's vertices d and on: int32, shape (vertices·d,), read-only.

    Made once for a model's draws and kept: at most 16 MiB, 40 ms; whatever the model's n.
    """
    with _cores:
        return _exact_core(parameters(model), model.core_vertices)


@functools.lru_cache(maxsize=2)
def _exact_core(draws: Draws, vertices: int) -> np.ndarray:
    degree = int(draws.d)
    ends = np.empty((vertices - degree) * degree, np.int32)
    fill(draws, ends, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()  # raises, so that a core that was cut short is not kept
    ends.setflags(write=False)
    return ends
