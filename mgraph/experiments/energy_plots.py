"""Plots of time, power and energy of shortest-path searches over set-points and deltas.

Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm"
(IPDPS 2018), figures 6 to 8.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mgraph.experiments.trace_plots import format_short
from mgraph.io.figure import FigureFile, drawing, ink

SET_POINT = "set-point P, arcs per iteration"


class Measured(NamedTuple):
    """One setting: near_far's delta or self_tuning's set-point, with what a query took.

    joules and watts (the mean while it ran): None where no energy was measured. clocks: at which
    the cores and the memory were held, in MHz (``1200/2619``), or empty where the GPU chose them.
    core_mhz, memory_mhz: the means of what NVML showed meanwhile. low, high: milliseconds that a
    quarter of the repetitions fell below, and a quarter exceeded.
    """

    method: str
    setting: float
    milliseconds: float
    joules: float | None = None
    watts: float | None = None
    clocks: str = ""
    core_mhz: float | None = None
    memory_mhz: float | None = None
    low: float | None = None
    high: float | None = None

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
    measured: Sequence[Measured],
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Plot speed-up against relative power, both to near_far's best delta (figures 6 and 7).

    file: also write the figure there, as PNG, SVG or PDF. ax: the axes to draw on. Returns the
    axes. Raises UsageError without matplotlib.
    """
    best = select_baseline(measured)
    with drawing(file, ax) as axes:
        for method, points in _group_by_method([m for m in measured if m.watts]).items():
            assert best.watts
            power = [m.watts / best.watts for m in points if m.watts]
            speed = [best.milliseconds / m.milliseconds for m in points]
            name = "P" if method.startswith("self_tuning") else "delta"
            axes.plot(power, speed, "o-", lw=0.6, label=f"{method}, several {name}")
            for x, y, m in zip(power, speed, points, strict=True):
                label = f"{name} {format_short(m.setting)}"
                axes.annotate(label, (x, y), xytext=(4, 4), textcoords="offset points", fontsize=7)
        axes.axhline(1, color=ink(), lw=0.8)
        axes.axvline(1, color=ink(), lw=0.8)
        axes.margins(0.12)  # space for the last label
        axes.set(xlabel="power, relative to near_far's", ylabel="speed-up", title=title)
        axes.legend(title=f"near_far at its best, delta {format_short(best.setting)}, is 1, 1")
    return axes


def plot_power_against_set_point(
    measured: Sequence[Measured],
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    idle: float | None = None,
    title: str = "",
) -> Any:
    """Plot mean power against the set-point (figure 8). idle: the device's watts without work.

    file, ax: as in ``plot_speedup_against_power``. Returns the axes. Raises UsageError without
    matplotlib.
    """
    groups = _group_by_method([m for m in measured if m.watts and m.method == "self_tuning"])
    with drawing(file, ax) as axes:
        for name, points in groups.items():
            axes.plot([m.setting for m in points], [m.watts for m in points], "o-", label=name)
        if idle is not None:
            axes.axhline(idle, color=ink(), lw=0.8, ls="--", label=f"idle, {idle:.0f} W")
        if idle is not None or len(groups) > 1:
            axes.legend()
        axes.set(xlabel=SET_POINT, ylabel="mean power, W", xscale="log", title=title)
        axes.set_ylim(bottom=0)
    return axes


def plot_energy_against_set_point(
    measured: Sequence[Measured],
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Plot energy and the energy-delay product per query against the set-point, side by side.

    file: as in ``plot_speedup_against_power``. ax: two axes to draw on. Returns the two axes.
    Raises UsageError without matplotlib.
    """
    groups = _group_by_method([m for m in measured if m.joules and m.method == "self_tuning"])
    quantities: list[tuple[str, Callable[[Measured], float]]] = [
        ("energy per query, J", lambda m: m.joules or 0.0),
        ("energy-delay product, J s", lambda m: m.energy_delay),
    ]
    with drawing(file, ax, columns=2, size=(11, 4.5)) as panes:
        for axes, (label, quantity) in zip(panes, quantities, strict=True):
            for name, points in groups.items():
                values = [quantity(m) for m in points]
                axes.plot([m.setting for m in points], values, "o-", label=name)
            least = min((m for points in groups.values() for m in points), key=quantity)
            axes.annotate(
                f"min at P {format_short(least.setting)}", (least.setting, quantity(least)),
                xytext=(4, -12), textcoords="offset points", fontsize=8,
            )  # fmt: skip
            axes.set(xlabel=SET_POINT, ylabel=label, xscale="log", title=title)
            axes.set_ylim(bottom=0)
            if len(groups) > 1:
                axes.legend()
    return panes


def plot_time(
    measured: Sequence[Measured],
    file: FigureFile | None = None,
    *,
    ax: Any = None,
    title: str = "",
) -> Any:
    """Plot time per query against near_far's delta and self_tuning's set-point, side by side.

    Bars reach from quartile to quartile, where they are known. file, ax: as in
    ``plot_energy_against_set_point``. Returns the two axes. Raises UsageError without matplotlib.
    """
    with drawing(file, ax, columns=2, size=(11, 4.5)) as panes:
        for axes, method in zip(panes, ("near_far", "self_tuning"), strict=True):
            name = SET_POINT if method == "self_tuning" else "delta, in units of weight"
            groups = _group_by_method([m for m in measured if m.method == method])
            for label, points in groups.items():
                times = [m.milliseconds for m in points]
                (line,) = axes.plot([m.setting for m in points], times, "o-", label=label)
                for m in points:
                    if m.low is not None and m.high is not None:
                        bar = {"color": line.get_color(), "lw": 4, "alpha": 0.35}
                        axes.vlines(m.setting, m.low, m.high, **bar)
            head = f"{title}, {method}" if title else method
            axes.set(xlabel=name, ylabel="ms per query", xscale="log", title=head)
            axes.set_ylim(bottom=0)
            if len(groups) > 1:
                axes.legend()
        top = max(axes.get_ylim()[1] for axes in panes)
        for axes in panes:
            axes.set_ylim(top=top)
    return panes
