"""What the results of operations have in common: their tables."""

import dataclasses
from typing import Any, ClassVar

from mgraph.core.formatting import pluralize
from mgraph.core.html import Tabular


class Results(Tabular):
    """A result that has a table: one row per record of the attribute named ``_rows``."""

    _rows: ClassVar[str]

    def to_arrow(self) -> Any:
        """Return the records as a ``pyarrow.Table``, one column per field."""
        import pyarrow as pa

        rows = getattr(self, self._rows)
        return pa.Table.from_pylist([dataclasses.asdict(row) for row in rows])

    def to_pandas(self) -> Any:
        """Return the records as a ``pandas.DataFrame``, one column per field."""
        import pandas as pd

        return pd.DataFrame([dataclasses.asdict(row) for row in getattr(self, self._rows)])

    def __repr__(self) -> str:
        """Return the fields, records by their number alone."""
        shown = (f"{name}={_short(value)}" for name, value in vars(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def _columns(self) -> dict[str, list[Any]] | None:
        rows = [dataclasses.asdict(row) for row in getattr(self, self._rows)]
        return {name: [row[name] for row in rows] for name in rows[0]} if rows else None


def _short(value: Any) -> str:
    """Return a field as text; of records their number, of a graph's description its size."""
    if isinstance(value, tuple) and value and all(map(dataclasses.is_dataclass, value)):
        return f"<{pluralize(len(value), 'record')}>"
    for name, noun in (("num_arcs", "arcs"), ("num_edges", "edges")):
        if hasattr(value, name):
            return f"<{value.n:,} vertices, {getattr(value, name):,} {noun}>"
    return f"{value:.3g}" if isinstance(value, float) else repr(value)
