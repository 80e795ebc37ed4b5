"""The copy model's draws in Numba; ``copy_model.cuh`` computes the same bits in CUDA.

Slot s of vertex v is edge e = v·d + s. The draw for (seed, e, attempt) is a 64-bit hash h, taken
apart as digits of a mixed radix: u = ⌊h·v / 2^64⌋ is a vertex, ⌊fraction·d⌋ a slot of u, and the
first 32 bits of the remaining fraction are the coin. If the coin is below p, or u is in the clique,
the edge ends at u. Otherwise it is a copy and ends where that slot of u ends: the endpoint is read
if it is stored, and otherwise found by repeating the draw for that slot. ``copy`` and ``cuppa``
store all endpoints, ``copy_hash`` and ``cuppa_hash`` those of the exact core; this is the only
difference between the two graphs.

With the start ``ba`` the first digit x has the radix 2(v - d) + d - 1, which is twice the number of
earlier edges divided by d. If x is below d - 1 an edge of the clique was chosen, and the edge ends
at vertex ⌊fraction·d⌋; otherwise it is an edge of the vertex u = d + ⌊(x - (d - 1)) / 2⌋.

``draw_all`` consists of two loops because a chain of seven dependent multiplications in one loop
leaves the vector units idle (309 against 490 million draws/s on one core of an AMD EPYC).
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import int32, uint64

from mgraph.core.compiled import compiled
from mgraph.core.hash_keys import (
    ATTEMPT_KEY_STEP,
    LOW32,
    PHILOX_KEY_STEP,
    PHILOX_ROUNDS,
    S32,
    stream_key,
)
from mgraph.core.hashing import mix64, philox_rounds

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

BLOCK = 8192  # draws per block: 0.2 MB, which fit an L2 cache
PAIRWISE = 32  # up to this d, a vertex's endpoints are compared pair by pair
ALL_STORED = np.uint64(1 << 62)  # more vertices than any graph has: every copy is read
_FIRST_ROUNDS = 4
_LAST_ROUNDS = PHILOX_ROUNDS - _FIRST_ROUNDS
_KEY_AFTER_FIRST = np.uint64(_FIRST_ROUNDS) * PHILOX_KEY_STEP

# A draw is one word: whether the chain ends (bit 63), the vertex (40 bits), the slot (12 bits).
SLOT_BITS, SLOT_MASK = np.uint64(12), np.uint64(4095)
ENDED_BIT, DRAW_MASK = np.uint64(63), np.uint64((1 << 63) - 1)


class Draws(NamedTuple):
    """The parameters of all draws of a model.

    threshold: a coin below it makes a direct edge. white0, white1, key: the words of the random
    stream. offset: with the start ``ba`` the radix of a draw's first digit is 2v - offset; with
    ``paper`` it is v and the offset is None, a type of its own, so that each start is compiled
    separately.
    """

    d: np.uint64
    threshold: np.uint64
    white0: np.uint64
    white1: np.uint64
    key: np.uint64
    offset: np.uint64 | None


def parameters(model: "CopyModel") -> Draws:
    """The ``Draws`` of a model."""
    offset = np.uint64(model.d + 1) if model.start == "ba" else None
    return Draws(
        np.uint64(model.d), np.uint64(model.threshold), *stream_key(model.seed), offset=offset
    )


@compiled
def digits(word0, word1, v, d):
    """The digits (u, slot, coin) of the hash ``word0·2^32 + word1`` in the radix (v, d, 2^32)."""
    v0, v1 = v & LOW32, v >> S32
    t0 = word1 * v0
    t1 = word0 * v0 + (t0 >> S32)
    t2 = word1 * v1 + (t1 & LOW32)
    u = word0 * v1 + (t1 >> S32) + (t2 >> S32)
    s0 = (t0 & LOW32) * d
    s1 = (t2 & LOW32) * d + (s0 >> S32)
    return u, s1 >> S32, s1 & LOW32


@compiled
def hashed(e, attempt, draws):
    """The two words of the hash for edge e and an attempt."""
    key = (draws.key + attempt * ATTEMPT_KEY_STEP) & LOW32
    white0, white1 = draws.white0, draws.white1
    return philox_rounds((e & LOW32) ^ white0, (e >> S32) ^ white1, key, PHILOX_ROUNDS)


@compiled
def choice(word0, word1, v, d, threshold, offset):
    """The choice of a hash for a slot of vertex v: (u, slot, whether the edge ends at u)."""
    if offset is None:
        u, slot, coin = digits(word0, word1, v, d)
        return u, slot, (coin < threshold) | (u < d)
    u, slot, coin = digits(word0, word1, (v << uint64(1)) - offset, d)
    u = (u + offset) >> uint64(1)
    u -= uint64(u == v)  # d = 1, v = 1: there is no edge to draw from
    in_clique = u < d
    # All clique vertices have the same degree, so any is equally likely.
    return slot if in_clique else u, slot, (coin < threshold) | in_clique


@compiled
def draw(v, slot, attempt, draws):
    """The ``choice`` of a slot's draw number ``attempt``."""
    word0, word1 = hashed(v * draws.d + slot, attempt, draws)
    return choice(word0, word1, v, draws.d, draws.threshold, draws.offset)


