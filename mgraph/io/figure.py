"""Figures by matplotlib, which is imported when the first one is drawn, in one style.

Colours are those of M. Okabe and K. Ito, which people with any colour vision tell apart; labels
stand at the ends of curves where there is space, so that no legend has to be looked up.
"""

import contextlib
import contextvars
import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from mgraph.errors import UsageError
from mgraph.installation import install_command
from mgraph.io.folder import check_file, writing_file

SUFFIXES = (".png", ".svg", ".pdf")
FigureFile: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Theme = Literal["light", "dark"]
_COLORS = {
    "light": ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#6E6E6E"),
    "dark": ("#56B4E9", "#E69F00", "#2FC89C", "#E7A6CB", "#F0E442", "#FF8A4C", "#B0B0B0"),
}
_INKS = {"light": ("#22272E", "#FFFFFF", "#8A929C"), "dark": ("#D6DBE1", "#14181E", "#6B7480")}
_STYLE = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.which": "major",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",  # which matplotlib brings, so that figures look alike everywhere
    "font.size": 9.5,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": "small",
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "svg.hashsalt": "mgraph",  # the same figure is the same file
}
_theme: contextvars.ContextVar[Theme] = contextvars.ContextVar("theme", default="light")


@contextlib.contextmanager
def plot_theme(theme: Theme) -> Iterator[None]:
    """Draw light or dark figures for the length of a ``with`` block.

    Parameters
    ----------
    theme : {"light", "dark"}
        For a white page, which is the default, or for a dark one.

    Raises
    ------
    UsageError
        If there is no such theme.

    Examples
    --------
    >>> with mgraph.experiments.plot_theme("dark"):
    ...     pass  # plot here
    """
    if theme not in _COLORS:
        raise UsageError(f"`theme` must be light or dark (got {theme!r})")
    token = _theme.set(theme)
    try:
        yield
    finally:
        _theme.reset(token)


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        remedy = install_command("plot")
        raise UsageError(f"plots need matplotlib: {remedy}", remedy=remedy) from error
    return matplotlib


def _style(theme: Theme) -> dict[str, Any]:
    """Return matplotlib's parameters for a theme."""
    ink, paper, faint = _INKS[theme]
    texts = "text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"
    return {
        **_STYLE,
        **dict.fromkeys(texts, ink),
        "axes.edgecolor": faint,
        "axes.facecolor": paper,
        "axes.prop_cycle": _matplotlib().cycler(color=_COLORS[theme]),
        "figure.facecolor": paper,
        "grid.color": faint,
        "savefig.facecolor": paper,
    }


@contextlib.contextmanager
def drawing(
    file: FigureFile | None = None,
    ax: Any = None,
    *,
    columns: int = 1,
    rows: int = 1,
    size: tuple[float, float] | None = None,
    **options: Any,
) -> Iterator[Any]:
    """Yield axes to draw on; at the end, write their figure to the file, if there is one.

    file: or several files, such as a PNG and an SVG. ax: the caller's axes, as many as columns
    times rows; lines that refer to no data get colours that suit their background. Else a figure is
    made: one that a notebook shows, or, for a file, one that nothing else refers to. size: inches.
    options: of ``Figure.subplots``. Raises UsageError without matplotlib, and for a wrong number of
    axes.
    """
    matplotlib = _matplotlib()
    if file is not None:
        check_figure(file)
    if ax is not None:
        axes = np.asarray(ax, object)
        if axes.size != columns * rows:
            expected = "axes" if columns * rows == 1 else f"{columns * rows} axes"
            raise UsageError(f"`ax` must be {expected} of matplotlib (got {axes.size})")
        squeeze = options.get("squeeze", True)
        axes = axes.reshape(rows, columns)
        with _suiting(axes[0, 0].get_facecolor()):
            yield (axes.squeeze() if columns * rows > 1 else axes[0, 0]) if squeeze else axes
        if file is not None:
            save_figure(axes[0, 0].figure, file)
        return
    size = size or (7 * min(columns, 2), 4.5 * rows)
    style = _style(_theme.get())
    if file is None:  # by pyplot, which sets parameters that are to stay set: not in the context
        from matplotlib import pyplot

        figure = pyplot.figure(
            figsize=size, layout="constrained", facecolor=style["figure.facecolor"]
        )
    with matplotlib.rc_context(style):
        if file is not None:
            from matplotlib.figure import Figure

            figure = Figure(figsize=size, layout="constrained")
        yield figure.subplots(rows, columns, **options)
        if file is not None:
            save_figure(figure, file)


