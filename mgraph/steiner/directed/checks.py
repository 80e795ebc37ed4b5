"""Checks of what users give besides a graph, and sums that are rounded once."""

import math
from numbers import Real
from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.errors import UsageError


def total_of(weights: Any) -> Any:
    """Return the sum of weights: int, or float and then rounded once."""
    return math.fsum(weights.tolist()) if weights.dtype.kind == "f" else int(weights.sum())


def weights_of(graph: Graph) -> Any:
    """Return NumPy's int64 or float64 weights of a graph's arcs."""
    if graph.weights is None:
        return np.ones(graph.num_arcs, np.int64)
    return graph.weights.astype(np.float64 if graph.weights.dtype.kind == "f" else np.int64)


def checked_vertex_weights(name: str, values: Any, n: int) -> Any:
    """Return what a user gives for each vertex as int64 or float64, ``(n,)``; none below 0."""
    array = np.asarray(values)
    if array.shape != (n,) or array.dtype.kind not in "biuf":
        raise UsageError(
            f"{name} must be one number for each of the {n:,} vertices (got {_describe(array)})"
        )
    array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    if not (array >= 0).all() or not np.isfinite(array).all():
        raise UsageError(f"{name} must be finite and at least 0 (one is {array.min()})")
    if array.dtype.kind == "i" and array.size and int(array.max()) * n >= 1 << 61:
        raise UsageError(f"the sum of {name} might overflow 64 bits; scale them down")
    return array


def _describe(array: Any) -> str:
    """Return the shape and type of an array, as text."""
    return f"shape {array.shape}, {array.dtype}"


def check_time_limit(time_limit: float | None) -> None:
    """Raise UsageError for what is no time limit."""
    if time_limit is not None and not (isinstance(time_limit, Real) and time_limit > 0):
        raise UsageError(f"time_limit must be a number of seconds above 0 (got {time_limit!r})")
