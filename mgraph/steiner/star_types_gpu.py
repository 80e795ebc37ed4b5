"""The types of weights and lengths, and the constants, that STAR's kernels are compiled for."""

import functools

from mgraph.shortest_paths.length_types_gpu import length_defines
from mgraph.steiner.whole_lengths_cpu import BOUND_BITS

# The share of all arcs that weigh no more than each of a row's marks.
MARKED_SHARES = (0.02, 0.05, 0.12, 0.25, 0.5, 1.0)


@functools.cache
def kernel_defines(weight: str, length: str) -> dict[str, str]:
    """Return the macros of STAR's kernels for weights and lengths of these types."""
    return {
        **length_defines(weight, length),
        "MGRAPH_BOUND_BITS": str(BOUND_BITS),
        "MGRAPH_ROW_MARKS": str(len(MARKED_SHARES)),
    }


# The variants that are checked; all lengths are integers, see whole_lengths_cpu.
VARIANTS = tuple(
    tuple(kernel_defines(*types).items())
    for types in (
        ("int32", "int32"),
        ("int32", "int64"),
        ("int64", "int64"),
        ("float32", "int64"),
        ("float64", "int64"),
    )
)
