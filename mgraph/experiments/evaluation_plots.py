"""Plots of how fast and how good STAR is: speed-ups, the times of its parts, gaps to optima.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA", figures
5 and 6. The input is a table (a pandas data frame) with one row per run: graph, n, m (arcs), k,
sample, search, milliseconds, and milliseconds_initial_tree, _searches and _splits_and_merges.
search is auto, node, edge, or dijkstra, which is the paper's reference. Graphs of one name, which
differ in n, are joined by lines.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mgraph.errors import UsageError
from mgraph.experiments.trace_plots import format_short
from mgraph.io.figure import FigureFile, drawing, ink

REFERENCE = "dijkstra"
ON_GPU = ("auto", "node", "edge")
PARTS = ("initial_tree", "searches", "splits_and_merges")
MARKERS = "os^Dv<>P"


def steiner_speedups(runs: pd.DataFrame) -> pd.DataFrame:
    """Return speed-ups by graph, n, m and k: of each search over the reference, of edge over node.

    Each is the geometric mean of the samples' speed-ups, so that one over another is their ratio.
    Raises UsageError unless there are runs of the reference and of another search.
    """
    searches = [name for name in runs["search"].unique() if name != REFERENCE]
    if not searches or REFERENCE not in set(runs["search"]):
        raise UsageError(f"a speed-up needs runs of search {REFERENCE} and of another")
    index = ["graph", "n", "m", "k"]
    times = runs.pivot(index=[*index, "sample"], columns="search", values="milliseconds")
    logs = np.log(times)
    log_speedups = {f"{name} over reference": logs[REFERENCE] - logs[name] for name in searches}
    if {"node", "edge"} <= set(searches):
        log_speedups["edge over node"] = logs["node"] - logs["edge"]
    means = pd.DataFrame(log_speedups).groupby(level=index, sort=False).mean()
    return pd.DataFrame(np.exp(means))


def plot_steiner_cases(
    runs: pd.DataFrame,
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Plot which cases there are: the terminals against the graph's arcs, by graph (figure 5a).

    Graphs in folders, such as "SteinLib C/c01.stp", have one marker per folder. file: also write
    the figure there, as PNG, SVG or PDF. ax: the axes to draw on. Returns the axes. Raises
    UsageError without matplotlib.
    """
    with drawing(file, ax) as axes:
        groups = runs["graph"].map(lambda name: name.rpartition("/")[0] or name)
        cases = runs.assign(graph=groups)[["graph", "m", "k"]].drop_duplicates()
        marker = _markers(cases["graph"])
        for name, rows in cases.groupby("graph", sort=False):
            axes.plot(rows["m"], rows["k"], ls="", alpha=0.7, label=name, **marker[str(name)])
        axes.set(xlabel="arcs", ylabel="terminals k", xscale="log", title=title)
        axes.set_yscale("log", base=2)
        axes.legend()
    return axes


