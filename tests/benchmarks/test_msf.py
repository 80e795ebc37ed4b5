"""Spanning forests, with pytest-benchmark; the suite runs each once, small.

``pytest tests/benchmarks -k msf --benchmark-enable``; the graphs are those of ``test_sssp``.
"""

import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

import mgraph
from tests.benchmarks.test_sssp import GRAPHS


@pytest.fixture(scope="module", params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]()


@pytest.mark.parametrize("method", ["scipy", "filter_kruskal", "boruvka", "prim"])
def test_msf_on_a_cpu(benchmark, graph, method):
    if method == "scipy":
        forest = benchmark(minimum_spanning_tree, graph.to_sparse())
        assert forest.nnz == graph.n - 1
        return
    forest = benchmark(mgraph.minimum_spanning_forest, graph, method=method, backend="cpu")
    assert len(forest) == graph.n - 1
