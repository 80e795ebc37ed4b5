"""Queries on a graph of a few vertices, so that what they need is compiled before any is timed."""

from typing import Any

import numpy as np

from mgraph import timings
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.steiner.steiner_tree import BREAK_EVEN_ARCS, runs_on_cpu, steiner_trees

_ENDS = (1, 2, 3, 4, 5, 5, 4, 3), (0, 1, 2, 3, 4, 0, 1, 0)
_WEIGHTS = (2, 3, 2, 3, 2, 3, 5, 4)


def rehearse(graph: Graph, **options: Any) -> None:
    """Solve queries of two and of three terminals on a small graph of the same types.

    On the backend where queries on the graph will be solved. options: of
    ``mgraph.steiner_trees``; a time limit is ignored.
    """
    src, dst = (np.array(ends, graph.indices.dtype) for ends in _ENDS)
    weight = None if graph.weights is None else np.array(_WEIGHTS, graph.weights.dtype)
    small = from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")
    on_cpu = runs_on_cpu(options["method"], options["search"]) or graph.backend == "cpu"
    if options["backend"] == "auto":
        options["backend"] = "cpu" if on_cpu or graph.num_arcs < BREAK_EVEN_ARCS else "gpu"
    if graph.backend == "gpu" and options["backend"] == "gpu":
        small = small.to_gpu()
    with timings.step(timings.REHEARSING):
        for _ in steiner_trees(small, [[0, 3], [0, 2, 4]], **options | {"time_limit": None}):
            pass
