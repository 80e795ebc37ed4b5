"""Results as tables in notebooks, which call ``_repr_html_`` of what a cell returns."""

import html
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

ROWS = 5  # of a table of many
_CELL = "text-align: left"


def html_table(
    title: str, facts: Mapping[str, Any], columns: Mapping[str, Any] | None = None
) -> str:
    """Return an HTML table of facts, and below it the first rows of columns.

    facts: values by name; None is left out, and numbers get separators. columns: sequences of one
    length by name, arrays on a GPU among them; their numbers are ids more often than amounts.
    """
    rows = "".join(
        f'<tr><th style="{_CELL}">{_escape(name)}</th><td style="{_CELL}">{_text(value)}</td></tr>'
        for name, value in facts.items()
        if value is not None
    )
    table = f"<div><strong>{_escape(title)}</strong><table><tbody>{rows}</tbody></table>"
    if columns:
        table += _first_rows(columns)
    return f"{table}</div>"


class Tabular:
    """What notebooks show as a table: the fields that are numbers or text, and columns."""

    _hidden: ClassVar[tuple[str, ...]] = ()  # names of fields

    def _columns(self) -> Mapping[str, Any] | None:
        """Return columns to show below the fields, by name."""
        return None

    def _repr_html_(self) -> str:
        """Return the table, for notebooks."""
        facts = {
            name.replace("_", " "): value
            for name, value in vars(self).items()
            if isinstance(value, str | int | float) and name not in self._hidden
        }
        return html_table(type(self).__name__, facts, self._columns())


def _first_rows(columns: Mapping[str, Any]) -> str:
    total = len(next(iter(columns.values())))
    shown = {name: first_rows(values) for name, values in columns.items()}
    head = "".join(f"<th>{_escape(name)}</th>" for name in shown)
    body = "".join(
        f"<tr>{''.join(f'<td>{_escape(value)}</td>' for value in row)}</tr>"
        for row in zip(*shown.values(), strict=True)
    )
    rest = f"<p>{total - ROWS:,} more rows</p>" if total > ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def first_rows(values: Any) -> list[Any]:
    """Return as many values as are shown, as Python's own."""
    some = values[:ROWS]
    some = some.get() if hasattr(some, "get") and not isinstance(some, dict) else some
    return some.tolist() if isinstance(some, np.ndarray) else list(some)


def _text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        return f"{value:,.6g}"
    return _escape(value)


def _escape(value: Any) -> str:
    return html.escape(str(value))
