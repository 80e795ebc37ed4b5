"""Figures by matplotlib, which is imported when the first one is drawn."""

import os
from typing import Any

from mgraph.errors import UsageError
from mgraph.installation import install_command
from mgraph.io.folder import check_file, writing_file

SUFFIXES = (".png", ".svg", ".pdf")


def _matplotlib() -> Any:
    try:
        from matplotlib import figure
    except ImportError as error:
        remedy = install_command("plot")
        raise UsageError(f"plots need matplotlib: {remedy}", remedy=remedy) from error
    return figure


def new_figure(columns: int = 1, rows: int = 1, **options: Any) -> tuple[Any, Any]:
    """Return a figure and its axes, as an array if several; UsageError without matplotlib."""
    size = 7 * min(columns, 2), 4.5 * rows
    figure = _matplotlib().Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def check_figure(file: str | os.PathLike[str]) -> None:
    """Raise UsageError or StorageError if ``save_figure`` would fail, as far as can be checked."""
    _matplotlib()
    if os.path.splitext(file)[1].lower() not in SUFFIXES:
        raise UsageError(f"a plot's file name must end in {', '.join(SUFFIXES)} (got {file})")
    check_file(file, overwrite=True)


def save_figure(figure: Any, file: str | os.PathLike[str]) -> None:
    """Write a figure, and create the folders above it; raises UsageError or StorageError."""
    check_figure(file)
    suffix = os.path.splitext(file)[1][1:].lower()
    with writing_file(file) as stream:
        figure.savefig(stream, format=suffix, dpi=150)
