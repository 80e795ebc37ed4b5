"""Plots of how fast and how good STAR is: speed-ups, the times of its parts, gaps to optima.

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA", figures
5 and 6. What is drawn is a table (a pandas data frame) with a row a run: graph, n, m (arcs), k,
sample, search, milliseconds, and milliseconds_initial_tree, _searches and _splits_and_merges.
search is auto, node, edge, or dijkstra, which is the paper's reference. Graphs of one name, which
differ in n, are joined by lines.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mgraph.errors import UsageError
from mgraph.experiments.trace_plots import short
from mgraph.io.figure import new_figure, save_figure

REFERENCE = "dijkstra"
ON_GPU = ("auto", "node", "edge")
PARTS = ("initial_tree", "searches", "splits_and_merges")
MARKERS = "os^Dv<>P"


def steiner_speedups(runs: pd.DataFrame) -> pd.DataFrame:
    """Speed-ups by graph, n, m and k: of each search over the reference, and of edge over node.

    Each is the geometric mean of the samples' speed-ups, so that one over another is their ratio.
    Raises UsageError where there are no runs of the reference, or of nothing else.
    """
    searches = [name for name in runs["search"].unique() if name != REFERENCE]
    if not searches or REFERENCE not in set(runs["search"]):
        raise UsageError(f"a speed-up needs runs of search {REFERENCE} and of another")
    index = ["graph", "n", "m", "k"]
    times = runs.pivot(index=[*index, "sample"], columns="search", values="milliseconds")
    logs = np.log(times)
    found = {f"{name} over reference": logs[REFERENCE] - logs[name] for name in searches}
    if {"node", "edge"} <= set(searches):
        found["edge over node"] = logs["node"] - logs["edge"]
    means = pd.DataFrame(found).groupby(level=index, sort=False).mean()
    return pd.DataFrame(np.exp(means))


def plot_steiner_speedups(
    runs: pd.DataFrame, file: str | os.PathLike[str], *, title: str = ""
) -> None:
    """Figure 5: speed-ups against the graph's size, by k, and below against k, by graph."""
    speedups = steiner_speedups(runs)
    figure, panes = new_figure(len(speedups.columns), 2, squeeze=False)
    figure.set_size_inches(3.4 * len(speedups.columns) + 2, 8)
    by_k: Any = speedups.groupby(level="k")
    by_graph: Any = speedups.groupby(level=["graph", "n"], sort=False)
    marker = _markers(runs["graph"])
    for name, (above, below) in zip(speedups, panes.T, strict=True):
        for at, (_, rows) in enumerate(by_k):
            for graph, line in rows[name].groupby(level="graph"):
                line = line.sort_index(level="m")
                above.plot(line.index.get_level_values("m"), line, color=f"C{at}", **marker[graph])
        for at, ((graph, _), rows) in enumerate(by_graph):
            line = rows[name].sort_index(level="k")
            below.plot(line.index.get_level_values("k"), line, color=f"C{at}", **marker[graph])
        above.set(title=name, xlabel="arcs", xscale="log")
        below.set(xlabel="terminals k")
        _by_twos(below, by_k.groups)
        for axes in (above, below):
            axes.axhline(1, color="black", lw=0.8)
    for alike in (panes[:, :-1], panes[:, -1:]) if "edge over node" in speedups else (panes,):
        _same_scale(alike.flat)
    for axes in panes[:, 0]:
        axes.set_ylabel("speed-up")
    above, below = panes[:, 0]
    lines = [above.plot([], [], color=f"C{at}", label=f"k = {k}")[0] for at, k in _counted(by_k)]
    lines += _keys(above, marker)
    figure.legend(handles=lines, loc="outside right upper")
    lines = [
        below.plot([], [], color=f"C{at}", label=f"{graph} {n:,}", **marker[graph])[0]
        for at, (graph, n) in _counted(by_graph)
    ]
    figure.legend(handles=lines, title="graph, vertices", loc="outside right lower")
    figure.suptitle(title)
    save_figure(figure, file)


