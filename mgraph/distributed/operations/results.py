"""What the results of operations have in common: their tables."""

import dataclasses
from typing import Any, ClassVar


class Results:
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
        """Return the fields; of many records only their number."""
        shown = (f"{name}={_short(value)}" for name, value in vars(self).items())
        return f"{type(self).__name__}({', '.join(shown)})"


def _short(value: Any) -> str:
    if isinstance(value, tuple) and not hasattr(value, "_fields") and len(value) > 3:
        return f"<{len(value)} records>"
    return repr(value)
