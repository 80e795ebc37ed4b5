from mgraph.core.backend import resolve as resolve_backend
from mgraph.core.host import available_cores as available_cores
from mgraph.core.numbers import parse_number as parse_number
from mgraph.cuda.clocks import locked_clocks as locked_clocks
from mgraph.cuda.clocks import parse_clocks as parse_clocks
from mgraph.cuda.clocks import read_clocks as read_clocks
from mgraph.cuda.energy import EnergyMeter as EnergyMeter
from mgraph.cuda.energy import idle_watts as idle_watts
from mgraph.experiments.chain_statistics import copy_statistics as copy_statistics
from mgraph.experiments.controller_ablation import compare_controllers as compare_controllers
from mgraph.experiments.energy_plots import Measured as Measured
from mgraph.experiments.energy_plots import (
    plot_energy_against_set_point as plot_energy_against_set_point,
)
from mgraph.experiments.energy_plots import (
    plot_power_against_set_point as plot_power_against_set_point,
)
from mgraph.experiments.energy_plots import (
    plot_speedup_against_power as plot_speedup_against_power,
)
from mgraph.experiments.energy_plots import plot_time as plot_time
from mgraph.experiments.evaluation_plots import plot_steiner_cases as plot_steiner_cases
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
from mgraph.experiments.heap_paper_graphs import HEAP_PAPER_GRAPHS as HEAP_PAPER_GRAPHS
from mgraph.experiments.heap_paper_graphs import MADE_HEAP_GRAPHS as MADE_HEAP_GRAPHS
from mgraph.experiments.heap_paper_graphs import PaperGraph as PaperGraph
from mgraph.experiments.heap_paper_graphs import make_heap_graph as make_heap_graph
from mgraph.experiments.heap_paper_knapsacks import HEAP_PAPER_KNAPSACKS as HEAP_PAPER_KNAPSACKS
from mgraph.experiments.heap_paper_knapsacks import PaperKnapsack as PaperKnapsack
from mgraph.experiments.heap_timing import heap_pair_seconds as heap_pair_seconds
from mgraph.experiments.heap_timing import heap_seconds as heap_seconds
from mgraph.experiments.heap_timing import multi_heap_seconds as multi_heap_seconds
from mgraph.experiments.markdown import TableReport as TableReport
from mgraph.experiments.markdown import markdown_table as markdown_table
from mgraph.experiments.other_generators import OTHER_GENERATORS as OTHER_GENERATORS
from mgraph.experiments.other_generators import (
    other_generator_seconds as other_generator_seconds,
)
from mgraph.experiments.random_graphs import delaunay_edges as delaunay_edges
from mgraph.experiments.random_graphs import kronecker_edges as kronecker_edges
from mgraph.experiments.random_graphs import random_geometric_edges as random_geometric_edges
from mgraph.experiments.random_graphs import with_random_weights as with_random_weights
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
from mgraph.io.figure import figure_files as figure_files
from mgraph.io.figure import plot_theme as plot_theme
from mgraph.io.folder import check_file as check_file
from mgraph.io.folder import writing_file as writing_file
from mgraph.io.graph_drawing import plot_graph as plot_graph
from mgraph.io.steinlib import read_steinlib as read_steinlib
from mgraph.io.vertex_lists import read_vertex_lists as read_vertex_lists
from mgraph.knapsacks.pisinger import pisinger_instance as pisinger_instance
from mgraph.steiner.sampling import sample as sample_terminals
