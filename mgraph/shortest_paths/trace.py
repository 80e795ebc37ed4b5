"""What an iteration of near-far or self-tuning tells: a row each, with the same columns everywhere.

``delta`` is the threshold that the iteration went by; ``d``, ``alpha`` and ``far_partitions`` are
as the decision that followed it left them. On a GPU an iteration may be a wave of up to 128 hops,
where few arcs are under way (roads, grids): X1 and X2 count every expansion of all its hops, and no
vertices without arcs; X3 what was updated twice, twice; X4 what
is left to all blocks; ``far_size`` entries that were replaced since.
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
        cancellation.raise_if_cancelled()
        began = time.perf_counter_ns()
        more = step(row)
        rows.append([*row, time.perf_counter_ns() - began])
    return as_records(rows)


def write_trace(trace: Any, file: str | os.PathLike[str]) -> None:
    """Write a trace as Parquet, a column a field (float64), a row an iteration; whole or not."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with writing_file(file) as stream:
        pq.write_table(pa.table({name: trace[name] for name in FIELDS}), stream)


def read_trace(file: str | os.PathLike[str]) -> Any:
    """A trace that ``write_trace`` wrote. Raises DatasetError for a file that is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = local_path(file)
    try:
        table = pq.read_table(path, columns=FIELDS)
        return as_records(np.column_stack([table[name].to_numpy() for name in FIELDS]))
    except FileNotFoundError:
        raise DatasetError(f"{file} does not exist") from None
    except (pa.ArrowException, KeyError, OSError) as error:
        raise DatasetError(f"{file} is no trace that mgraph wrote: {error}") from error
