"""Tables for people to read."""

from pathlib import Path
from typing import Any

from mgraph.core.formatting import format_number
from mgraph.io.folder import writing_file


def markdown_table(table: Any) -> str:
    """Return a pandas data frame as a Markdown table, fractions with four digits."""
    rows = [list(table), ["---"] * len(table.columns)]
    rows += [
        [format_number(x) if isinstance(x, float) else str(x) for x in row] for row in table.values
    ]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


class TableReport:
    """Tables in a folder: each in a Parquet file of its own, and all in ``tables.md``.

    ``tables.md`` is written again with each table, so that it is complete if the next one fails.
    """

    def __init__(self, folder: Path, heading: str) -> None:
        """Begin one. heading: the first lines of ``tables.md``."""
        self.folder = folder
        self._sections: dict[int, str] = {-1: f"# {heading}\n"}

    def add(self, name: str, title: str, table: Any, shown: Any = None, place: int = 0) -> None:
        """Write a pandas data frame to its file, and it or ``shown`` to ``tables.md``.

        place: the position among the tables, 0 or more; a table replaces one at its position.
        """
        with writing_file(self.folder / f"{name}.parquet") as stream:
            stream.write(table.to_parquet())
        text = markdown_table(table if shown is None else shown)
        self._sections[place] = f"\n## {title}\n\n{text}"
        with writing_file(self.folder / "tables.md") as stream:
            stream.write("".join(self._sections[i] for i in sorted(self._sections)).encode())
