"""The checks that every graph passes which is not made by a builder of this package."""

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core.arrays import INDEX_DTYPES, WEIGHT_DTYPES, as_list, on_gpu
from mgraph.errors import UsageError

if TYPE_CHECKING:
    from mgraph.core.graph import Graph


class LazyLabels(Sequence[Any]):
    """Labels that are read when they are needed, and are known to be different."""


def checked_labels(labels: Iterable[Hashable], n: int) -> Sequence[Hashable]:
    """Return the labels of n vertices as a tuple; UsageError unless they are n different values."""
    if isinstance(labels, LazyLabels) and len(labels) == n:
        return labels
    values = tuple(labels if isinstance(labels, str) else as_list("labels", labels))
    try:
        num_different = len(set(values))
    except TypeError as error:
        raise UsageError(f"labels must be hashable: {error}", parameter="labels") from None
    if len(values) != n or num_different != n:
        raise UsageError(
            f"labels must be {n:,} different values, one per vertex (got {len(values):,}, of which "
            f"{num_different:,} are different)",
            parameter="labels",
        )
    return values


def check_shapes(graph: "Graph") -> None:
    """Raise UsageError unless the arrays' shapes, types and memory fit together."""
    arrays = {"indptr": graph.indptr, "indices": graph.indices}
    if graph.weights is not None:
        arrays["weights"] = graph.weights
    for name, array in arrays.items():
        if not (isinstance(array, np.ndarray) or on_gpu(array)) or array.ndim != 1:
            raise UsageError(
                f"{name} must be a NumPy or CuPy array of one dimension (got "
                f"{type(array).__name__}{getattr(array, 'shape', '')})",
                parameter=name,
            )
        if not array.flags.c_contiguous:
            raise UsageError(
                f"{name} must be contiguous, and this is a view with gaps; pass `{name}.copy()`",
                parameter=name,
            )
    if len({on_gpu(array) for array in arrays.values()}) > 1:
        raise UsageError("a graph's arrays must all be NumPy arrays or all CuPy arrays")
    for name, dtypes in (
        ("indptr", ("int64",)),
        ("indices", INDEX_DTYPES),
        ("weights", WEIGHT_DTYPES),
    ):
        if name in arrays and str(arrays[name].dtype) not in dtypes:
            raise UsageError(
                f"{name} must be {' or '.join(dtypes)} (got {arrays[name].dtype})", parameter=name
            )
    if graph.indptr.shape[0] < 1:
        raise UsageError("indptr must have n + 1 elements, and is empty", parameter="indptr")
    if graph.weights is not None and graph.weights.shape != graph.indices.shape:
        raise UsageError(
            f"weights must have one element per arc, {graph.indices.shape[0]:,} (got "
            f"{graph.weights.shape[0]:,})",
            parameter="weights",
        )


def check_content(graph: "Graph") -> None:
    """Raise UsageError unless ``indptr`` never decreases and every arc leads to a vertex."""
    indptr, n, num_arcs = graph.indptr, graph.n, graph.num_arcs
    first, last = int(indptr[0]), int(indptr[-1])
    if first != 0 or last != num_arcs or bool((indptr[1:] < indptr[:-1]).any()):
        raise UsageError(
            f"indptr must increase from 0 to the number of arcs, {num_arcs:,}; this one goes from "
            f"{first:,} to {last:,}, or decreases in between",
            parameter="indptr",
        )
    if not num_arcs:
        return
    minimum, maximum = int(graph.indices.min()), int(graph.indices.max())
    if minimum < 0 or maximum >= n:
        raise UsageError(
            f"indices must lie in [0, {n:,}) (got [{minimum:,}, {maximum:,}])", parameter="indices"
        )
