"""Breadth-first search on a GPU gives the CPU's distances and predecessors."""

import numpy as np
import pytest

import mgraph
from mgraph import EdgeList, Graph
from mgraph.shortest_paths import near_far_gpu, sssp_gpu
from mgraph.shortest_paths.problem import SearchOptions, check_request
from mgraph.shortest_paths.sssp import sssp

pytestmark = pytest.mark.gpu

OPTIONS = SearchOptions("bfs", True, None, None, None, None, False, None)


def random_graph(n, m, seed, tail=0, directed=False):
    """Return a random graph with a hub, and a path of ``tail`` vertices at its end."""
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, n, (2, m)).astype(np.int32)
    src[: m // 8] = 7
    path = np.arange(n, n + tail, dtype=np.int32)
    edges = EdgeList(np.append(src, path), np.append(dst, path - 1))
    return mgraph.from_edges(edges, n + tail, directed=directed, backend="cpu")


def assert_same(graph, sources, **options):
    options |= {"method": "bfs", "predecessors": True}
    expected = sssp(graph, sources, backend="cpu", **options)
    found = sssp(graph.to_gpu(), sources, **options)
    assert (found.method, found.backend) == ("bfs", "gpu")
    np.testing.assert_array_equal(found.distance.get(), expected.distance)
    np.testing.assert_array_equal(found.predecessor.get(), expected.predecessor)
    without = sssp(graph.to_gpu(), sources, **options | {"predecessors": False})
    np.testing.assert_array_equal(without.distance.get(), expected.distance)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("n", "m"), [(1, 0), (50, 20), (3000, 3000), (50_000, 400_000)])
def test_levels_and_predecessors(n, m, directed):
    for seed in range(3):
        graph = random_graph(n, m, seed, 500 if n > 1 else 0, directed) if m else single()
        assert_same(graph, min(7, graph.n - 1))
        assert_same(graph, [0, graph.n - 1])
        assert_same(graph, [0, graph.n - 1], joint=True)
        assert_same(graph, 0, cutoff=2)
        targets = [graph.n // 2, graph.n - 1]
        assert_same(graph, 0, targets=targets)
        assert_same(graph, 0, targets=targets, stop_at="first")


def single():
    return Graph(np.zeros(2, np.int64), np.zeros(0, np.int32), directed=False)


def test_ids_of_64_bits_and_rows_that_do_not_ascend():
    graph = random_graph(5000, 40_000, 1)
    wide = Graph(graph.indptr, graph.indices.astype(np.int64), None, False)
    assert_same(wide, 3)
    indices = graph.indices.copy()
    for v in range(graph.n):
        row = slice(graph.indptr[v], graph.indptr[v + 1])
        indices[row] = indices[row][::-1]
    assert_same(Graph(graph.indptr, indices, None, False), 3)


def test_long_rows_of_two_levels():
    """Hubs of more arcs than a warp reads."""
    leaves = np.arange(3, 60_003, dtype=np.int32)
    src = np.concatenate([leaves, leaves[::2], [1]])
    dst = np.concatenate([leaves % 2, np.full(leaves.size // 2, 2), [0]]).astype(np.int32)
    for directed in (False, True):
        edges = EdgeList(dst, src) if directed else EdgeList(src, dst)
        graph = mgraph.from_edges(edges, 60_003, directed=directed, backend="cpu")
        assert_same(graph, 0)
        assert_same(graph, 5)


def test_a_path_of_many_levels():
    n = 20_000
    edges = EdgeList(np.arange(1, n), np.arange(n - 1))
    assert_same(mgraph.from_edges(edges, directed=False, backend="cpu"), 0)


def test_a_slow_search_gives_up_and_a_core_goes_on():
    n = 200_000
    edges = EdgeList(np.arange(1, n), np.arange(n - 1))
    graph = mgraph.from_edges(edges, directed=False, backend="gpu")
    request = check_request(graph, 0, joint=False, targets=None, stop_at="last", cutoff=None)
    assert sssp_gpu.search_unless_slow(request, OPTIONS, (1e-4, 1e9)) is None
    assert sssp_gpu.search_unless_slow(request, OPTIONS, near_far_gpu.ENDLESS) is not None
    paths = sssp(graph, 0)
    assert (paths.method, paths.backend) == ("bfs", "cpu")
    assert int(paths.distance[-1]) == n - 1


def test_which_graphs_are_searched_by_breadth():
    """Those without weights that have many arcs per vertex, one source at a time or large."""
    few, many = (random_graph(4000, m, 1).to_gpu() for m in (8000, 40_000))
    assert sssp(many, 7).method == "bfs"
    assert sssp(few, 7, backend="gpu").method == "self_tuning"
    assert sssp(many, [7, 8]).method == "self_tuning"
    assert sssp(many, 7, set_point=1e4).method == "self_tuning"
