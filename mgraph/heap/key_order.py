"""Keys as unsigned words in the same order: a heap then has one type of key and one direction.

The sign bit of an integer is flipped. The bits of a float are in order except for negative ones,
which are complemented, while the sign bit of the others is flipped; so -0.0 comes before 0.0. If
the largest key comes first, all words are complemented. For NumPy and CuPy arrays; the inverse
restores every bit.
"""

from typing import Any

import numpy as np

KEY_TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


def word_type(dtype: Any) -> Any:
    """The unsigned type of a key's words."""
    return np.dtype(f"uint{8 * np.dtype(dtype).itemsize}")


def to_words(keys: Any, largest: bool) -> Any:
    """Keys of one of ``KEY_TYPES`` as ascending words, in a new array."""
    word = word_type(keys.dtype)
    sign, ones = word.type(1 << (8 * word.itemsize - 1)), word.type(~word.type(0))
    words = keys.view(word)
    if keys.dtype.kind == "i":
        words = words ^ sign
    elif keys.dtype.kind == "f":
        words = words ^ ((words >= sign) * (ones ^ sign) | sign)
    return words ^ ones if largest else words.copy()


def to_keys(words: Any, dtype: Any, largest: bool) -> Any:
    """The inverse of ``to_words``."""
    word, dtype = words.dtype, np.dtype(dtype)
    sign, ones = word.type(1 << (8 * word.itemsize - 1)), word.type(~word.type(0))
    words = words ^ ones if largest else words
    if dtype.kind == "i":
        words = words ^ sign
    elif dtype.kind == "f":
        words = words ^ ((words < sign) * (ones ^ sign) | sign)
    return words.view(dtype)
