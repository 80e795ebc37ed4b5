"""The random numbers of Python's ``random.Random`` in functions that Numba compiles.

Sources: M. Matsumoto, T. Nishimura, "Mersenne Twister" (1998); CPython, Lib/random.py and
Modules/_randommodule.c, for what is made of its words.
"""

import contextlib
import random
from collections.abc import Iterator

import numpy as np

from mgraph.core.compiled import compiled

STATE_WORDS, SHIFT = 624, 397
MATRIX, UPPER, LOWER = 0x9908B0DF, 0x80000000, 0x7FFFFFFF


@contextlib.contextmanager
def drawing(generator: random.Random) -> Iterator[np.ndarray]:
    """Draw from the state that this yields, int64; the generator goes on from there."""
    version, words, gauss = generator.getstate()
    state = np.array(words, np.int64)
    yield state
    generator.setstate((version, tuple(state.tolist()), gauss))


@compiled
def next_word(state):
    """Return the next 32 random bits. state: the generator's words, then its position."""
    if state[STATE_WORDS] >= STATE_WORDS:
        for i in range(STATE_WORDS):
            word = (state[i] & UPPER) | (state[(i + 1) % STATE_WORDS] & LOWER)
            mixed = state[(i + SHIFT) % STATE_WORDS] ^ (word >> 1)
            state[i] = mixed ^ MATRIX if word & 1 else mixed
        state[STATE_WORDS] = 0
    word = state[state[STATE_WORDS]]
    state[STATE_WORDS] += 1
    word ^= word >> 11
    word ^= (word << 7) & 0x9D2C5680
    word ^= (word << 15) & 0xEFC60000
    return (word ^ (word >> 18)) & 0xFFFFFFFF


@compiled
def draw_below(state, limit):
    """Return a random number below the limit, as ``random.Random._randbelow`` does."""
    bits = 0
    while limit >> bits:
        bits += 1
    number = next_word(state) >> (32 - bits)
    while number >= limit:
        number = next_word(state) >> (32 - bits)
    return number


@compiled
def draw_unit(state):
    """Return a random double in [0, 1), as ``random.Random.random`` does."""
    high = next_word(state) >> 5
    return (high * (1 << 26) + (next_word(state) >> 6)) / (1 << 53)
