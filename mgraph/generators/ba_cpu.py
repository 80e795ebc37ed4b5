"""Preferential attachment by Batagelj and Brandes' list of endpoints, on one core.

Source: V. Batagelj, U. Brandes, "Efficient generation of large random networks", Physical Review E
71 (2005), as in section 2.3 of "Novel parallel algorithms for fast multi-GPU-based generation of
massive scale-free networks". In the list of both ends of all edges a vertex occurs once per edge,
so a uniform position of the list holds a vertex with probability proportional to its degree. Slot s
of vertex v draws among the edges of the vertices before v; an endpoint that a lower slot already
has is drawn again with the next attempt. Only the endpoints ``dst`` are stored: the source of an
edge follows from its row.

Draws are hashes of (seed, edge, attempt), as in ``copy_draws_cpu``. The draws of a block are made
together and then read in order, as in ``copy_cpu``.
Cost: one draw and half a random read per edge, 4 or 8 bytes written; no memory beyond the output.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import int64, uint64

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.hash_keys import LOW32, S32
from mgraph.generators.copy_draws_cpu import (
    DRAW_MASK,
    ENDED_BIT,
    PAIRWISE,
    SLOT_BITS,
    count_repeats,
    digits,
    empty_table,
    hash_all,
    hashed,
    is_new,
    parameters,
    slots_of_block,
)

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

_ONE, _TWO, _EIGHT = np.uint64(1), np.uint64(2), np.uint64(8)


@compiled
def _choose(word, edges, d):
    """Choose a position in the list of both ends of the first ``edges`` edges.

    Returns the vertex there, marked by ``ENDED_BIT``, or the row of ``dst`` that holds it.
    """
    position, _, _ = digits(word >> S32, word & LOW32, edges * _TWO, d)
    row = position >> _ONE
    if position & _ONE:
        return row
    clique = d * (d - _ONE) // _TWO
    if row >= clique:
        v = d + (row - clique) // d
    else:
        v = uint64((1 + np.sqrt(float(_ONE + _EIGHT * row))) / 2)
        v -= uint64(v * (v - _ONE) // _TWO > row)
    return (_ONE << ENDED_BIT) | v


@compiled
def _read(chosen, dst):
    """The vertex that ``_choose`` chose."""
    ended = chosen >> ENDED_BIT != 0
    stored = dst[uint64(0) if ended else chosen]
    return chosen & DRAW_MASK if ended else uint64(stored)


@compiled
def fill(draws, dst, cancelled):
    """Write the endpoints of vertex d and on.

    dst: int32 or int64; the clique's endpoints come first. Ends early once ``cancelled[0]`` is not
    0.
    """
    d = draws.d
    degree = int64(d)
    clique = degree * (degree - 1) // 2
    slots, to_row_end = slots_of_block(degree)
    slot_words, words, table = np.empty_like(slots), np.empty_like(slots), empty_table(degree)
    for begin in range(clique, dst.size, slots.size):
        if cancelled[0]:
            break
        count = min(slots.size, dst.size - begin)
        first = uint64((begin - clique) // degree) + d
        for i in range(count):
            slot_words[i] = slots[i] + (first << SLOT_BITS)
        hash_all(count, draws, slot_words, words)
        block = dst[begin : begin + count]
        if begin == 0:
            block[0] = 0  # d = 1: there is no edge for vertex 1 to choose from
        start = degree if begin == 0 else 0
        for i in range(start, count):
            edges_before = uint64(begin + i + to_row_end[i] - degree)
            words[i] = _choose(words[i], edges_before, d)
        if degree <= PAIRWISE:
            for i in range(start, count):
                block[i] = _read(words[i], dst)
            if count_repeats(count, degree, to_row_end, block) == 0:
                continue
        for row in range(start, count, degree):
            row_ends = block[row : row + degree]
            table[:] = -1
            for slot in range(degree):
                row_ends[slot] = _read(words[row + slot], dst)
                attempt = uint64(0)
                while not is_new(row_ends, slot, table):
                    attempt += uint64(1)
                    e = first * d + uint64(row + slot)
                    word0, word1 = hashed(e, attempt, draws)
                    chosen = _choose((word0 << S32) | word1, uint64(begin + row), d)
                    row_ends[slot] = _read(chosen, dst)


def fill_endpoints(model: "CopyModel", dst: np.ndarray) -> None:
    """Write the endpoints of vertex d and on. dst: as for ``fill``, of ``model.dtype``."""
    fill(parameters(model), dst, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()
