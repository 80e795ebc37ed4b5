"""Plots of traces: the figures of the paper on self-tuning shortest paths, on any graph.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018), figures 1, 2, 3 and 5. Parallelism is X2: here the arcs of an iteration's
frontier; the paper's text has them in one place and the vertices after advance in another. Where
the trace has waves, iterations of many hops on a GPU, X2 is the arcs of all their hops, more than
are relaxed at a time; the labels say so.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mgraph.io.figure import new_figure, save_figure

ARCS = "X2: arcs per iteration"
VERTICES = "X1: vertices per iteration"


def _label(quantity: str, traces: Iterable[Any]) -> str:
    """Return a quantity as a label, with a remark where iterations have many hops."""
    has_waves = any(trace["is_wave"].any() for trace in traces)
    return f"{quantity}\n(waves: of all their hops)" if has_waves else quantity


def format_short(number: float) -> str:
    """Return a number as a label."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def plot_profile(trace: Any, file: str | os.PathLike[str], *, title: str = "") -> None:
    """Plot the X2 of each iteration, and beside it how often each amount occurs (figure 1)."""
    figure, (left, right) = new_figure(2, sharey=True, width_ratios=[4, 1])
    figure.set_figwidth(8)
    work = np.maximum(trace["x2"], 1)
    median = np.median(work)
    left.plot(np.arange(len(work)), work, lw=0.8, drawstyle="steps-mid")
    bins = np.geomspace(work.min(), max(work.max(), work.min() * 1.01), 60)
    right.hist(work, bins, orientation="horizontal", alpha=0.6)
    for axes in (left, right):
        axes.axhline(median, color="black", lw=0.8, ls="--", label=f"median {median:,.0f}")
        axes.grid(alpha=0.3)
    left.set(xlabel="iteration", ylabel=_label(ARCS, [trace]), yscale="log", title=title)
    left.legend()
    right.set(xlabel="iterations with it")
    save_figure(figure, file)


def plot_parallelism_against_delta(
    sweeps: Mapping[str, Mapping[float, Any]], file: str | os.PathLike[str]
) -> None:
    """Plot mean parallelism against delta (figure 2). sweeps: near_far's traces by delta."""
    figure, axes = new_figure()
    for name, traces in sweeps.items():
        deltas = sorted(traces)
        axes.plot(deltas, [traces[delta]["x2"].mean() for delta in deltas], "o-", ms=4, label=name)
    shown = (trace for traces in sweeps.values() for trace in traces.values())
    label = f"mean of {_label(ARCS, shown)}"
    axes.set(xlabel="delta", ylabel=label, xscale="log", yscale="log")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    save_figure(figure, file)


def plot_frontier_against_delta(
    traces: Mapping[float, Any], file: str | os.PathLike[str], *, title: str = ""
) -> None:
    """Plot the frontier's vertices in each iteration, for several deltas (figure 3)."""
    figure, axes = new_figure()
    for delta in sorted(traces):
        frontier = np.maximum(traces[delta]["x1"], 1)
        axes.plot(
            np.arange(1, len(frontier) + 1), frontier, lw=0.8, label=f"delta {format_short(delta)}"
        )
    axes.set(xlabel="iteration", ylabel=_label(VERTICES, traces.values()), title=title)
    axes.set(xscale="log", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend()
    save_figure(figure, file)


def plot_distributions(
    traces: Mapping[str, Any],
    file: str | os.PathLike[str],
    *,
    set_points: Sequence[float] = (),
    title: str = "",
) -> None:
    """Plot the distribution of parallelism over the iterations of several searches (figure 5).

    set_points: marks for the first searches, one per search.
    """
    figure, axes = new_figure()
    work = [np.log10(np.maximum(trace["x2"], 1)) for trace in traces.values()]
    positions = np.arange(1, len(work) + 1)
    axes.violinplot(work, positions, showextrema=False, widths=0.8)
    axes.boxplot(work, positions=positions, widths=0.15, showfliers=False)
    for position, set_point in zip(positions, set_points, strict=False):
        axes.hlines(np.log10(set_point), position - 0.4, position + 0.4, "tab:red", lw=1.5)
    if len(set_points):
        axes.plot([], [], color="tab:red", label="set-point P")
        axes.legend()
    axes.set_xticks(positions, traces.keys())
    low, high = int(np.floor(axes.get_ylim()[0])), int(np.ceil(axes.get_ylim()[1]))
    powers = range(max(low, 0), high + 1)
    axes.set_yticks(powers, [f"$10^{power}$" for power in powers])
    axes.set(ylabel=_label(ARCS, traces.values()), title=title)
    axes.grid(alpha=0.3, axis="y")
    save_figure(figure, file)
