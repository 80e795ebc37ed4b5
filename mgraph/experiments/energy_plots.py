"""Plots of time, power and energy of shortest-path searches over set-points and deltas.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018), figures 6 to 8.
"""

import math
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mgraph.experiments.trace_plots import format_short
from mgraph.io.figure import new_figure, save_figure


class Measured(NamedTuple):
    """One setting: near_far's delta or self_tuning's set-point, with what a query took.

    joules and watts (the mean while it ran): None where no energy was measured. clocks: at which
    the cores and the memory were held, in MHz (``1200/2619``), or empty where the GPU chose them.
    core_mhz, memory_mhz: the means of what NVML showed meanwhile.
    """

    method: str
    setting: float
    milliseconds: float
    joules: float | None = None
    watts: float | None = None
    clocks: str = ""
    core_mhz: float | None = None
    memory_mhz: float | None = None

    @property
    def energy_delay(self) -> float:
        """The energy-delay product of a query, in joule seconds; infinite without energy."""
        return math.inf if self.joules is None else self.joules * self.milliseconds / 1000


def select_baseline(measured: Sequence[Measured]) -> Measured:
    """Return what speed and power are compared with: near_far at the fastest of its deltas.

    With the clocks that the GPU chooses.
    """
    return min(
        (m for m in measured if m.method == "near_far" and not m.clocks),
        key=lambda m: m.milliseconds,
    )


def _group_by_method(measured: Sequence[Measured]) -> dict[str, list[Measured]]:
    """Return the measurements by method, and by clocks where these were held."""
    names = sorted({(m.clocks, m.method) for m in measured})
    by_setting = sorted(measured, key=lambda m: m.setting)
    return {
        f"{method} at {clocks} MHz" if clocks else method: [
            m for m in by_setting if (m.clocks, m.method) == (clocks, method)
        ]
        for clocks, method in names
    }


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
        name = "P" if method.startswith("self_tuning") else "delta"
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
    groups = _group_by_method([m for m in measured if m.watts and m.method == "self_tuning"])
    for name, points in groups.items():
        axes.plot([m.setting for m in points], [m.watts for m in points], "o-", ms=5, label=name)
    if idle is not None:
        axes.axhline(idle, color="black", lw=0.8, ls="--", label=f"idle, {idle:.0f} W")
    if idle is not None or len(groups) > 1:
        axes.legend()
    axes.set(
        xlabel="set-point P, arcs per iteration", ylabel="mean power, W", xscale="log", title=title
    )
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    save_figure(figure, file)


def plot_energy_against_set_point(
    measured: Sequence[Measured], file: str | os.PathLike[str], *, title: str = ""
) -> None:
    """Plot energy and the energy-delay product per query against the set-point, side by side."""
    figure, panes = new_figure(columns=2)
    groups = _group_by_method([m for m in measured if m.joules and m.method == "self_tuning"])
    quantities: list[tuple[str, Callable[[Measured], float]]] = [
        ("energy per query, J", lambda m: m.joules or 0.0),
        ("energy-delay product, J s", lambda m: m.energy_delay),
    ]
    for axes, (label, quantity) in zip(panes, quantities, strict=True):
        for name, points in groups.items():
            values = [quantity(m) for m in points]
            axes.plot([m.setting for m in points], values, "o-", ms=5, label=name)
        least = min((m for points in groups.values() for m in points), key=quantity)
        axes.annotate(
            f"least: P {format_short(least.setting)}", (least.setting, quantity(least)),
            xytext=(4, -12), textcoords="offset points", fontsize=8,
        )  # fmt: skip
        axes.set(xlabel="set-point P, arcs per iteration", ylabel=label, xscale="log", title=title)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        if len(groups) > 1:
            axes.legend()
    save_figure(figure, file)


def plot_time(
    measured: Sequence[Measured], file: str | os.PathLike[str], *, title: str = ""
) -> None:
    """Plot time per query against near_far's delta and self_tuning's set-point, side by side."""
    figure, panes = new_figure(columns=2)
    for axes, method in zip(panes, ("near_far", "self_tuning"), strict=True):
        name = "set-point P, arcs per iteration" if method == "self_tuning" else "delta"
        groups = _group_by_method([m for m in measured if m.method == method])
        for label, points in groups.items():
            times = [m.milliseconds for m in points]
            axes.plot([m.setting for m in points], times, "o-", ms=5, label=label)
        axes.set(
            xlabel=name, ylabel="ms per query", xscale="log", title=f"{title} {method}".strip()
        )
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        if len(groups) > 1:
            axes.legend()
    top = max(axes.get_ylim()[1] for axes in panes)
    for axes in panes:
        axes.set_ylim(top=top)
    save_figure(figure, file)
