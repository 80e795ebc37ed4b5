"""Figures by matplotlib, which is imported when one is drawn."""

import os
from typing import Any

from mgraph.errors import UsageError


def new_figure(columns: int = 1, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes, an array for several columns; UsageError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("plots need matplotlib: pip install 'mgraph[plot]'") from error
    figure = Figure(figsize=(7 * min(columns, 2), 4.5), layout="constrained")
    return figure, figure.subplots(1, columns, **options)


def check_figure(file: str | os.PathLike[str]) -> None:
    """Raise UsageError where ``save_figure`` will fail, as far as can be told before drawing."""
    from mgraph.io.folder import Folder

    known = new_figure()[0].canvas.get_supported_filetypes()
    kind = os.path.splitext(file)[1].removeprefix(".").lower()
    if kind not in known:
        raise UsageError(f"the end of a plot's name tells its format, as .png does, not {file}")
    if os.path.isdir(file):
        raise UsageError(f"{file} is a folder; give the name of a file to draw")
    Folder(os.path.dirname(os.path.abspath(file))).check_writable()


def save_figure(figure: Any, file: str | os.PathLike[str]) -> None:
    """Write a figure, and the folders above it; UsageError for a kind of file that is none."""
    check_figure(file)
    os.makedirs(os.path.dirname(os.path.abspath(file)), exist_ok=True)
    try:
        figure.savefig(file, dpi=150)
    except (ValueError, OSError) as error:
        raise UsageError(f"{file} cannot be drawn: {error}") from error
