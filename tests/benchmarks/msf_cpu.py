"""Figures of spanning forests on a CPU, as they stand in spanning_trees/BENCHMARKS.md.

    python -m tests.benchmarks.msf_cpu MAKER NAME …

MAKER is a Python file with ``make(name, xp)``, which gives indptr, indices and weights of an
undirected graph. The methods take turns; of each the least and the median time count, since others
use the machine.
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
    took = {way: [] for way in (*METHODS, "SciPy")}
    for _ in range(TURNS + 1):  # the first compiles
        for way in METHODS:
            span = mgraph.minimum_spanning_forest
            took[way].append(milliseconds(span, graph, method=way, backend="cpu"))
        took["SciPy"].append(milliseconds(minimum_spanning_tree, matrix))
    told = (
        f"{way} {min(row[1:]):.0f} ({statistics.median(row[1:]):.0f})" for way, row in took.items()
    )
    print(f"{name}, ms, least and median: {'; '.join(told)}", flush=True)


if __name__ == "__main__":
    for graph_name in sys.argv[2:]:
        measure(sys.argv[1], graph_name)
