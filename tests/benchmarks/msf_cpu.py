"""Figures of spanning forests on a CPU, for spanning_trees/BENCHMARKS.md.

    python -m tests.benchmarks.msf_cpu MAKER NAME …

MAKER is a Python file with ``make(name, xp)``, which returns indptr, indices and weights of an
undirected graph. The methods take turns; the minimum and the median time of each are reported,
since the machine is shared.
"""

import statistics
import sys

from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import minimum_spanning_tree

import mgraph
from tests.benchmarks.makers import made
from tests.benchmarks.sssp_cpu import milliseconds

TURNS = 7
METHODS = "filter_kruskal", "boruvka", "prim"


def measure(maker, name):
    graph, _ = made(maker, name, "cpu")
    matrix = csr_matrix((graph.weights.astype(float), graph.indices, graph.indptr))
    forest = mgraph.minimum_spanning_forest(graph, backend="cpu")
    assert forest.total_weight == minimum_spanning_tree(matrix).sum()
    times = {method: [] for method in (*METHODS, "SciPy")}
    for _ in range(TURNS + 1):  # the first compiles
        for method in METHODS:
            span = mgraph.minimum_spanning_forest
            times[method].append(milliseconds(span, graph, method=method, backend="cpu"))
        times["SciPy"].append(milliseconds(minimum_spanning_tree, matrix))
    columns = (
        f"{method} {min(row[1:]):.0f} ({statistics.median(row[1:]):.0f})"
        for method, row in times.items()
    )
    print(f"{name}, ms, minimum and median: {'; '.join(columns)}", flush=True)


if __name__ == "__main__":
    for graph_name in sys.argv[2:]:
        measure(sys.argv[1], graph_name)
