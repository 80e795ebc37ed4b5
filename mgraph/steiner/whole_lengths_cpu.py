"""Integer lengths of fractional weights, so that the sums of STAR's searches are exact.

A float's sum may not change when a small weight is added. Then a vertex is as far as the one before
it, and no distance tells which way a shortest path goes. So a search measures fractional weights in
units of its own: a power of two, such that the bound below which a path counts is from 2^60 up to
2^61 units. The length of an arc is its weight, rounded up to whole units, and one unit at least.
Lengths are then integers of 64 bits, as those of integer weights are: sums are exact, each arc
leads to a greater distance, and of several shortest paths all backends take the same. Since lengths
are rounded up, a path that is shorter than the bound by its length is so by its weights, too; a
shorter one is missed only where it gains less than n / 2^60 of the bound. ``whole_lengths.cuh`` is
the same on a GPU.
"""

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

BOUND_BITS = 61
_MAX_LENGTH = 2.0**BOUND_BITS  # of all arcs that are too heavy to be on a path

Scale = tuple[float, float]  # two powers of two to multiply weights by: one might be infinite


def choose_scale(bound: Any, fractional: bool) -> tuple[int, Scale]:
    """Return the length below which paths count in a search, and the scale of its lengths.

    bound: the same in weights. fractional: whether weights are; integers are their own lengths.
    """
    if not fractional:
        return int(bound), (1.0, 1.0)
    exponent = BOUND_BITS - math.frexp(bound)[1]
    first = min(exponent, 1000)
    scale = math.ldexp(1.0, first), math.ldexp(1.0, exponent - first)
    return int(float(bound) * scale[0] * scale[1]), scale


def whole_length(weight: Any, scale: Scale) -> Any:
    """Return the length of an arc: an integer weight itself, a fractional one in rounded units."""
    fractional = isinstance(weight, (float, np.floating))
    return _round_up(weight, scale) if fractional else _keep(weight, scale)


def _keep(weight, scale):
    return weight


def _round_up(weight, scale):
    units = min(float(weight) * scale[0] * scale[1], _MAX_LENGTH)
    return np.int64(max(math.ceil(units), 1))


# In compiled code the type of the weights chooses once and for all.
overload(whole_length)(
    lambda weight, scale: _round_up if isinstance(weight, types.Float) else _keep
)
