"""Digests that identify requests: they cover the whole content of a value."""

import dataclasses
import hashlib
import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from mgraph.core.arrays import on_gpu

_PLAIN = "biufcmMSU"  # kinds of NumPy types whose bytes are their whole content


def digest(value: Any) -> str:
    """Return the SHA-256 of a value: equal for equal values of one type, however they are nested.

    Takes None, booleans, numbers, text, bytes, paths, lists, tuples, ranges, sets, dictionaries in
    any order, dataclasses, and arrays of NumPy and CuPy by type, shape and content. A NumPy number
    has the digest of the Python number, a tuple that of the list. Raises TypeError for anything
    else, since its text may not distinguish it from other values.
    """
    return hashlib.sha256(_encoded(value)).hexdigest()


def _encoded(value: Any) -> bytes:
    """Return bytes of the value's type and content; different values have different bytes."""
    if isinstance(value, np.generic):
        value = np.asarray(value) if value.dtype.kind in "mMV" else value.item()
    if value is None or isinstance(value, bool):
        return _tagged(str(value))
    if isinstance(value, int):
        return _tagged("int", format(value, "x").encode())
    if isinstance(value, float):
        return _tagged("float", struct.pack("<d", value))
    if isinstance(value, complex):
        return _tagged("complex", struct.pack("<dd", value.real, value.imag))
    if isinstance(value, str):
        return _tagged("str", value.encode("utf-8", "surrogatepass"))
    if isinstance(value, (bytes, bytearray)):
        return _tagged("bytes", bytes(value))
    if isinstance(value, os.PathLike):
        return _tagged("path", _encoded(os.fspath(value)))
    if isinstance(value, range):
        return _tagged("range", *map(_encoded, (value.start, value.stop, value.step)))
    if isinstance(value, (list, tuple)):
        return _tagged("list", *map(_encoded, value))
    if isinstance(value, (set, frozenset)):
        return _tagged("set", *sorted(map(_encoded, value)))
    if isinstance(value, Mapping):
        pairs = (_tagged("pair", _encoded(key), _encoded(item)) for key, item in value.items())
        return _tagged("dict", *sorted(pairs))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _tagged("dataclass", name.encode(), _encoded(fields))
    if isinstance(value, np.ndarray) or on_gpu(value):
        return _encoded_array(value)
    raise TypeError(
        f"values of type {type(value).__module__}.{type(value).__qualname__} have no digest"
    )


def _encoded_array(array: Any) -> bytes:
    description = "masked array" if np.ma.isMaskedArray(array) else f"array of type {array.dtype}"
    array = np.asarray(array.get() if on_gpu(array) else array)
    shape = _encoded(array.shape)
    if array.dtype.kind == "O":
        return _tagged("array", b"O", shape, *map(_encoded, array.flat))
    if array.dtype.kind not in _PLAIN or description == "masked array":
        raise TypeError(f"a value of type {description} has no digest")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return _tagged("array", array.dtype.str.encode(), shape, array.tobytes())


def _tagged(tag: str, *parts: bytes) -> bytes:
    """Return the parts, each after its length, so that their boundaries are unambiguous."""
    sizes = (struct.pack("<Q", len(part)) + part for part in parts)
    return tag.encode() + b"\0" + struct.pack("<Q", len(parts)) + b"".join(sizes)