def plot_steiner_parts(
    runs: pd.DataFrame,
    file: str | os.PathLike[str],
    *,
    sizes: Sequence[int] = (),
    title: str = "",
) -> None:
    """Figure 6: mean times of the parts against vertices, a column a search, a row a k.

    sizes: the k to show, by default the least and the largest.
    """
    sizes = sizes or sorted({runs["k"].min(), runs["k"].max()})
    searches = list(runs["search"].unique())
    figure, panes = new_figure(len(searches), len(sizes), squeeze=False, sharex=True, sharey="row")
    figure.set_size_inches(3.4 * len(searches) + 2, 3.6 * len(sizes) + 0.6)
    marker = _markers(runs["graph"])
    columns = [f"milliseconds_{part}" for part in PARTS]
    for k, row in zip(sizes, panes, strict=True):
        for search, axes in zip(searches, row, strict=True):
            shown: Any = runs[(runs["k"] == k) & (runs["search"] == search)]
            for graph, rows in shown.groupby("graph"):
                mean = rows.groupby("n")[columns].mean()
                for at, column in enumerate(columns):
                    axes.plot(mean.index, mean[column], color=f"C{at}", **marker[graph])
            name = "reference" if search == REFERENCE else search
            axes.set(title=f"{name}, k = {k}", xscale="log")
            axes.grid(alpha=0.3)
        row[0].set(ylabel="ms a query", yscale="log")
        row[0].yaxis.set_major_formatter(_as_short)
    for axes in panes[-1]:
        axes.set_xlabel("vertices")
    lines = [
        panes[0, 0].plot([], [], color=f"C{at}", label=part.replace("_", " "))[0]
        for at, part in enumerate(PARTS)
    ]
    figure.legend(handles=lines + _keys(panes[0, 0], marker), loc="outside right upper")
    figure.suptitle(title)
    save_figure(figure, file)


def plot_steiner_gaps(
    answers: pd.DataFrame, file: str | os.PathLike[str], *, title: str = ""
) -> None:
    """Gaps to the optima, and times, against k. answers: class, k, search, gap, milliseconds.

    STAR's gaps are the reference's: all its searches find trees of the same cost. Classes stand
    side by side where they share a k.
    """
    figure, (left, right) = new_figure(2)
    figure.set_figwidth(12)
    marker = _markers(answers["search"], ms=5, fillstyle="none", ls="")
    classes = list(answers["class"].unique())
    groups: Any = answers.groupby(["search", "class"], sort=False)
    for (search, name), rows in groups:
        at = classes.index(name)
        k = rows["k"] * 1.08 ** (at - (len(classes) - 1) / 2)
        if search not in ON_GPU:
            left.plot(k, 100 * rows["gap"], color=f"C{at}", **marker[search])
        right.plot(k, rows["milliseconds"], color=f"C{at}", **marker[search])
    left.set(ylabel="gap to the optimum, %")
    right.set(ylabel="ms a query", yscale="log")
    right.yaxis.set_major_formatter(_as_short)
    for axes in (left, right):
        axes.set(xlabel="terminals k", xscale="log")
        axes.xaxis.set_major_formatter(_as_short)
        axes.grid(alpha=0.3)
    lines = [left.plot([], [], color=f"C{at}", label=name)[0] for at, name in enumerate(classes)]
    figure.legend(handles=lines + _keys(left, marker), loc="outside right upper")
    figure.suptitle(title)
    save_figure(figure, file)


def _markers(names: Iterable[str], **style: Any) -> dict[str, dict[str, Any]]:
    """A style for each name, which differ in the marker."""
    style = {"ms": 4, "lw": 1.2} | style
    return {
        name: {"marker": MARKERS[at % len(MARKERS)], **style}
        for at, name in enumerate(dict.fromkeys(names))
    }


def _keys(axes: Any, marker: dict[str, dict[str, Any]]) -> list[Any]:
    """A legend's lines for the markers, none for one alone."""
    if len(marker) < 2:
        return []
    return [
        axes.plot([], [], color="black", label=name, **{**style, "ls": ""})[0]
        for name, style in marker.items()
    ]


def _as_short(number: float, _: int) -> str:
    """A tick's label."""
    return short(number)


def _counted(groups: Any) -> Iterable[tuple[int, Any]]:
    return enumerate(key for key, _ in groups)


def _by_twos(axes: Any, sizes: Iterable[int]) -> None:
    """A logarithmic axis of k with a tick at each."""
    axes.set_xscale("log", base=2)
    ticks = list(sizes)
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.set_xticks([], minor=True)


def _same_scale(panes: Iterable[Any]) -> None:
    """Give axes of speed-ups the same range, logarithmic if that spans a power of ten."""
    panes = list(panes)
    for axes in panes:
        axes.set_yscale("log")
    low = min(axes.get_ylim()[0] for axes in panes)
    high = max(axes.get_ylim()[1] for axes in panes)
    for axes in panes:
        axes.set_yscale("log" if high > 10 * low else "linear")
        axes.set_ylim(low, high)
        axes.yaxis.set_major_formatter(_as_short)
        axes.grid(alpha=0.3)
