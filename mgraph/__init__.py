"""mgraph: very large graphs on many GPUs, or on the machine's cores, through Dask.

The public names load on first use, so that ``import mgraph`` stays light: it imports neither CuPy
nor Dask nor Numba. ``__init__.pyi`` lists them.
"""

import importlib
from typing import Any

from mgraph import installation as _installation
from mgraph import lazy_names as _lazy_names
from mgraph._version import __version__ as __version__

_installation.warn_of_other_project()

_load, _names = _lazy_names.attach(__name__, __file__)
# These load as the others do, and are not listed: the names that most programs need are fifty.
_UNLISTED = {
    "ClusterSpec", "ComponentsRun", "ConnectionLostError", "ConvertRun", "ForestRun", "GenerateRun",
    "KnapsackRun", "PartitionedComponents", "PartitionedForest", "PartitionedGraph",
    "PartitionedPaths", "check_steiner_tree", "experiments", "group_steiner_tree",
    "group_steiner_trees", "k_best_steiner_trees", "node_weighted_steiner_tree", "open_partitioned",
    "prize_collecting_steiner_tree", "steiner_arborescence",
}  # fmt: skip
__all__ = [name for name in _names if name not in _UNLISTED]

# Names of 0.1.0, and what takes their place.
_RENAMED = {
    "clusters": "mgraph.single_linkage",
    "degree_histogram": "mgraph.EdgeList.degree_histogram",
    "edges": "mgraph.CopyModel.edges",
    "pisinger_instance": "mgraph.experiments.pisinger_instance",
    "read_knapsack": "mgraph.KnapsackInstance.read",
    "read_steinlib": "mgraph.experiments.read_steinlib",
    "to_networkx": "mgraph.Graph.to_networkx",
    "to_sparse": "mgraph.Graph.to_sparse",
    "write_clusters": "mgraph.Clustering.write",
    "write_knapsack": "mgraph.KnapsackInstance.write",
    "write_trace": "mgraph.ShortestPaths.write_trace",
}


def __getattr__(name: str) -> Any:
    """Import a public name from where it lives."""
    if name in _RENAMED and name not in _names:
        raise AttributeError(f"mgraph.{name} is {_RENAMED[name]} since mgraph 0.2.0")
    importlib.import_module("mgraph.distributed")  # light; has settings used where none is read
    return _load(name)


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return __all__
