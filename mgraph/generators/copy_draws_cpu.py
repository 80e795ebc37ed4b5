"""The copy model's draws in Numba; ``copy_model.cuh`` has the same bits in CUDA.

Slot s of vertex v is edge e = v·d + s. Its draw is a 64-bit hash h of (seed, e, attempt), taken
apart as digits in mixed radix: u = ⌊h·v / 2^64⌋ is the vertex, ⌊fraction·d⌋ the slot of u, and the
first 32 bits of what is left the coin. A coin below p, or a u in the clique, ends the edge at u;
else it ends where that slot of u does: its endpoint is read where endpoints are stored, and else
found by drawing for that slot in turn. ``copy`` and ``cuppa`` store all endpoints, ``copy_hash``
and ``cuppa_hash`` those of the exact core. The generators differ in that alone.

With the start ``ba`` the first digit x is in the radix 2(v - d) + d - 1: twice the earlier edges,
over d. An x below d - 1 is an edge of the clique, which ends the edge at vertex ⌊fraction·d⌋, and
any other an edge of the vertex u = d + ⌊(x - (d - 1)) / 2⌋.

``draw_all`` is cut in two loops because a chain of seven dependent multiplications, in one loop,
leaves the vector units waiting for each other (309 against 490 million draws/s on one core of an
AMD EPYC).
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import int32, uint64

from mgraph.core.compiled import compiled
from mgraph.core.hashing import (
    ATTEMPT_KEY_STEP,
    LOW32,
    PHILOX_KEY_STEP,
    PHILOX_ROUNDS,
    S32,
    mix64,
    philox_rounds,
    stream_key,
)

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

BLOCK = 8192  # draws of a block: 0.2 MB, within an L2 cache
PAIRWISE = 32  # up to this d, a vertex's endpoints are compared pair by pair
ALL_STORED = np.uint64(1 << 62)  # more vertices than any graph has: every copy is read
_FIRST_ROUNDS = 4
_LAST_ROUNDS = PHILOX_ROUNDS - _FIRST_ROUNDS
_KEY_AFTER_FIRST = np.uint64(_FIRST_ROUNDS) * PHILOX_KEY_STEP

# A draw is one word: whether the chain ends there, the vertex (40 bits), the slot (12 bits).
SLOT_BITS, SLOT_MASK = np.uint64(12), np.uint64(4095)
ENDED_BIT, DRAW_MASK = np.uint64(63), np.uint64((1 << 63) - 1)


class Draws(NamedTuple):
    """What every draw takes of a model.

    threshold: a coin below it makes a direct edge. white0, white1, key: the stream's words.
    offset: the radix of a draw's first digit is 2v - offset with the start ``ba``; None with
    ``paper``, where it is v: the type, so that each start has machine code of its own.
    """

    d: np.uint64
    threshold: np.uint64
    white0: np.uint64
    white1: np.uint64
    key: np.uint64
    offset: np.uint64 | None


def parameters(model: "CopyModel") -> Draws:
    """The draws of a model."""
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
    """The two words of edge e's draw number ``attempt``."""
    key = (draws.key + attempt * ATTEMPT_KEY_STEP) & LOW32
    white0, white1 = draws.white0, draws.white1
    return philox_rounds((e & LOW32) ^ white0, (e >> S32) ^ white1, key, PHILOX_ROUNDS)


@compiled
def choice(word0, word1, v, d, threshold, offset):
    """What a hash chooses for a slot of vertex v: (u, slot, whether the edge ends at u)."""
    if offset is None:
        u, slot, coin = digits(word0, word1, v, d)
        return u, slot, (coin < threshold) | (u < d)
    u, slot, coin = digits(word0, word1, (v << uint64(1)) - offset, d)
    u = (u + offset) >> uint64(1)
    u -= uint64(u == v)  # d = 1, v = 1, and no edge yet to draw from
    in_clique = u < d
    # By its degree, which is that of all of the clique.
    return slot if in_clique else u, slot, (coin < threshold) | in_clique


