"""Weights as unsigned integers in the same order, which every method compares instead."""

from typing import Any

import numpy as np


def order_keys(weights: Any) -> Any:
    """Keys of the weights' width, uint32 or uint64: one is below another where its weight is.

    weights: NumPy or CuPy, int32, int64, float32 or float64, without NaN. Equal weights have equal
    keys, -0.0 and 0.0 too; subnormal numbers keep their order, since only bits are looked at.
    """
    bits = weights.dtype.itemsize * 8
    whole, unsigned = np.dtype(f"i{bits // 8}"), np.dtype(f"u{bits // 8}")
    sign = unsigned.type(1 << (bits - 1))
    signed = weights.view(whole)
    if weights.dtype.kind == "f":
        # Of a negative number all bits but the sign are turned round; -0.0 becomes 0.0.
        flipped = signed ^ ((signed >> (bits - 1)) & whole.type((1 << (bits - 1)) - 1))
        flipped[signed == np.iinfo(whole).min] = 0
        signed = flipped
    return signed.view(unsigned) ^ sign


def ranks(keys: Any, below: int = 1 << 32) -> Any:
    """Keys as uint32 in the same order, from 0: less the least, or where that is too much, dense.

    below: what they must be below, as the number of keys is. Cost: a pass, or a sort of all keys.
    """
    if not keys.size:
        return keys.astype(np.uint32)
    least, largest = int(keys.min()), int(keys.max())
    if largest - least < below:
        return (keys - keys.dtype.type(least)).astype(np.uint32)
    order = keys.argsort()
    ordered = keys[order]
    dense = keys.astype(np.uint32)
    dense[order[:1]] = 0
    dense[order[1:]] = (ordered[1:] != ordered[:-1]).cumsum()
    return dense