def plot_steiner_speedups(
    runs: pd.DataFrame,
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Plot speed-ups against the graph's size, by k, and below against k, by graph (figure 5).

    file: as in ``plot_steiner_cases``. ax: two rows of axes, a column for each of
    ``steiner_speedups``. Returns the axes, as an array. Raises UsageError without matplotlib.
    """
    speedups = steiner_speedups(runs)
    columns = len(speedups.columns)
    with drawing(
        file, ax, columns=columns, rows=2, size=(3.4 * columns + 2, 8), squeeze=False
    ) as panes:
        by_k: Any = speedups.groupby(level="k")
        by_graph: Any = speedups.groupby(level=["graph", "n"], sort=False)
        marker = _markers(runs["graph"])
        for name, (above, below) in zip(speedups, panes.T, strict=True):
            for index, (_, rows) in enumerate(by_k):
                for graph, line in rows[name].groupby(level="graph"):
                    line = line.sort_index(level="m")
                    above.plot(
                        line.index.get_level_values("m"), line, color=f"C{index}", **marker[graph]
                    )
            for index, ((graph, _), rows) in enumerate(by_graph):
                line = rows[name].sort_index(level="k")
                below.plot(
                    line.index.get_level_values("k"), line, color=f"C{index}", **marker[graph]
                )
            above.set(title=name, xlabel="arcs", xscale="log")
            below.set(xlabel="terminals k")
            _set_binary_scale(below, by_k.groups)
            for axes in (above, below):
                axes.axhline(1, color=ink(), lw=0.8)
        for group in (panes[:, :-1], panes[:, -1:]) if "edge over node" in speedups else (panes,):
            _share_scale(group.flat)
        for axes in panes[:, 0]:
            axes.set_ylabel("speed-up")
        above, below = panes[:, 0]
        lines = [
            above.plot([], [], color=f"C{index}", label=f"k = {k}")[0]
            for index, k in _enumerate_keys(by_k)
        ]
        lines += _marker_handles(above, marker)
        _add_legend(above, lines, "upper", own=ax is None)
        lines = [
            below.plot([], [], color=f"C{index}", label=f"{graph} {n:,}", **marker[graph])[0]
            for index, (graph, n) in _enumerate_keys(by_graph)
        ]
        _add_legend(below, lines, "lower", own=ax is None, title="graph, vertices")
        _add_title(panes[0, 0], title, own=ax is None)
    return panes


def plot_steiner_parts(
    runs: pd.DataFrame,
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    sizes: Sequence[int] = (),
    title: str = "",
) -> Any:
    """Plot the parts' mean times against vertices: a column per search, a row per k (figure 6).

    sizes: the k to show, by default the minimum and the maximum. file: as in
    ``plot_steiner_cases``. ax: as many axes. Returns the axes, as an array. Raises UsageError
    without matplotlib.
    """
    sizes = sizes or sorted({runs["k"].min(), runs["k"].max()})
    searches = list(runs["search"].unique())
    size = 3.4 * len(searches) + 2, 3.6 * len(sizes) + 0.6
    options = {"squeeze": False, "sharex": True, "sharey": "row"}
    with drawing(file, ax, columns=len(searches), rows=len(sizes), size=size, **options) as panes:
        marker = _markers(runs["graph"])
        columns = [f"milliseconds_{part}" for part in PARTS]
        for k, row in zip(sizes, panes, strict=True):
            for search, axes in zip(searches, row, strict=True):
                shown: Any = runs[(runs["k"] == k) & (runs["search"] == search)]
                for graph, rows in shown.groupby("graph"):
                    mean = rows.groupby("n")[columns].mean()
                    for index, column in enumerate(columns):
                        axes.plot(mean.index, mean[column], color=f"C{index}", **marker[graph])
                name = "reference" if search == REFERENCE else search
                axes.set(title=f"{name}, k = {k}", xscale="log")
            row[0].set(ylabel="ms per query", yscale="log")
            row[0].yaxis.set_major_formatter(_format_tick)
        for axes in panes[-1]:
            axes.set_xlabel("vertices")
        lines = [
            panes[0, 0].plot([], [], color=f"C{index}", label=part.replace("_", " "))[0]
            for index, part in enumerate(PARTS)
        ]
        lines += _marker_handles(panes[0, 0], marker)
        _add_legend(panes[0, -1], lines, "upper", own=ax is None)
        _add_title(panes[0, 0], title, own=ax is None)
    return panes


def plot_steiner_gaps(
    answers: pd.DataFrame,
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Plot gaps to the optima, and times, against k. answers: class, k, search, gap, milliseconds.

    STAR's gaps are the reference's: all its searches find trees of the same cost. Classes stand
    side by side where they share a k. file: as in ``plot_steiner_cases``. ax: two axes to draw on.
    Returns the two axes. Raises UsageError without matplotlib.
    """
    with drawing(file, ax, columns=2, size=(12, 4.5)) as (left, right):
        marker = _markers(answers["search"], ms=5, fillstyle="none", ls="")
        classes = list(answers["class"].unique())
        groups: Any = answers.groupby(["search", "class"], sort=False)
        for (search, name), rows in groups:
            index = classes.index(name)
            k = rows["k"] * 1.08 ** (index - (len(classes) - 1) / 2)
            if search not in ON_GPU:
                left.plot(k, 100 * rows["gap"], color=f"C{index}", **marker[search])
            right.plot(k, rows["milliseconds"], color=f"C{index}", **marker[search])
        left.set(ylabel="gap to the optimum, %")
        right.set(ylabel="ms per query", yscale="log")
        right.yaxis.set_major_formatter(_format_tick)
        for axes in (left, right):
            axes.set(xlabel="terminals k", xscale="log")
            axes.xaxis.set_major_formatter(_format_tick)
        lines = [
            left.plot([], [], color=f"C{index}", label=name)[0]
            for index, name in enumerate(classes)
        ]
        _add_legend(right, lines + _marker_handles(left, marker), "upper", own=ax is None)
        _add_title(left, title, own=ax is None)
    return np.array([left, right], object)


def _markers(names: Iterable[str], **style: Any) -> dict[str, dict[str, Any]]:
    """Return one style per name; they differ in the marker."""
    style = {"ms": 4, "lw": 1.2} | style
    return {
        name: {"marker": MARKERS[index % len(MARKERS)], **style}
        for index, name in enumerate(dict.fromkeys(names))
    }


def _marker_handles(axes: Any, marker: dict[str, dict[str, Any]]) -> list[Any]:
    """Return a legend's handles for the markers, none for a single one."""
    if len(marker) < 2:
        return []
    return [
        axes.plot([], [], color=ink(), label=name, **{**style, "ls": ""})[0]
        for name, style in marker.items()
    ]


def _add_legend(axes: Any, handles: list[Any], side: str, *, own: bool, **options: Any) -> None:
    """Add a legend beside the axes of a figure of our own, and on those of a caller's."""
    if own:
        axes.figure.legend(handles=handles, loc=f"outside right {side}", **options)
    else:
        axes.legend(handles=handles, **options)


def _add_title(axes: Any, title: str, *, own: bool) -> None:
    """Add a title above a figure of our own, or above the first axes of a caller's."""
    if title and own:
        axes.figure.suptitle(title)
    elif title:
        axes.set_title(f"{title}\n{axes.get_title()}".strip())


def _format_tick(number: float, _: int) -> str:
    """Return a tick's label."""
    return format_short(number)


def _enumerate_keys(groups: Any) -> Iterable[tuple[int, Any]]:
    return enumerate(key for key, _ in groups)


def _set_binary_scale(axes: Any, sizes: Iterable[int]) -> None:
    """Give an axis a binary logarithmic scale with one tick per size."""
    axes.set_xscale("log", base=2)
    ticks = list(sizes)
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.set_xticks([], minor=True)


def _share_scale(panes: Iterable[Any]) -> None:
    """Give axes of speed-ups the same range, logarithmic if that spans a power of ten."""
    panes = list(panes)
    for axes in panes:
        axes.set_yscale("log")
    low = min(axes.get_ylim()[0] for axes in panes)
    high = max(axes.get_ylim()[1] for axes in panes)
    for axes in panes:
        axes.set_yscale("log" if high > 10 * low else "linear")
        axes.set_ylim(low, high)
        axes.yaxis.set_major_formatter(_format_tick)
