"""What remakes the tables and figures of the papers: timing, comparisons, plots.

As in ``mgraph`` itself, names load when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "CopyStatistics": "mgraph.generators.copy_statistics",
    "EnergyMeter": "mgraph.cuda.energy",
    "Measured": "mgraph.experiments.energy_plots",
    "TableReport": "mgraph.experiments.markdown",
    "available_cores": "mgraph.core.host",
    "check_figure": "mgraph.io.figure",
    "check_file": "mgraph.io.folder",
    "copy_statistics": "mgraph.experiments.chain_statistics",
    "generator_scaling": "mgraph.experiments.scaling",
    "generator_seconds": "mgraph.experiments.generator_timing",
    "heap_pair_seconds": "mgraph.experiments.heap_timing",
    "heap_seconds": "mgraph.experiments.heap_timing",
    "idle_watts": "mgraph.cuda.energy",
    "markdown_table": "mgraph.experiments.markdown",
    "parse_number": "mgraph.core.numbers",
    "pisinger_instance": "mgraph.knapsacks.pisinger",
    "plot_curves": "mgraph.experiments.generator_plots",
    "plot_degree_distributions": "mgraph.experiments.generator_plots",
    "plot_distributions": "mgraph.experiments.trace_plots",
    "plot_dots": "mgraph.experiments.generator_plots",
    "plot_frontier_against_delta": "mgraph.experiments.trace_plots",
    "plot_parallelism_against_delta": "mgraph.experiments.trace_plots",
    "plot_power_against_set_point": "mgraph.experiments.energy_plots",
    "plot_profile": "mgraph.experiments.trace_plots",
    "plot_speedup_against_power": "mgraph.experiments.energy_plots",
    "plot_steiner_gaps": "mgraph.experiments.evaluation_plots",
    "plot_steiner_parts": "mgraph.experiments.evaluation_plots",
    "plot_steiner_speedups": "mgraph.experiments.evaluation_plots",
    "plot_time": "mgraph.experiments.energy_plots",
    "read_vertex_lists": "mgraph.io.vertex_lists",
    "resolve_backend": "mgraph.core.backend",
    "sample_terminals": "mgraph.steiner.sampling",
    "steiner_speedups": "mgraph.experiments.evaluation_plots",
    "writing_file": "mgraph.io.folder",
}
_NAMES = {"resolve_backend": "resolve", "sample_terminals": "sample"}  # where they live
__all__ = list(_HOME)

if TYPE_CHECKING:
    from mgraph.core.backend import resolve as resolve_backend
    from mgraph.core.host import available_cores as available_cores
    from mgraph.core.numbers import parse_number as parse_number
    from mgraph.cuda.energy import EnergyMeter as EnergyMeter
    from mgraph.cuda.energy import idle_watts as idle_watts
    from mgraph.experiments.chain_statistics import copy_statistics as copy_statistics
    from mgraph.experiments.energy_plots import Measured as Measured
    from mgraph.experiments.energy_plots import (
        plot_power_against_set_point as plot_power_against_set_point,
    )
    from mgraph.experiments.energy_plots import (
        plot_speedup_against_power as plot_speedup_against_power,
    )
    from mgraph.experiments.energy_plots import plot_time as plot_time
    from mgraph.experiments.evaluation_plots import plot_steiner_gaps as plot_steiner_gaps
    from mgraph.experiments.evaluation_plots import plot_steiner_parts as plot_steiner_parts
    from mgraph.experiments.evaluation_plots import plot_steiner_speedups as plot_steiner_speedups
    from mgraph.experiments.evaluation_plots import steiner_speedups as steiner_speedups
    from mgraph.experiments.generator_plots import plot_curves as plot_curves
    from mgraph.experiments.generator_plots import (
        plot_degree_distributions as plot_degree_distributions,
    )
    from mgraph.experiments.generator_plots import plot_dots as plot_dots
    from mgraph.experiments.generator_timing import generator_seconds as generator_seconds
    from mgraph.experiments.heap_timing import heap_pair_seconds as heap_pair_seconds
    from mgraph.experiments.heap_timing import heap_seconds as heap_seconds
    from mgraph.experiments.markdown import TableReport as TableReport
    from mgraph.experiments.markdown import markdown_table as markdown_table
    from mgraph.experiments.scaling import generator_scaling as generator_scaling
    from mgraph.experiments.trace_plots import plot_distributions as plot_distributions
    from mgraph.experiments.trace_plots import (
        plot_frontier_against_delta as plot_frontier_against_delta,
    )
    from mgraph.experiments.trace_plots import (
        plot_parallelism_against_delta as plot_parallelism_against_delta,
    )
    from mgraph.experiments.trace_plots import plot_profile as plot_profile
    from mgraph.generators.copy_statistics import CopyStatistics as CopyStatistics
    from mgraph.io.figure import check_figure as check_figure
    from mgraph.io.folder import check_file as check_file
    from mgraph.io.folder import writing_file as writing_file
    from mgraph.io.vertex_lists import read_vertex_lists as read_vertex_lists
    from mgraph.knapsacks.pisinger import pisinger_instance as pisinger_instance
    from mgraph.steiner.sampling import sample as sample_terminals


def __getattr__(name: str) -> Any:
    """Import a public name from where it lives."""
    if name not in _HOME:
        raise AttributeError(f"module 'mgraph.experiments' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), _NAMES.get(name, name))


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return __all__
