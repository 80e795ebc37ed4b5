"""mgraph: very large graphs on many GPUs, or on the machine's cores, through Dask.

The public names load on first use, so that ``import mgraph`` stays light: it imports neither
CuPy nor Dask nor Numba.
"""

import importlib
from typing import TYPE_CHECKING, Any

from mgraph import installation as _installation
from mgraph._version import __version__ as __version__

_installation.warn_of_other_project()

_HOME = {
    "BatchHeap": "mgraph.heap.batch_heap",
    "Cluster": "mgraph.distributed.clusters.connect",
    "ClusterError": "mgraph.errors",
    "ConnectionLostError": "mgraph.errors",
    "CopyModel": "mgraph.generators.copy_model",
    "CopyStatistics": "mgraph.generators.copy_statistics",
    "Dataset": "mgraph.distributed.operations.dataset",
    "DatasetError": "mgraph.errors",
    "Degrees": "mgraph.distributed.operations.degrees",
    "DeviceError": "mgraph.errors",
    "DisconnectedError": "mgraph.errors",
    "EdgeList": "mgraph.core.edges",
    "EnergyMeter": "mgraph.cuda.energy",
    "ForestRun": "mgraph.distributed.operations.spanning_forest",
    "Graph": "mgraph.core.graph",
    "Knapsack": "mgraph.knapsacks.knapsack",
    "KnapsackInstance": "mgraph.knapsacks.instance",
    "KnapsackRun": "mgraph.distributed.operations.knapsacks",
    "Measured": "mgraph.experiments.energy_plots",
    "MgraphError": "mgraph.errors",
    "MgraphWarning": "mgraph.errors",
    "OutOfMemoryError": "mgraph.errors",
    "ShortestPaths": "mgraph.shortest_paths.sssp",
    "SpanningForest": "mgraph.spanning_trees.spanning_forest",
    "SteinerTree": "mgraph.steiner.steiner_tree",
    "StorageError": "mgraph.errors",
    "UsageError": "mgraph.errors",
    "clusters": "mgraph.spanning_trees.clusters",
    "connect": "mgraph.distributed.clusters.connect",
    "copy_statistics": "mgraph.experiments.copy_statistics",
    "degree_histogram": "mgraph.core.degrees",
    "degrees": "mgraph.distributed.operations.degrees",
    "edges": "mgraph.generators.preferential_attachment",
    "from_edges": "mgraph.core.csr",
    "from_networkx": "mgraph.io.networkx_graph",
    "from_sparse": "mgraph.io.sparse_matrix",
    "generate": "mgraph.distributed.operations.generate",
    "generator_scaling": "mgraph.experiments.generator_scaling",
    "generator_seconds": "mgraph.experiments.generator_timing",
    "heap_pair_seconds": "mgraph.experiments.heap_timing",
    "heap_seconds": "mgraph.experiments.heap_timing",
    "idle_watts": "mgraph.cuda.energy",
    "knapsack": "mgraph.knapsacks.knapsack",
    "knapsack_many": "mgraph.distributed.operations.knapsacks",
    "markdown_table": "mgraph.experiments.markdown",
    "minimum_spanning_forest": "mgraph.spanning_trees.minimum_spanning_forest",
    "open_dataset": "mgraph.distributed.operations.dataset",
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
    "read_graph": "mgraph.io.formats",
    "read_knapsack": "mgraph.knapsacks.instance",
    "read_steinlib": "mgraph.io.steinlib",
    "spanning_forest_dataset": "mgraph.distributed.operations.spanning_forest",
    "sssp": "mgraph.shortest_paths.sssp",
    "sssp_many": "mgraph.distributed.operations.sssp",
    "steiner_many": "mgraph.distributed.operations.steiner",
    "steiner_speedups": "mgraph.experiments.evaluation_plots",
    "steiner_tree": "mgraph.steiner.steiner_tree",
    "steiner_trees": "mgraph.steiner.steiner_tree",
    "to_networkx": "mgraph.io.networkx_graph",
    "to_sparse": "mgraph.io.sparse_matrix",
    "verify": "mgraph.distributed.operations.verify",
    "write_clusters": "mgraph.spanning_trees.clusters",
    "write_graph": "mgraph.io.formats",
    "write_knapsack": "mgraph.knapsacks.instance",
    "write_trace": "mgraph.shortest_paths.trace",
}
__all__ = list(_HOME)

