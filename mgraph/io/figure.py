"""Figures by matplotlib, which is imported when one is drawn."""

import os
from typing import Any

from mgraph.errors import UsageError
from mgraph.installation import install_command
from mgraph.io.folder import check_file, writing_file

KINDS = (".png", ".svg", ".pdf")


def _matplotlib() -> Any:
    try:
        from matplotlib import figure
    except ImportError as error:
        raise UsageError(f"plots need matplotlib: {install_command('plot')}") from error
    return figure


def new_figure(columns: int = 1, rows: int = 1, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes, an array if they are several; UsageError without matplotlib."""
    size = 7 * min(columns, 2), 4.5 * rows
    figure = _matplotlib().Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def check_figure(file: str | os.PathLike[str]) -> None:
    """Raise UsageError or StorageError where ``save_figure`` will fail, as far as can be told."""
    _matplotlib()
    if os.path.splitext(file)[1].lower() not in KINDS:
        raise UsageError(f"a plot's name ends in {', '.join(KINDS)}, and {file} does not")
    check_file(file, overwrite=True)


def save_figure(figure: Any, file: str | os.PathLike[str]) -> None:
    """Write a figure, and the folders above it. Raises UsageError, StorageError."""
    check_figure(file)
    kind = os.path.splitext(file)[1][1:].lower()
    with writing_file(file) as stream:
        figure.savefig(stream, format=kind, dpi=150)
