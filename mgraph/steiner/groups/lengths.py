"""Integer lengths of arcs for the searches of group Steiner trees, by which ties are broken.

The length of an arc is its weight in whole units, and in the low bits a small number that is drawn
by a hash of the edge. So lengths are above 0, sums are exact, and of several best trees one is
shorter than all others, mostly: whichever device searches, it finds that one. The low bits of a
tree's edges never add up to a unit, so that a shorter tree costs no more.

Fractional weights that are multiples of 2^-10 are exact. Others are rounded to units of a power of
two, to which the small number is added; a tree that is made of few units is searched for again in
finer ones.
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
EXACT_FRACTION = 1024.0
_TIE_BITS = 24
# Of rounded weights; their sum has more units than that, or is searched for in finer ones.
_ROUNDED_TIE_BITS, _FINE_BITS = 10, 46


class WeightFacts(NamedTuple):
    """What units are chosen by. is_exact: whether all weights are multiples of ``1 / scale``."""

    largest: float
    is_whole: bool
    is_exact: bool
    n: int


def find_facts(weights: Any, n: int) -> WeightFacts:
    """Return the facts of NumPy's weights, all above 0, of a graph of n vertices."""
    largest = weights.max().item() if weights.size else 1
    is_exact = is_whole = weights.dtype.kind in "iu"
    if not is_whole and may_be_exact(largest):
        multiples = weights * EXACT_FRACTION
        is_exact = bool((multiples == np.floor(multiples)).all())
    return WeightFacts(largest, is_whole, is_exact, n)


def may_be_exact(largest: float) -> bool:
    """Return whether fractional weights up to this one fit into lengths without rounding."""
    return largest < 2.0**TOTAL_BITS / EXACT_FRACTION


class LengthUnits(NamedTuple):
    """How weights become lengths. scale: two powers of two that fractional weights are times.

    shift: how many low bits there are. tie_bits: of the number that is drawn, or -1 for none.
    is_exact: whether the number is less than a unit, and no weight is rounded.
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
        exact = units if self.is_exact else max(units - (n << self.tie_bits), 0)
        return exact / self.scale[0] / self.scale[1]

    def is_fine_enough(self, length: int) -> bool:
        """Return whether rounding does not matter to a tree of this length: 0 is one vertex."""
        return self.is_exact or not length or length.bit_length() > _FINE_BITS


def choose_units(facts: WeightFacts, cost: float | None = None) -> LengthUnits:
    """Choose units for a graph.

    cost: a tree that costs more need not be found; by default one that costs 2^14 times the
    greatest weight.
    """
    if cost is None:
        cost = facts.largest * 2.0**_TREE_BITS
    scale = 1.0 if facts.is_whole else EXACT_FRACTION
    vertex_bits = facts.n.bit_length()
    cost_bits = math.frexp(max(cost, facts.largest) * scale)[1]  # no arc's length overflows either
    if facts.is_exact and cost_bits <= TOTAL_BITS:
        tie_bits = min(TOTAL_BITS - cost_bits - vertex_bits, _TIE_BITS)
        shift = vertex_bits + tie_bits if tie_bits >= 0 else 0
        return LengthUnits((scale, 1.0), shift, tie_bits, True)
    if facts.is_whole:
        return LengthUnits((1.0, 1.0), 0, -1, True)
    exponent = TOTAL_BITS - math.frexp(cost)[1]
    first = min(exponent, 1000)
    scale_parts = math.ldexp(1.0, first), math.ldexp(1.0, exponent - first)
    return LengthUnits(scale_parts, 0, _ROUNDED_TIE_BITS, False)
