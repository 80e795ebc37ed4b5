"""The hash against Random123's published vectors, and against Python's integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgraph.core import hash_keys, hashing
from tests import oracles

# From Random123's kat_vectors: rounds, counter, key, result.
KNOWN_ANSWERS = [
    (7, (0, 0), 0, (0x257A3673, 0xCD26BE2A)),
    (7, (0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF, (0xAB302C4D, 0x3DC9D239)),
    (7, (0x243F6A88, 0x85A308D3), 0x13198A2E, (0xBEDBBE6B, 0xE4C770B3)),
    (10, (0, 0), 0, (0xFF1DAE59, 0x6CD10DF2)),
    (10, (0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF, (0x2C3F628B, 0xAB4FD7AD)),
    (10, (0x243F6A88, 0x85A308D3), 0x13198A2E, (0xDD7CE038, 0xF62A4C12)),
]
words = st.integers(0, (1 << 32) - 1)
longs = st.integers(0, (1 << 64) - 1)


@pytest.mark.parametrize(("rounds", "counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_gives_the_published_answers(rounds, counter, key, expected):
    assert oracles.philox2x32(counter, key, rounds) == expected
    ours = hashing.philox_rounds(*(np.uint64(x) for x in (*counter, key)), rounds)
    assert tuple(int(word) for word in ours) == expected


@given(longs)
def test_mix64_is_splitmix_finaliser(x):
    assert int(hashing.mix64(np.uint64(x))) == oracles.mix64(x)


def test_edge_hash_distinguishes_neighbouring_edges():
    src, dst = np.meshgrid(np.arange(300, dtype=np.uint64), np.arange(300, dtype=np.uint64))
    hashes = {int(hashing.edge_hash(s, t)) for s, t in zip(src.ravel(), dst.ravel(), strict=True)}
    assert len(hashes) == 300 * 300


def test_seeds_give_different_streams():
    keys = {tuple(map(int, hash_keys.stream_key(seed))) for seed in range(1000)}
    assert len(keys) == 1000
    assert all(word < 1 << 32 for key in keys for word in key)
