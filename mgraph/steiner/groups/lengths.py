"""Integer lengths of arcs for the searches of group Steiner trees, by which ties are broken.

The length of an arc is its weight in whole units, and in the low bits a small number that is drawn
by a hash of the edge. So lengths are above 0, sums are exact, and of several best trees one is
shorter than all others, mostly: whichever device searches, it finds that one. The low bits of a
tree's edges never add up to a unit, so that a shorter tree costs no more.

Fractional weights that are multiples of 2^-10 are exact. Others are rounded up to units of a power
of two, without low bits, and a tree that is made of few units is searched for again in finer ones.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from mgraph.steiner.groups import lengths_cpu
from mgraph.steiner.whole_lengths_cpu import Scale

# Trees of this length or more are not found.
TOTAL_BITS = 61
# A tree that costs 2^14 times the greatest weight is still short enough.
_TREE_BITS = 14
_EXACT_FRACTION = 1024.0
_TIE_BITS = 24
# Rounded costs have more units than that, or are searched for again in finer units.
_FINE_BITS = 36


class LengthUnits(NamedTuple):
    """How weights become lengths. scale: two powers of two that fractional weights are times.

    shift: how many low bits there are. tie_bits: how many of them are drawn, or -1 for none.
    is_exact: whether no weight is rounded.
    """

    scale: Scale
    shift: int
    tie_bits: int
    is_exact: bool

    def write(self, indptr: Any, indices: Any, weights: Any) -> Any:
        """Return the length of each arc, int64."""
        return lengths_cpu.write_lengths(
            indptr, indices, weights, self.scale, self.shift, self.tie_bits
        )

    def to_bound(self, length: int, n: int) -> Any:
        """Return a lower bound on the cost of a tree whose length is at least this."""
        units = length >> self.shift
        if self.scale == (1.0, 1.0):
            return units
        exact = units if self.is_exact else max(units - n, 0)
        return exact / self.scale[0] / self.scale[1]

    def is_fine_enough(self, length: int) -> bool:
        """Return whether rounding does not matter to a tree of this length."""
        return self.is_exact or length.bit_length() > _FINE_BITS


def choose_units(weights: Any, n: int, cost: float | None = None) -> LengthUnits:
    """Choose units for arcs of these weights, all above 0, of a graph of n vertices.

    cost: a tree that costs more need not be found; by default one that costs 2^14 times the
    greatest weight.
    """
    largest = weights.max().item() if weights.size else 1
    if cost is None:
        cost = largest * 2.0**_TREE_BITS
    scale, is_exact = 1.0, weights.dtype.kind in "iu"
    if not is_exact and largest < 2.0**TOTAL_BITS / _EXACT_FRACTION:
        scale = _EXACT_FRACTION
        multiples = weights * scale
        is_exact = bool((multiples == np.floor(multiples)).all())
    vertex_bits, cost_bits = n.bit_length(), math.frexp(cost * scale)[1]
    if is_exact and cost_bits <= TOTAL_BITS:
        tie_bits = min(TOTAL_BITS - cost_bits - vertex_bits, _TIE_BITS)
        shift = vertex_bits + tie_bits if tie_bits >= 0 else 0
        return LengthUnits((scale, 1.0), shift, tie_bits, True)
    if weights.dtype.kind in "iu":
        return LengthUnits((1.0, 1.0), 0, -1, True)
    exponent = TOTAL_BITS - math.frexp(cost)[1]
    first = min(exponent, 1000)
    return LengthUnits((math.ldexp(1.0, first), math.ldexp(1.0, exponent - first)), 0, -1, False)
