"""What an iteration of near-far or self-tuning tells: one row each, the same on CPU and GPU."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

# The paper's X1 to X4; delta: the threshold; d and alpha: the models' slopes (0 for near-far).
FIELDS = [
    *("x1", "x2", "x3", "x4", "delta", "d", "alpha"),
    *("far_partitions", "far_size", "nanoseconds"),
]
COLUMNS = len(FIELDS) - 1  # that a search fills itself


def as_records(rows: Any) -> Any:
    """Rows of ``FIELDS`` as a NumPy record array of float64."""
    columns = np.asarray(rows, np.float64).reshape(-1, len(FIELDS)).T
    return np.rec.fromarrays(list(columns), dtype=[(name, np.float64) for name in FIELDS])


def timed(step: Callable[[Any], bool]) -> Any:
    """The trace of a search that ``step(row)`` takes an iteration further, until it is False."""
    rows, row, more = [], np.zeros(COLUMNS), True
    while more:
        began = time.perf_counter_ns()
        more = step(row)
        rows.append([*row, time.perf_counter_ns() - began])
    return as_records(rows)
