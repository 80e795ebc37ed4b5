"""Plots of traces: the figures of the paper on self-tuning shortest paths, on any graph.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018), figures 1, 2, 3 and 5. Parallelism is the paper's X2: here the arcs of an iteration's
frontier; the paper's text has them in one place and the vertices after advance in another. Where
the trace has waves, iterations of many hops on a GPU, X2 is the arcs of all their hops, more than
are relaxed at a time; the labels say so.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mgraph.io.figure import FigureFile, drawing, ink, label_curves, widen_flat

ARCS = "arcs per iteration"
VERTICES = "vertices per iteration"
_FEW = 40  # iterations that are seen one by one


def _label(quantity: str, traces: Iterable[Any]) -> str:
    """Return a quantity as a label, with a remark where iterations have many hops."""
    has_waves = any(trace["is_wave"].any() for trace in traces)
    return f"{quantity}\n(waves: of all their hops)" if has_waves else quantity


def format_short(number: float) -> str:
    """Return a number as a label."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def plot_profile(
    trace: Any,
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    title: str = "",
    set_point: float | None = None,
) -> Any:
    """Plot the arcs of each iteration, and beside it how often each amount occurs (figure 1).

    trace: of ``mgraph.ShortestPaths``. set_point: the arcs per iteration that the search aimed at,
    drawn as a line. file: also write the figure there, as PNG, SVG or PDF. ax: two axes to draw on.
    Returns the two axes. Raises UsageError without matplotlib.
    """
    options: Any = {"sharey": True, "width_ratios": [4, 1]}
    with drawing(file, ax, columns=2, size=(8, 4.2), **options) as (left, right):
        work = np.maximum(trace["x2"], 1)
        iterations = np.arange(1, len(work) + 1)
        if len(work) <= _FEW:
            left.plot(iterations, work, "o-", lw=0.8, color="C0")
        else:
            left.plot(iterations, work, lw=0.8, drawstyle="steps-mid", color="C0")
        bins = np.geomspace(work.min(), max(work.max(), work.min() * 1.01), 60)
        right.hist(work, bins, orientation="horizontal", alpha=0.7, color="C0")
        marks = [(float(np.median(work)), "median", "--", ink())]
        marks += [(set_point, "set-point", "-", "C1")] if set_point else []
        for level, name, dash, color in marks:
            left.axhline(level, color=color, lw=1, ls=dash, label=f"{name} {level:,.0f}")
            right.axhline(level, color=color, lw=1, ls=dash)
        left.set(xlabel="iteration", ylabel=_label(ARCS, [trace]), yscale="log", title=title)
        left.xaxis.get_major_locator().set_params(integer=True)
        widen_flat(left)
        left.legend(loc="best")
        right.set(xlabel="iterations")
        right.xaxis.get_major_locator().set_params(integer=True)
    return np.array([left, right], object)


def plot_parallelism_against_delta(
    sweeps: Mapping[str, Mapping[float, Any]],
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Plot mean parallelism against delta (figure 2). sweeps: near_far's traces by delta.

    file, ax: as in ``plot_profile``. Returns the axes. Raises UsageError without matplotlib.
    """
    with drawing(file, ax) as axes:
        for name, traces in sweeps.items():
            deltas = sorted(traces)
            axes.plot(deltas, [traces[delta]["x2"].mean() for delta in deltas], "o-", label=name)
        shown = (trace for traces in sweeps.values() for trace in traces.values())
        label = f"mean of {_label(ARCS, shown)}"
        axes.set(xlabel="delta, in units of weight", ylabel=label, xscale="log", yscale="log")
        axes.set_title(title)
        widen_flat(axes)
        label_curves(axes)
    return axes


def plot_frontier_against_delta(
    traces: Mapping[float, Any],
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Plot the frontier's vertices in each iteration, for several deltas (figure 3).

    Deltas with the same iterations share a curve; of curves that lie on each other the one below
    is the wider. file, ax: as in ``plot_profile``. Returns the axes. Raises UsageError without
    matplotlib.
    """
    curves: dict[bytes, list[float]] = {}
    for delta in sorted(traces):
        curves.setdefault(np.asarray(traces[delta]["x1"]).tobytes(), []).append(delta)
    with drawing(file, ax) as axes:
        longest, shortest = (find(map(len, traces.values())) for find in (max, min))
        for index, deltas in enumerate(curves.values()):
            frontier = np.maximum(traces[deltas[0]]["x1"], 1)
            label = "delta " + ", ".join(map(format_short, deltas))
            if len(deltas) > 2:
                label = f"delta {format_short(deltas[0])} to {format_short(deltas[-1])}"
            style = "o" if longest <= _FEW else ""
            axes.plot(
                np.arange(1, len(frontier) + 1), frontier, style + "-", label=label,
                lw=1 + 0.6 * (len(curves) - 1 - index), color=f"C{index}",
            )  # fmt: skip
        axes.set(xlabel="iteration", ylabel=_label(VERTICES, traces.values()), title=title)
        is_linear = longest <= max(_FEW, 10 * shortest)
        axes.set(xscale="linear" if is_linear else "log", yscale="log")
        if is_linear:
            axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend()
    return axes


def plot_distributions(
    traces: Mapping[str, Any],
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    set_points: Sequence[float] = (),
    title: str = "",
) -> Any:
    """Plot the distribution of parallelism over the iterations of several searches (figure 5).

    set_points: marks for the first searches, one per search. file, ax: as in ``plot_profile``.
    Returns the axes. Raises UsageError without matplotlib.
    """
    with drawing(file, ax) as axes:
        work = [np.log10(np.maximum(trace["x2"], 1)) for trace in traces.values()]
        positions = np.arange(1, len(work) + 1)
        axes.violinplot(work, positions, showextrema=False, widths=0.8)
        line = {"color": ink(), "lw": 1}
        axes.boxplot(
            work, positions=positions, widths=0.15, showfliers=False, boxprops=line,
            whiskerprops=line, capprops=line, medianprops={"color": "C2", "lw": 1.5},
        )  # fmt: skip
        for position, set_point in zip(positions, set_points, strict=False):
            axes.hlines(np.log10(set_point), position - 0.4, position + 0.4, "C1", lw=2)
        if len(set_points):
            axes.plot([], [], color="C1", lw=2, label="set-point P")
            axes.legend()
        axes.set_xticks(positions, list(traces))
        low, high = int(np.floor(axes.get_ylim()[0])), int(np.ceil(axes.get_ylim()[1]))
        powers = range(max(low, 0), high + 1)
        axes.set_yticks(powers, [f"$10^{{{power}}}$" for power in powers])
        axes.set(ylabel=_label(ARCS, traces.values()), title=title)
        axes.grid(visible=False, axis="x")
    return axes
