"""Plots of generators: the figures of the paper on cuPPA, for graphs of any size.

Source: "Novel parallel algorithms for fast multi-GPU-based generation of massive scale-free
networks", figures 3 and 7 to 16.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mgraph.io.figure import FigureFile, drawing, ink, label_curves

MARKERS = "os^Dv<>PX*ph"
_BINS_PER_DECADE = 12


def plot_degree_distributions(
    histograms: Mapping[str, tuple[np.ndarray, np.ndarray]],
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    title: str = "",
    alike: int = 1,
) -> Any:
    """Plot the share of vertices with each degree, on logarithmic axes (figures 3 and 7).

    histograms: (degree, count) by label. alike: the number of consecutive histograms that share a
    colour and differ by their markers. Degrees above 30 are binned, since few vertices have each.
    file: also write the figure there, as PNG, SVG or PDF. ax: the axes to draw on. Returns the
    axes. Raises UsageError without matplotlib.
    """
    with drawing(file, ax) as axes:
        for i, (label, (degree, count)) in enumerate(histograms.items()):
            x, share = _binned(degree, count / count.sum())
            marker = MARKERS[i % (alike if alike > 1 else len(MARKERS))]
            style = {"color": f"C{i // alike % 7}", "markerfacecolor": "none"}
            axes.plot(x, share, marker, ms=4, alpha=0.7, label=label, **style)
        axes.set(xlabel="degree k", ylabel="share of the vertices with degree k", title=title)
        axes.set(xscale="log", yscale="log")
        axes.legend()
    return axes


def plot_curves(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    x: str,
    y: str,
    title: str = "",
    logarithmic: str = "xy",
    dashed: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
    dashed_y: str = "",
    ideal: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
) -> Any:
    """Plot curves (xs, ys) by label (figures 8, 9, 11 to 16). x, y: the names of the axes.

    logarithmic: the logarithmic axes, of "xy"; an axis with values of 0 is linear near 0. dashed:
    further curves with the same labels, against a right axis named ``dashed_y``; linear vertical
    axes then begin at 0. ideal: curves that were not measured, drawn without markers. file, ax: as
    in ``plot_degree_distributions``. Returns the axes. Raises UsageError without matplotlib.
    """
    with drawing(file, ax) as axes:
        right: Any = axes.twinx() if dashed else None
        for i, (label, (xs, ys)) in enumerate(curves.items()):
            style = {"marker": MARKERS[i % len(MARKERS)], "ms": 4, "color": f"C{i % 7}"}
            axes.plot(xs, ys, "-", lw=1, label=label, **style)
            if dashed and label in dashed:
                right.plot(*dashed[label], "--", lw=1, markerfacecolor="none", **style)
        for label, (xs, ys) in (ideal or {}).items():
            axes.plot(xs, ys, "--", lw=1, label=label, color=ink())
        axes.set(xlabel=x, ylabel=y, title=title)
        for axis in logarithmic:
            values = np.concatenate(
                [np.asarray(curve["xy".index(axis)], float) for curve in curves.values()]
            )
            positive = values[values > 0]
            if positive.size == 0:
                continue
            scale = {"value": "log"}
            if positive.size < values.size:
                scale = {"value": "symlog", "linthresh": positive.min()}
            getattr(axes, f"set_{axis}scale")(**scale)
        steps = np.concatenate([np.asarray(xs, float) for xs, _ in curves.values()]) % 1
        if "x" not in logarithmic and not steps.any():
            axes.xaxis.get_major_locator().set_params(integer=True)
        if right is not None:
            if "y" not in logarithmic:
                axes.set_ylim(0, None)
            maximum = max(max(ys) for _, ys in (dashed or {}).values())
            right.set(ylabel=dashed_y, ylim=(0, 2 * maximum))  # keeps them below the other curves
            axes.legend()
        else:
            label_curves(axes)
    return axes


def plot_dots(
    values: Mapping[str, float],
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    x: str,
    title: str = "",
) -> Any:
    """Plot one dot per label on a logarithmic axis, with its value beside it (figure 10).

    file, ax: as in ``plot_degree_distributions``. Returns the axes. Raises UsageError without
    matplotlib.
    """
    with drawing(file, ax) as axes:
        labels = list(values)[::-1]
        axes.plot([values[label] for label in labels], labels, "o", color="C0")
        for label in labels:
            text_style = {"xytext": (8, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(f"{values[label]:.3g}", (values[label], label), **text_style)
        axes.set(xlabel=x, title=title, xscale="log")
        axes.set_xlim(min(values.values()) / 3, 8 * max(values.values()))  # space for the values
        axes.margins(y=0.15)
    return axes


def _binned(degree: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replace degrees above 30 by bins of equal logarithmic width, with the mean share of each."""
    is_positive = degree > 0
    degree, share = degree[is_positive], share[is_positive]
    if degree.size == 0 or degree[-1] <= 30:
        return degree, share
    is_small = degree <= 30
    decades = np.log10(degree[-1] / 30)
    edges = np.unique(
        np.geomspace(31, degree[-1] + 1, max(2, int(decades * _BINS_PER_DECADE))).astype(np.int64)
    )
    width = np.diff(edges)
    mean_share = np.histogram(degree[~is_small], edges, weights=share[~is_small])[0] / width
    centre = np.sqrt(edges[:-1] * (edges[1:] - 1.0))
    is_used = mean_share > 0
    return np.r_[degree[is_small], centre[is_used]], np.r_[share[is_small], mean_share[is_used]]
