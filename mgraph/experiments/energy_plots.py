"""Plots of time and energy of shortest-path searches over set-points and deltas.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018), figures 6 to 8.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

from mgraph.experiments.trace_plots import format_short
from mgraph.io.figure import new_figure, save_figure


class Measured(NamedTuple):
    """One setting: near_far's delta or self_tuning's set-point, with what a query took.

    joules and watts (the mean while it ran): None where no energy was measured.
    """

    method: str
    setting: float
    milliseconds: float
    joules: float | None = None
    watts: float | None = None


def select_baseline(measured: Sequence[Measured]) -> Measured:
    """Return what speed and power are compared with: near_far at the fastest of its deltas."""
    return min((m for m in measured if m.method == "near_far"), key=lambda m: m.milliseconds)


def _group_by_method(measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    methods = sorted({m.method for m in measured})
    by_setting = sorted(measured, key=lambda m: m.setting)
    return {method: [m for m in by_setting if m.method == method] for method in methods}


def plot_speedup_against_power(
    measured: Sequence[Measured], file: str | os.PathLike[str], *, title: str = ""
) -> None:
    """Plot speed-up against relative power, both to near_far's best delta (figures 6 and 7)."""
    best = select_baseline(measured)
    figure, axes = new_figure()
    for method, points in _group_by_method([m for m in measured if m.watts]).items():
        assert best.watts
        power = [m.watts / best.watts for m in points if m.watts]
        speed = [best.milliseconds / m.milliseconds for m in points]
        name = "P" if method == "self_tuning" else "delta"
        axes.plot(power, speed, "o-", ms=5, lw=0.6, label=f"{method}, several {name}")
        for x, y, m in zip(power, speed, points, strict=True):
            label = f"{name} {format_short(m.setting)}"
            axes.annotate(label, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7)
    axes.axhline(1, color="black", lw=0.8)
    axes.axvline(1, color="black", lw=0.8)
    axes.margins(0.12)  # space for the last label
    axes.set(xlabel="power, relative", ylabel="speed-up", title=title)
    axes.grid(alpha=0.3)
    axes.legend(title=f"beside near_far, delta {format_short(best.setting)}")
    save_figure(figure, file)


def plot_power_against_set_point(
    measured: Sequence[Measured],
    file: str | os.PathLike[str],
    *,
    idle: float | None = None,
    title: str = "",
) -> None:
    """Plot mean power against the set-point (figure 8). idle: the device's watts without work."""
    figure, axes = new_figure()
    points = [m for m in _group_by_method(measured)["self_tuning"] if m.watts]
    axes.plot([m.setting for m in points], [m.watts for m in points], "o-", ms=5)
    if idle is not None:
        axes.axhline(idle, color="black", lw=0.8, ls="--", label=f"idle, {idle:.0f} W")
        axes.legend()
    axes.set(
        xlabel="set-point P, arcs per iteration", ylabel="mean power, W", xscale="log", title=title
    )
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    save_figure(figure, file)


def plot_time(
    measured: Sequence[Measured], file: str | os.PathLike[str], *, title: str = ""
) -> None:
    """Plot time per query against near_far's delta and self_tuning's set-point, side by side."""
    figure, panes = new_figure(columns=2)
    for axes, (method, points) in zip(panes, _group_by_method(measured).items(), strict=False):
        name = "set-point P, arcs per iteration" if method == "self_tuning" else "delta"
        axes.plot([m.setting for m in points], [m.milliseconds for m in points], "o-", ms=5)
        axes.set(
            xlabel=name, ylabel="ms per query", xscale="log", title=f"{title} {method}".strip()
        )
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    top = max(axes.get_ylim()[1] for axes in panes)
    for axes in panes:
        axes.set_ylim(top=top)
    save_figure(figure, file)