@compiled
def draw(v, slot, attempt, draws):
    """``choice`` of draw number ``attempt`` of one slot."""
    word0, word1 = hashed(v * draws.d + slot, attempt, draws)
    return choice(word0, word1, v, draws.d, draws.threshold, draws.offset)


@compiled
def endpoint(v, slot, attempt, draws, ends, stored):
    """Where draw number ``attempt`` of one slot leads.

    ends: the endpoints of vertex d and on, d each; copies from vertices below ``stored`` read them,
    others are followed.
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
    """Begin the hashes of ``count`` slots, those of ``words``; they go on with the key returned."""
    d, white0, white1, key = draws.d & LOW32, draws.white0, draws.white1, draws.key
    for i in range(count):
        e = ((words[i] >> SLOT_BITS) & vertex_mask) * d + (words[i] & SLOT_MASK)
        word0, word1 = philox_rounds((e & LOW32) ^ white0, (e >> S32) ^ white1, key, _FIRST_ROUNDS)
        state[i] = (word0 << S32) | word1
    return (key + _KEY_AFTER_FIRST) & LOW32


@compiled
def hash_all(count, draws, words, state):
    """The hashes of ``count`` slots, those of ``words``, into ``state``, each by its attempt 0."""
    key = _first_rounds(count, draws, DRAW_MASK, words, state)
    for i in range(count):
        word0, word1 = philox_rounds(state[i] >> S32, state[i] & LOW32, key, _LAST_ROUNDS)
        state[i] = (word0 << S32) | word1


@compiled
def draw_all(count, draws, stored, narrow, words, state):
    """Draw once for each of ``count`` words, in place, its ended bit set where the chain ends.

    That is where the edge ends at a vertex, or where a slot of a vertex below ``stored`` does. Then
    state, as int64, is that vertex, or ~i where endpoint i of those that are stored is to be read.
    narrow: an array of 4-byte numbers where all vertices fit 31 bits.
    """
    # Masks tell the compiler which words fit 32 bits: it drops the multiplications by zero.
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
    """The words of the slots of vertices 0, 1, … of a block, and how many of a row are left."""
    vertices = max(1, BLOCK // d)
    slots = np.empty(vertices * d, np.uint64)
    room = np.empty(vertices * d, np.int32)
    for i in range(slots.size):
        slots[i] = (uint64(i // d) << SLOT_BITS) | uint64(i % d)
        room[i] = d - i % d
    return slots, room


@compiled
def count_repeats(count, d, room, ends):
    """How often an endpoint stands again further on in its vertex's row of ``d``.

    room[i]: how many endpoints of the same row stand at i and after. One pass a distance, so that
    it vectorises: rows are short and repeats are rare.
    """
    repeats = int32(0)
    for distance in range(1, d):
        within = int32(distance)
        for i in range(count - distance):
            repeats += int32((ends[i] == ends[i + distance]) & (within < room[i]))
    return repeats


@compiled
def empty_table(d):
    """A hash set for one row's endpoints, at most half full; of one place where none is needed."""
    size = 1
    while d > PAIRWISE and size < 2 * d:
        size *= 2
    return np.empty(size, np.int64)


@compiled
def repeats(row):
    """Whether two of a row's endpoints are equal."""
    if row.size > PAIRWISE:
        row = np.sort(row)
        return np.any(row[1:] == row[:-1])
    found = False
    for i in range(1, row.size):
        for j in range(i):
            found |= row[i] == row[j]
    return found


@compiled
def is_new(row, slot, table):
    """Whether no lower slot of a row has the slot's endpoint; where not, asked again later.

    To be asked of slot after slot; table: ``empty_table(row.size)``, filled with -1 before.
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
def redraw(v, row, draws, ends, stored, table):
    """Give slots of v that repeat a lower slot's endpoint new attempts, in slot order.

    row: v's endpoints, each by its attempt 0. table: as ``is_new``'s. ends, stored: as
    ``endpoint``'s.
    """
    if row.size <= PAIRWISE and not repeats(row):
        return
    table[:] = -1
    for slot in range(row.size):
        attempt = uint64(0)
        while not is_new(row, slot, table):
            attempt += uint64(1)
            row[slot] = endpoint(v, uint64(slot), attempt, draws, ends, stored)
