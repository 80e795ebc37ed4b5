"""Integer lengths of arcs for group Steiner trees on a GPU: the launches of ``group_lengths.cu``.

See ``groups/lengths.py``. Cost: one pass over the arcs.
"""

from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.cuda.source import Source
from mgraph.steiner.groups.lengths import EXACT_FRACTION, LengthUnits, WeightFacts, may_be_exact
from mgraph.steiner.star_types_gpu import VARIANTS, kernel_defines

KERNELS = Source(__package__, "group_lengths.cu", check=VARIANTS)


def _defines(graph: Graph) -> dict[str, str]:
    weight = "int32" if graph.weights is None else str(graph.weights.dtype)
    return kernel_defines(weight, "int64")


def find_facts(graph: Graph) -> WeightFacts:
    """Return what units are chosen by, for a graph on the device."""
    import cupy

    weights = graph.weights
    if not graph.num_arcs:
        return WeightFacts(1, True, True, graph.n)
    largest = graph.weight_range.maximum
    is_exact = is_whole = weights is None or weights.dtype.kind == "i"
    if not is_whole and may_be_exact(largest):
        is_rounded = cupy.zeros(1, np.uint32)
        factor = np.float64(EXACT_FRACTION)
        arguments = weights, np.int64(graph.num_arcs), factor, is_rounded
        KERNELS.launch("group_find_rounded", arguments, **_defines(graph))
        is_exact = not is_rounded.get()[0]
    return WeightFacts(largest, is_whole, is_exact, graph.n)


def write_lengths(graph: Graph, indices: Any, units: LengthUnits) -> Any:
    """Return the length of each arc, int64. indices: the graph's as int32."""
    import cupy

    lengths = cupy.empty(graph.num_arcs, np.int64)
    weights = np.uint64(0) if graph.weights is None else graph.weights
    arguments = (
        graph.indptr, indices, weights, np.int64(graph.n), np.float64(units.scale[0]),
        np.float64(units.scale[1]), np.int32(units.shift), np.int32(units.tie_bits), lengths,
    )  # fmt: skip
    KERNELS.launch("group_write_lengths", arguments, **_defines(graph))
    return lengths
