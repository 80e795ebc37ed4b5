"""Tables in memory to graphs: pandas, Polars, PyArrow, cuDF and whatever else speaks Arrow."""

import warnings
from collections.abc import Mapping
from typing import Any

from mgraph.core.choices import Backend
from mgraph.core.csr import from_edges
from mgraph.core.graph import Graph
from mgraph.errors import MgraphWarning, UsageError


def from_dataframe(
    table: Any,
    src: str | None = None,
    dst: str | None = None,
    weight: str | None = None,
    *,
    directed: bool = True,
    renumber: bool = False,
    drop_loops: bool = False,
    merge: bool = False,
    backend: Backend = "auto",
) -> Graph:
    """Convert a table in memory that has a row per edge.

    Parameters
    ----------
    table : pandas, Polars or cuDF data frame, PyArrow table, or another
        Anything with the Arrow PyCapsule interface (``__arrow_c_stream__``), ``to_arrow()``, or a
        dict of columns.
    src, dst : str, optional
        The columns of the edges' ends: whole numbers or strings. By default src and dst, or source
        and target and other usual names.
    weight : str, optional
        The column of weights; by default ``weight`` if there is one.
    directed : bool, default True
        False: each row stands for both arcs.
    renumber : bool, default False
        Number the vertices 0 to n - 1 in the ascending order of their ids, which become ``labels``.
        Ids that are strings always are; others are the vertices' numbers by default.
    drop_loops, merge, backend
        As for ``mgraph.from_edges``.

    Returns
    -------
    Graph

    Raises
    ------
    UsageError
        If ``table`` is no table, a column is missing, or ids or weights have other types.

    Warns
    -----
    MgraphWarning
        If columns were recognised by unusual names.

    Notes
    -----
    Columns of Arrow's memory are not copied before the graph is built. Ids are sorted once if they
    are renumbered.

    Examples
    --------
    >>> import pandas
    >>> frame = pandas.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "km": [5, 7]})
    >>> graph = mgraph.from_dataframe(frame, "a", "b", "km", backend="cpu")
    >>> graph
    Graph(n=3, num_arcs=2, directed, int32 weights, labels, cpu)
    >>> graph.labels
    ('x', 'y', 'z')
    """
    import pyarrow as pa

    from mgraph.io.tables import arrow_files, column_names
    from mgraph.io.tables.column_names import ColumnRequest
    from mgraph.io.tables.table_listing import number_batches

    request = ColumnRequest(src, dst, weight)
    arrow = to_arrow(table)
    names = [str(name) for name in arrow.column_names]
    try:
        columns = column_names.resolve(arrow_files.names_of(arrow.schema), request)
        for note in columns.note():
            warnings.warn(f"from_dataframe: {note}", MgraphWarning, stacklevel=2)
        used = [name for name in columns[:3] if name is not None]
        repeated = [name for name in used if names.count(name) > 1]
        if repeated:
            raise ValueError(f"table has two columns {repeated[0]}")
        batches = [
            arrow_files.as_batch(batch, columns) for batch in arrow.select(used).to_batches()
        ] or [_empty(columns.weight is not None, pa)]
        edges, n, labels = number_batches(batches, None, renumber)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"table: {error}", parameter="table") from None
    graph = from_edges(
        edges, n, directed=directed, drop_loops=drop_loops, merge=merge, backend=backend
    )
    return graph.with_labels(labels)


def _empty(weighted: bool, pa: Any) -> Any:
    names = ["src", "dst", *(["weight"] if weighted else [])]
    return pa.RecordBatch.from_arrays([pa.array([], pa.int64())] * len(names), names=names)


def is_dataframe(value: Any) -> bool:
    """Return whether ``from_dataframe`` takes a value."""
    return hasattr(value, "__arrow_c_stream__") or (
        hasattr(value, "to_arrow") and hasattr(value, "columns")
    )


def to_arrow(table: Any) -> Any:
    """Return a table of another library as PyArrow's. Raises UsageError for anything else."""
    import pyarrow as pa

    if isinstance(table, pa.Table):
        return table
    try:
        if isinstance(table, pa.RecordBatch):
            return pa.Table.from_batches([table])
        if hasattr(table, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(table).read_all()
        if isinstance(table, Mapping):
            return pa.table(dict(table))
        if is_dataframe(table):
            return to_arrow(table.to_arrow())
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise UsageError(
            f"table cannot be read as columns of numbers and text: {error}", parameter="table"
        ) from None
    raise UsageError(
        "table must be a data frame of pandas, Polars or cuDF, a PyArrow table, or a dict of "
        f"columns (got {type(table).__name__})",
        parameter="table",
    )
