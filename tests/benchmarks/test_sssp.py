"""Shortest paths and graph building, with pytest-benchmark; the suite runs each once, small.

``pytest tests/benchmarks -k sssp --benchmark-enable``; MGRAPH_BENCH_SIDE sets the grid's side. The
road network is read from ../shared/data where it is.
"""

import lzma
import os
import pathlib

import numpy as np
import pytest
from scipy.sparse.csgraph import dijkstra

import mgraph
from mgraph import CopyModel, EdgeList

SIDE = int(os.environ.get("MGRAPH_BENCH_SIDE", 100))
SHARED = pathlib.Path(os.environ.get("MGRAPH_SHARED", pathlib.Path(__file__).parents[3] / "shared"))


def grid(side):
    ids = np.arange(side * side, dtype=np.int32).reshape(side, side)
    src = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    dst = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    weight = np.random.default_rng(1).integers(1, 1001, src.size).astype(np.int32)
    return mgraph.from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")


def road():
    file = SHARED / "data" / "road-NE.edges.xz"
    if not file.exists():
        pytest.skip("needs the road network, which is not part of the project")
    ends = np.frombuffer(lzma.decompress(file.read_bytes()), "<i4").reshape(-1, 2)
    weight = np.random.default_rng(1).integers(1, 1001, len(ends)).astype(np.int32)
    edges = EdgeList(ends[:, 0].copy(), ends[:, 1].copy(), weight)
    return mgraph.from_edges(edges, directed=False, merge=True, drop_loops=True, backend="cpu")


GRAPHS = {"grid": lambda: grid(SIDE), "road": road}


@pytest.fixture(scope="module", params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]()


@pytest.mark.parametrize("method", ["scipy", "dijkstra", "near_far", "self_tuning"])
def test_sssp_on_one_core(benchmark, graph, method):
    if method == "scipy":
        matrix = graph.to_sparse().astype(np.float64)
        distance = benchmark(dijkstra, matrix, indices=1)
        assert distance[1] == 0
        return
    found = benchmark(mgraph.sssp, graph, 1, method=method, backend="cpu")
    assert found.reached.all()


@pytest.mark.parametrize("merge", [False, True])
def test_building_a_graph(benchmark, merge):
    model = CopyModel(SIDE * SIDE, 8, weights=(1, 99))
    edges, _ = model.edges(backend="cpu")
    graph = benchmark(mgraph.from_edges, edges, model.n, directed=False, merge=merge, backend="cpu")
    assert graph.num_arcs == 2 * model.num_edges