if TYPE_CHECKING:
    from mgraph.core.csr import from_edges
    from mgraph.core.degrees import degree_histogram
    from mgraph.core.edges import EdgeList
    from mgraph.core.graph import Graph
    from mgraph.cuda.energy import EnergyMeter, idle_watts
    from mgraph.distributed.clusters.connect import Cluster, connect
    from mgraph.distributed.operations.dataset import Dataset, open_dataset
    from mgraph.distributed.operations.degrees import Degrees, degrees
    from mgraph.distributed.operations.generate import generate
    from mgraph.distributed.operations.knapsacks import KnapsackRun, knapsack_many
    from mgraph.distributed.operations.spanning_forest import ForestRun, spanning_forest_dataset
    from mgraph.distributed.operations.sssp import sssp_many
    from mgraph.distributed.operations.steiner import steiner_many
    from mgraph.distributed.operations.verify import verify
    from mgraph.errors import (
        ClusterError,
        ConnectionLostError,
        DatasetError,
        DeviceError,
        DisconnectedError,
        MgraphError,
        MgraphWarning,
        OutOfMemoryError,
        StorageError,
        UsageError,
    )
    from mgraph.experiments.copy_statistics import copy_statistics
    from mgraph.experiments.energy_plots import (
        Measured,
        plot_power_against_set_point,
        plot_speedup_against_power,
        plot_time,
    )
    from mgraph.experiments.evaluation_plots import (
        plot_steiner_gaps,
        plot_steiner_parts,
        plot_steiner_speedups,
        steiner_speedups,
    )
    from mgraph.experiments.generator_plots import (
        plot_curves,
        plot_degree_distributions,
        plot_dots,
    )
    from mgraph.experiments.generator_scaling import generator_scaling
    from mgraph.experiments.generator_timing import generator_seconds
    from mgraph.experiments.heap_timing import heap_pair_seconds, heap_seconds
    from mgraph.experiments.markdown import markdown_table
    from mgraph.experiments.trace_plots import (
        plot_distributions,
        plot_frontier_against_delta,
        plot_parallelism_against_delta,
        plot_profile,
    )
    from mgraph.generators.copy_model import CopyModel
    from mgraph.generators.copy_statistics import CopyStatistics
    from mgraph.generators.preferential_attachment import edges
    from mgraph.heap.batch_heap import BatchHeap
    from mgraph.io.formats import read_graph, write_graph
    from mgraph.io.networkx_graph import from_networkx, to_networkx
    from mgraph.io.sparse_matrix import from_sparse, to_sparse
    from mgraph.io.steinlib import read_steinlib
    from mgraph.knapsacks.instance import KnapsackInstance, read_knapsack, write_knapsack
    from mgraph.knapsacks.knapsack import Knapsack, knapsack
    from mgraph.knapsacks.pisinger import pisinger_instance
    from mgraph.shortest_paths.sssp import ShortestPaths, sssp
    from mgraph.shortest_paths.trace import write_trace
    from mgraph.spanning_trees.clusters import clusters, write_clusters
    from mgraph.spanning_trees.minimum_spanning_forest import minimum_spanning_forest
    from mgraph.spanning_trees.spanning_forest import SpanningForest
    from mgraph.steiner.steiner_tree import SteinerTree, steiner_tree, steiner_trees


def __getattr__(name: str) -> Any:
    """Import a public name from where it lives."""
    if name not in _HOME:
        raise AttributeError(f"module 'mgraph' has no attribute {name!r}")
    importlib.import_module("mgraph.distributed")  # light; has settings used where none is read
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return __all__