@contextlib.contextmanager
def _suiting(background: Any) -> Iterator[None]:
    """Let ``ink``, ``faint_ink`` and ``value_colors`` be those of the theme that suits it."""
    red, green, blue, alpha = background
    is_dark = alpha > 0.5 and 0.3 * red + 0.59 * green + 0.11 * blue < 0.5
    with plot_theme("dark" if is_dark else "light"):
        text, _, faint = _INKS[_theme.get()]
        with _matplotlib().rc_context({"text.color": text, "axes.edgecolor": faint}):
            yield


def ink() -> str:
    """Return the colour of text, for lines that refer to no data."""
    color: str = _matplotlib().rcParams["text.color"]
    return color


def faint_ink() -> str:
    """Return the colour of the axes, for what stands behind the data."""
    color: str = _matplotlib().rcParams["axes.edgecolor"]
    return color


def value_colors() -> Any:
    """Return the colours of values, from low to high, without those that the page has as well."""
    from matplotlib.colors import ListedColormap

    low, high = {"light": (0.0, 0.92), "dark": (0.22, 1.0)}[_theme.get()]
    return ListedColormap(_matplotlib().colormaps["viridis"](np.linspace(low, high, 256)))


def label_curves(axes: Any, *, points: float = 11, **options: Any) -> None:
    """Write each curve's label at its right end, in its colour, above one that is in the way.

    points: between two labels. options: of the text. Curves without a label get none.
    """
    ends = []
    for line in axes.get_lines():
        x, y = (np.asarray(values, float) for values in line.get_data())
        is_drawn = np.isfinite(x) & np.isfinite(y)
        if line.get_label().startswith("_") or not is_drawn.any():
            continue
        last = np.flatnonzero(is_drawn)[np.argmax(x[is_drawn])]
        ends.append((axes.transData.transform((x[last], y[last]))[1], x[last], y[last], line))
    scale = 72 / axes.figure.dpi
    height = -np.inf
    for place, x, y, line in sorted(ends, key=lambda end: end[:3]):
        height = max(place * scale, height + points)
        axes.annotate(
            line.get_label(), (x, y), xytext=(6, height - place * scale),
            textcoords="offset points", va="center", color=line.get_color(),
            annotation_clip=False, **options,
        )  # fmt: skip


def widen_flat(axes: Any, *, decades: float = 0.5) -> None:
    """Give a logarithmic vertical axis a span of its own, so that noise is not shown as a cliff."""
    low, high = axes.get_ylim()
    if low > 0 and np.log10(high / low) < decades:
        middle, half = np.sqrt(low * high), 10 ** (decades / 2)
        axes.set_ylim(middle / half, middle * half)


def figure_files(folder: str | os.PathLike[str], name: str) -> list[str]:
    """Return the files of a figure of that name in a folder: a PNG and an SVG."""
    return [os.path.join(folder, f"{name}{suffix}") for suffix in (".png", ".svg")]


def check_figure(file: FigureFile) -> None:
    """Raise UsageError or StorageError if ``save_figure`` would fail, as far as can be checked."""
    _matplotlib()
    for one in _files(file):
        if os.path.splitext(one)[1].lower() not in SUFFIXES:
            raise UsageError(f"a plot's file name must end in {', '.join(SUFFIXES)} (got {one})")
        check_file(one, overwrite=True)


def save_figure(figure: Any, file: FigureFile) -> None:
    """Write a figure, and create the folders above it; raises UsageError or StorageError."""
    check_figure(file)
    for one in _files(file):
        suffix = os.path.splitext(one)[1][1:].lower()
        options = {"metadata": {"Date": None}} if suffix == "svg" else {}
        with writing_file(one) as stream:
            figure.savefig(stream, format=suffix, dpi=150, **options)


def _files(file: FigureFile) -> Sequence[str | os.PathLike[str]]:
    return [file] if isinstance(file, str | os.PathLike) else file