@compiled
def endpoint(v, slot, attempt, draws, ends, stored):
    """The endpoint of a slot's draw number ``attempt``.

    ends: the endpoints of vertex d and on, d each. Copies from vertices below ``stored`` read them;
    for other copies the draw is repeated.
    """
    while True:
        u, slot, final = draw(v, slot, attempt, draws)
        if final:
            return u
        if u < stored:
            return uint64(ends[(u - draws.d) * draws.d + slot])
        v, attempt = u, uint64(0)


@compiled
def _first_rounds(count, draws, vertex_mask, words, state):
    """The first rounds of the hashes of ``count`` slots; returns the key of the next round."""
    d, white0, white1, key = draws.d & LOW32, draws.white0, draws.white1, draws.key
    for i in range(count):
        e = ((words[i] >> SLOT_BITS) & vertex_mask) * d + (words[i] & SLOT_MASK)
        word0, word1 = philox_rounds((e & LOW32) ^ white0, (e >> S32) ^ white1, key, _FIRST_ROUNDS)
        state[i] = (word0 << S32) | word1
    return (key + _KEY_AFTER_FIRST) & LOW32


@compiled
def hash_all(count, draws, words, state):
    """Write the hashes of ``count`` slots, given as ``words``, to ``state``, for attempt 0."""
    key = _first_rounds(count, draws, DRAW_MASK, words, state)
    for i in range(count):
        word0, word1 = philox_rounds(state[i] >> S32, state[i] & LOW32, key, _LAST_ROUNDS)
        state[i] = (word0 << S32) | word1


@compiled
def draw_all(count, draws, stored, narrow, words, state):
    """Draw once for each of ``count`` words, in place.

    A chain ends if its edge ends at a vertex, or if it copies a slot of a vertex below ``stored``.
    Then the word's ended bit is set, and state, as int64, is the vertex, or ~i if stored endpoint i
    is to be read. narrow: an array whose itemsize is 4 if all vertices fit 31 bits.
    """
    # The masks let the compiler drop multiplications of words that are zero.
    vertex_mask = LOW32 if narrow.itemsize == 4 else DRAW_MASK
    key = _first_rounds(count, draws, vertex_mask, words, state)
    d, threshold, offset = draws.d & LOW32, draws.threshold, draws.offset
    for i in range(count):
        v = (words[i] >> SLOT_BITS) & vertex_mask
        word0, word1 = philox_rounds(state[i] >> S32, state[i] & LOW32, key, _LAST_ROUNDS)
        u, slot, final = choice(word0, word1, v, d, threshold, offset)
        words[i] = (uint64(final | (u < stored)) << ENDED_BIT) | (u << SLOT_BITS) | slot
        state[i] = u if final else ~((u & vertex_mask) * d + slot - d * d)


@compiled
def slots_of_block(d):
    """The words of all slots of a block's vertices, and each slot's distance to its row's end."""
    vertices = max(1, BLOCK // d)
    slots = np.empty(vertices * d, np.uint64)
    to_row_end = np.empty(vertices * d, np.int32)
    for i in range(slots.size):
        slots[i] = (uint64(i // d) << SLOT_BITS) | uint64(i % d)
        to_row_end[i] = d - i % d
    return slots, to_row_end


@compiled
def count_repeats(count, d, to_row_end, ends):
    """The number of pairs of equal endpoints within rows of ``d`` endpoints.

    to_row_end: as returned by ``slots_of_block``. One pass per distance, which vectorises: rows are
    short and repeats are rare.
    """
    repeats = int32(0)
    for distance in range(1, d):
        narrow_distance = int32(distance)
        for i in range(count - distance):
            is_same = ends[i] == ends[i + distance]
            repeats += int32(is_same & (narrow_distance < to_row_end[i]))
    return repeats


@compiled
def empty_table(d):
    """A hash set for one row's endpoints, at most half full; one entry if none is needed."""
    size = 1
    while d > PAIRWISE and size < 2 * d:
        size *= 2
    return np.empty(size, np.int64)


@compiled
def is_new(row, slot, table):
    """Whether no lower slot of a row has the slot's endpoint.

    To be called for slot after slot, and again for a slot with a new endpoint after False. table:
    ``empty_table(row.size)``, filled with -1 at first.
    """
    if row.size <= PAIRWISE:
        lower = 0
        while lower < slot and row[lower] != row[slot]:
            lower += 1
        return lower == slot
    mask = uint64(table.size - 1)
    at = mix64(uint64(row[slot])) & mask
    while table[at] != -1:
        if table[at] == row[slot]:
            return False
        at = (at + uint64(1)) & mask
    table[at] = row[slot]
    return True


@compiled
def repeats(row, table):
    """Whether two endpoints of a row are equal. table: ``empty_table`` of its size or more."""
    is_repeated = False
    if row.size > PAIRWISE:
        table[:] = -1
        slot = 0
        while slot < row.size and is_new(row, slot, table):
            slot += 1
        is_repeated = slot < row.size
    else:
        for i in range(1, row.size):
            for j in range(i):
                is_repeated |= row[i] == row[j]
    return is_repeated


@compiled
def redraw(v, row, draws, ends, stored, table):
    """Draw again for slots of v that repeat a lower slot's endpoint, in slot order.

    row: v's endpoints, each of attempt 0. table: as for ``is_new``. ends, stored: as for
    ``endpoint``.
    """
    if row.size <= PAIRWISE and not repeats(row, table):
        return
    table[:] = -1
    for slot in range(row.size):
        attempt = uint64(0)
        while not is_new(row, slot, table):
            attempt += uint64(1)
            row[slot] = endpoint(v, uint64(slot), attempt, draws, ends, stored)
