"""Whole lengths of fractional weights, so that STAR's searches add up exactly.

A float's sum may not change when a small weight is added. Then a vertex is as far as the one before
it, and no distance tells which way a shortest path goes. So a search measures fractional weights in
units of its own: a power of two, such that the bound below which a path counts is from 2^60 up to
2^61 units. An arc is as long as its weight, rounded up, and a unit at least. Lengths are then whole
numbers of 64 bits, as those of whole weights are: sums are exact, each arc leads farther away, and
of several shortest paths all backends take the same. Since it is rounded up, a path that is shorter
than the bound by its length is so by its weights, too; a shorter one is missed only where it gains
less than n / 2^60 of the bound. ``whole_lengths.cuh`` is the same on a GPU.
"""

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

_BITS = 61
_MOST = 2.0**_BITS  # the length of all arcs too heavy to matter

Scale = tuple[float, float]  # two powers of two to multiply weights by, since one might be infinite


def measured(bound: Any, fractional: bool) -> tuple[int, Scale]:
    """The length below which paths count in a search, and its scale. bound: of their weights."""
    if not fractional:
        return int(bound), (1.0, 1.0)
    exponent = _BITS - math.frexp(bound)[1]
    first = min(exponent, 1000)
    scale = math.ldexp(1.0, first), math.ldexp(1.0, exponent - first)
    return int(float(bound) * scale[0] * scale[1]), scale


def whole(weight: Any, scale: Scale) -> Any:
    """How long an arc is: a whole weight itself, a fractional one in units, rounded up."""
    fractional = isinstance(weight, float)
    return _rounded_up(weight, scale) if fractional else _as_it_is(weight, scale)


def _as_it_is(weight, scale):
    return weight


def _rounded_up(weight, scale):
    units = min(weight * scale[0] * scale[1], _MOST)
    return np.int64(max(math.ceil(units), 1))


# In compiled code the weights' type chooses once and for all.
overload(whole)(lambda weight, scale: _rounded_up if isinstance(weight, types.Float) else _as_it_is)
