"""The constants of the hash functions, and the keys of their random streams; without Numba.

The constants are read from the CUDA header ``mgraph/hash.cuh``, so that the two cannot differ.
"""

from typing import NamedTuple

import numpy as np

from mgraph.cuda.source import header_declarations

_declared = header_declarations("mgraph/hash.cuh").constant
GOLDEN64 = np.uint64(_declared("golden64"))
PHILOX_ROUNDS = _declared("philox_rounds")
PHILOX_MULTIPLIER = np.uint64(_declared("philox_multiplier"))
PHILOX_KEY_STEP = np.uint64(_declared("philox_key_step"))
ATTEMPT_KEY_STEP = np.uint64(_declared("attempt_key_step"))
MIX_MULTIPLIER1 = np.uint64(_declared("mix_multiplier1"))
MIX_MULTIPLIER2 = np.uint64(_declared("mix_multiplier2"))

LOW32 = np.uint64(0xFFFFFFFF)
S32 = np.uint64(32)


class StreamKey(NamedTuple):
    """The key of a seed's random stream: 64 bits that whiten the counter, and Philox's 32 bits."""

    white0: np.uint64
    white1: np.uint64
    key: np.uint64


def _splitmix64(seed: int, step: int) -> int:
    """Return the output number ``step`` of SplitMix64 with this seed."""
    mask = (1 << 64) - 1
    x = (seed + step * int(GOLDEN64)) & mask
    x = (x ^ (x >> 30)) * int(MIX_MULTIPLIER1) & mask
    x = (x ^ (x >> 27)) * int(MIX_MULTIPLIER2) & mask
    return x ^ (x >> 31)


def weight_key(seed: int) -> np.uint64:
    """Return the key that ``edge_weight`` takes, for a seed in [0, 2^64)."""
    return np.uint64(_splitmix64(seed, 3))


def stream_key(seed: int) -> StreamKey:
    """Return the stream's key for a seed in [0, 2^64); any two seeds give unrelated streams."""
    white, key = _splitmix64(seed, 1), _splitmix64(seed, 2)
    low = int(LOW32)
    return StreamKey(np.uint64(white & low), np.uint64(white >> 32), np.uint64(key & low))
