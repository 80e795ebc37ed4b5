"""Preferential attachment by the list of endpoints, on one core.

Source: V. Batagelj, U. Brandes, "Efficient generation of large random networks", Physical Review E
71 (2005), as in section 2.3 of "Novel parallel algorithms for fast multi-GPU-based generation of
massive scale-free networks". A vertex stands in the list of all edges' two ends as often as it has
edges, so a uniform place of that list holds a vertex with probability proportional to its degree.
Slot s of vertex v draws among the edges of the vertices before v; an endpoint that a lower slot has
is drawn again with the next attempt. The list need not be kept: an edge's row tells where it
begins.

Draws are hashes of (seed, edge, attempt), as in ``copy_draws_cpu``; those of a block are made at
once and then read in order, as in ``copy_cpu``.
Cost: one draw and half a random read an edge, 4 or 8 bytes written; no memory beyond the output.
"""

from typing import TYPE_CHECKING

import numpy as np
from numba import int64, uint64

from mgraph.core import cancellation
from mgraph.core.compiled import compiled
from mgraph.core.hashing import LOW32, S32
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
def _choose(word, before, d):
    """A hash's place in the list of the ends of the first ``before`` edges.

    Returns the vertex there, marked by ``ENDED_BIT``, or the row of ``dst`` that holds it.
    """
    place, _, _ = digits(word >> S32, word & LOW32, before * _TWO, d)
    row = place >> _ONE
    if place & _ONE:
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
    """The vertex that was chosen."""
    ended = chosen >> ENDED_BIT != 0
    stored = dst[uint64(0) if ended else chosen]
    return chosen & DRAW_MASK if ended else uint64(stored)


@compiled
def fill(draws, dst, cancelled):
    """Write the endpoints of vertex d and on. dst: int32 or int64, those of the clique first.

    cancelled: ends early once its first element is not 0.
    """
    d = draws.d
    degree = int64(d)
    clique = degree * (degree - 1) // 2
    slots, room = slots_of_block(degree)
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
            block[0] = 0  # d = 1: vertex 1 has no edge to choose from
        start = degree if begin == 0 else 0
        for i in range(start, count):
            words[i] = _choose(words[i], uint64(begin + i + room[i] - degree), d)
        if degree <= PAIRWISE:
            for i in range(start, count):
                block[i] = _read(words[i], dst)
            if count_repeats(count, degree, room, block) == 0:
                continue
        for row in range(start, count, degree):
            one = block[row : row + degree]
            table[:] = -1
            for slot in range(degree):
                one[slot] = _read(words[row + slot], dst)
                attempt = uint64(0)
                while not is_new(one, slot, table):
                    attempt += uint64(1)
                    e = first * d + uint64(row + slot)
                    word0, word1 = hashed(e, attempt, draws)
                    chosen = _choose((word0 << S32) | word1, uint64(begin + row), d)
                    one[slot] = _read(chosen, dst)


def fill_endpoints(model: "CopyModel", dst: np.ndarray) -> None:
    """``fill`` for a model; dst: of ``model.dtype``, those of vertex d and on are written."""
    fill(parameters(model), dst, cancellation.cancel_flag())
    cancellation.raise_if_cancelled()
