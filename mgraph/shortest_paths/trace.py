"""Traces of near-far, self-tuning and heap searches: one row per iteration, the same columns.

``delta`` is the threshold that the iteration went by; ``d``, ``alpha`` and ``far_partitions`` are
as the decision after the iteration left them. On a GPU an iteration may be a wave of up to 128
hops, where few arcs are under way (roads, grids): then ``is_wave`` is 1, and ``hops`` is how many
the block with the most of them made. X1 and X2 count every expansion of all its hops, but no
vertices without arcs; X3 counts a vertex each time it is updated; X4 is the near queue that all
blocks share; ``far_size`` includes stale entries.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.errors import DatasetError
from mgraph.io.address import local_path
from mgraph.io.folder import writing_file

# The paper's X1 to X4; delta: the threshold; d and alpha: the models' slopes (0 for near-far).
FIELDS = [
    *("x1", "x2", "x3", "x4", "delta", "d", "alpha"),
    *("far_partitions", "far_size", "hops", "is_wave", "nanoseconds"),
]
SEARCH_COLUMNS = len(FIELDS) - 1  # that an iteration fills; the time is added by its caller
_HOPS = FIELDS.index("hops")


def to_records(rows: Any) -> Any:
    """Convert rows of ``FIELDS`` to a NumPy record array of float64."""
    columns = np.asarray(rows, np.float64).reshape(-1, len(FIELDS)).T
    return np.rec.fromarrays(list(columns), dtype=[(name, np.float64) for name in FIELDS])


def record_iterations(iterate: Callable[[Any], bool]) -> Any:
    """Call ``iterate(row)``, which does one iteration, until it returns False; make the trace."""
    rows, row, has_more = [], np.zeros(SEARCH_COLUMNS), True
    row[_HOPS] = 1  # on a core, which has no waves
    while has_more:
        cancellation.raise_if_cancelled()
        began = time.perf_counter_ns()
        has_more = iterate(row)
        rows.append([*row, time.perf_counter_ns() - began])
    return to_records(rows)


def write_trace(trace: Any, file: str | os.PathLike[str]) -> None:
    """Write a trace as Parquet, one float64 column per field; the file appears once complete."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with writing_file(file) as stream:
        pq.write_table(pa.table({name: trace[name] for name in FIELDS}), stream)


def read_trace(file: str | os.PathLike[str]) -> Any:
    """Read a trace that ``write_trace`` wrote. It raises DatasetError for any other file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = local_path(file)
    try:
        table = pq.read_table(path, columns=FIELDS)
        return to_records(np.column_stack([table[name].to_numpy() for name in FIELDS]))
    except FileNotFoundError:
        raise DatasetError(f"{file} does not exist") from None
    except (pa.ArrowException, KeyError, OSError) as error:
        raise DatasetError(f"{file} is not a trace that mgraph wrote: {error}") from error
