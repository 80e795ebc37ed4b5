"""Benchmark graphs from a Python file whose ``make(name, xp)`` returns an undirected graph."""

import numpy as np

from mgraph import Graph
from tests.modules import module_of


def made(maker, name, backend):
    """Return the graph of that name, and its source: vertex 1 if degrees are even, else a hub."""
    module = module_of(maker)
    if backend == "cpu":
        arrays = (np.asarray(array) for array in module.make(name, np))
    else:
        import cupy

        arrays = map(cupy.asarray, module.make(name, np if name.startswith("road") else cupy))
    graph = Graph.unchecked(*arrays, directed=False)
    flat = name.startswith(("road", "grid"))
    return graph, 1 if flat else int((graph.indptr[1:] - graph.indptr[:-1]).argmax())
