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
    "ClusterSpec": "mgraph.distributed.clusters.connect",
    "ConnectionLostError": "mgraph.errors",
    "CopyModel": "mgraph.generators.copy_model",
    "Dataset": "mgraph.distributed.operations.dataset",
    "DatasetError": "mgraph.errors",
    "Degrees": "mgraph.distributed.operations.degrees",
    "DeviceError": "mgraph.errors",
    "DisconnectedError": "mgraph.errors",
    "EdgeList": "mgraph.core.edges",
    "ForestRun": "mgraph.distributed.operations.spanning_forest",
    "Graph": "mgraph.core.graph",
    "Knapsack": "mgraph.knapsacks.knapsack",
    "KnapsackInstance": "mgraph.knapsacks.instance",
    "KnapsackRun": "mgraph.distributed.operations.knapsacks",
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
    "degree_histogram": "mgraph.core.degrees",
    "degrees": "mgraph.distributed.operations.degrees",
    "edges": "mgraph.generators.preferential_attachment",
    "from_edges": "mgraph.core.csr",
    "from_networkx": "mgraph.io.networkx_graph",
    "from_sparse": "mgraph.io.sparse_matrix",
    "generate": "mgraph.distributed.operations.generate",
    "knapsack": "mgraph.knapsacks.knapsack",
    "knapsack_many": "mgraph.distributed.operations.knapsacks",
    "minimum_spanning_forest": "mgraph.spanning_trees.minimum_spanning_forest",
    "open_dataset": "mgraph.distributed.operations.dataset",
    "read_graph": "mgraph.io.formats",
    "read_steinlib": "mgraph.io.steinlib",
    "spanning_forest_dataset": "mgraph.distributed.operations.spanning_forest",
    "sssp": "mgraph.shortest_paths.sssp",
    "sssp_many": "mgraph.distributed.operations.sssp",
    "steiner_many": "mgraph.distributed.operations.steiner",
    "steiner_tree": "mgraph.steiner.steiner_tree",
    "steiner_trees": "mgraph.steiner.steiner_tree",
    "to_networkx": "mgraph.io.networkx_graph",
    "to_sparse": "mgraph.io.sparse_matrix",
    "verify": "mgraph.distributed.operations.verify",
    "write_clusters": "mgraph.spanning_trees.clusters",
    "write_graph": "mgraph.io.formats",
    "write_trace": "mgraph.shortest_paths.trace",
}
__all__ = list(_HOME)

if TYPE_CHECKING:
    from mgraph import experiments as experiments
    from mgraph.core.csr import from_edges as from_edges
    from mgraph.core.degrees import degree_histogram as degree_histogram
    from mgraph.core.edges import EdgeList as EdgeList
    from mgraph.core.graph import Graph as Graph
    from mgraph.distributed.clusters.connect import Cluster as Cluster
    from mgraph.distributed.clusters.connect import ClusterSpec as ClusterSpec
    from mgraph.distributed.clusters.connect import connect as connect
    from mgraph.distributed.operations.dataset import Dataset as Dataset
    from mgraph.distributed.operations.dataset import open_dataset as open_dataset
    from mgraph.distributed.operations.degrees import Degrees as Degrees
    from mgraph.distributed.operations.degrees import degrees as degrees
    from mgraph.distributed.operations.generate import generate as generate
    from mgraph.distributed.operations.knapsacks import KnapsackRun as KnapsackRun
    from mgraph.distributed.operations.knapsacks import knapsack_many as knapsack_many
    from mgraph.distributed.operations.spanning_forest import ForestRun as ForestRun
    from mgraph.distributed.operations.spanning_forest import (
        spanning_forest_dataset as spanning_forest_dataset,
    )
    from mgraph.distributed.operations.sssp import sssp_many as sssp_many
    from mgraph.distributed.operations.steiner import steiner_many as steiner_many
    from mgraph.distributed.operations.verify import verify as verify
    from mgraph.errors import ClusterError as ClusterError
    from mgraph.errors import ConnectionLostError as ConnectionLostError
    from mgraph.errors import DatasetError as DatasetError
    from mgraph.errors import DeviceError as DeviceError
    from mgraph.errors import DisconnectedError as DisconnectedError
    from mgraph.errors import MgraphError as MgraphError
    from mgraph.errors import MgraphWarning as MgraphWarning
    from mgraph.errors import OutOfMemoryError as OutOfMemoryError
    from mgraph.errors import StorageError as StorageError
    from mgraph.errors import UsageError as UsageError
    from mgraph.generators.copy_model import CopyModel as CopyModel
    from mgraph.generators.preferential_attachment import edges as edges
    from mgraph.heap.batch_heap import BatchHeap as BatchHeap
    from mgraph.io.formats import read_graph as read_graph
    from mgraph.io.formats import write_graph as write_graph
    from mgraph.io.networkx_graph import from_networkx as from_networkx
    from mgraph.io.networkx_graph import to_networkx as to_networkx
    from mgraph.io.sparse_matrix import from_sparse as from_sparse
    from mgraph.io.sparse_matrix import to_sparse as to_sparse
    from mgraph.io.steinlib import read_steinlib as read_steinlib
    from mgraph.knapsacks.instance import KnapsackInstance as KnapsackInstance
    from mgraph.knapsacks.knapsack import Knapsack as Knapsack
    from mgraph.knapsacks.knapsack import knapsack as knapsack
    from mgraph.shortest_paths.sssp import ShortestPaths as ShortestPaths
    from mgraph.shortest_paths.sssp import sssp as sssp
    from mgraph.shortest_paths.trace import write_trace as write_trace
    from mgraph.spanning_trees.clusters import clusters as clusters
    from mgraph.spanning_trees.clusters import write_clusters as write_clusters
    from mgraph.spanning_trees.minimum_spanning_forest import (
        minimum_spanning_forest as minimum_spanning_forest,
    )
    from mgraph.spanning_trees.spanning_forest import SpanningForest as SpanningForest
    from mgraph.steiner.steiner_tree import SteinerTree as SteinerTree
    from mgraph.steiner.steiner_tree import steiner_tree as steiner_tree
    from mgraph.steiner.steiner_tree import steiner_trees as steiner_trees


def __getattr__(name: str) -> Any:
    """Import a public name from where it lives."""
    if name == "experiments":
        return importlib.import_module("mgraph.experiments")
    if name not in _HOME:
        raise AttributeError(f"module 'mgraph' has no attribute {name!r}")
    importlib.import_module("mgraph.distributed")  # light; has settings used where none is read
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return __all__
