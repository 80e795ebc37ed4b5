"""Tables for people to read."""

from typing import Any


def markdown_table(table: Any) -> str:
    """A pandas data frame's columns and rows in Markdown, fractions with four digits."""
    rows = [list(table), ["---"] * len(table.columns)]
    rows += [[f"{x:.4g}" if isinstance(x, float) else str(x) for x in row] for row in table.values]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)
