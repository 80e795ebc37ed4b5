"""Figures of shortest paths on one core, for shortest_paths/BENCHMARKS.md.

    python -m tests.benchmarks.sssp_cpu MAKER NAME …

MAKER is a Python file with ``make(name, xp)``, which returns indptr, indices and weights of an
undirected graph. The methods take turns; of each the least time counts, since others use the
machine.
"""

import sys
import time

from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

import mgraph
from mgraph import Graph
from tests.benchmarks.makers import made

TURNS = 5


def milliseconds(function, *arguments, **options):
    began = time.perf_counter()
    function(*arguments, **options)
    return 1e3 * (time.perf_counter() - began)


def measure(maker, name):
    graph, source = made(maker, name, "cpu")
    csr = graph.indptr, graph.indices
    matrix = csr_matrix((graph.weights.astype(float), graph.indices, graph.indptr))
    ways = {
        f"{method}, {dtype}": (Graph.unchecked(*csr, graph.weights.astype(dtype)), method)
        for method, dtype in [
            *(("dijkstra", dtype) for dtype in ("int32", "int64", "float32", "float64")),
            *((method, "int32") for method in ("near_far", "self_tuning")),
        ]
    }
    took = {way: [] for way in (*ways, "SciPy")}
    for _ in range(TURNS + 1):  # the first compiles
        for way, (weighted, method) in ways.items():
            took[way].append(
                milliseconds(mgraph.sssp, weighted, source, method=method, backend="cpu")
            )
        took["SciPy"].append(milliseconds(dijkstra, matrix, indices=source))
    print(f"{name}: " + "; ".join(f"{way} {min(row[1:]):.0f}" for way, row in took.items()))


if __name__ == "__main__":
    for graph_name in sys.argv[2:]:
        measure(sys.argv[1], graph_name)
