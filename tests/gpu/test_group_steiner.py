"""Group Steiner trees on a GPU: the CPU's trees, whatever the batches and the queues."""

import numpy as np
import pytest

import mgraph
from mgraph.core.deadline import Deadline
from mgraph.core.edges import EdgeList
from mgraph.steiner.groups import group_search_gpu
from tests.gpu.test_steiner import grid, random_graph
from tests.steiner import checks

pytestmark = pytest.mark.gpu

CASES = {
    "sparse": random_graph(2000, 1500, "int32", 1),
    "hub": random_graph(30_000, 60_000, "int32", 2, hub=25_000),
    "ties": random_graph(1000, 4000, "int32", 3, max_weight=2),
    "unweighted": random_graph(1000, 4000, None, 3),
    "float32": random_graph(2000, 6000, "float32", 5),
    "float64": random_graph(2000, 6000, "float64", 6),
    "int64": random_graph(2000, 6000, "int64", 7),
    "zeros": random_graph(2000, 3000, "int32", 8, min_weight=0, max_weight=3),
    "grid": grid(60, 100),
}


def draw(graph, k, size, count, seed=1):
    random = np.random.default_rng(seed)
    return [[random.integers(0, graph.n, size) for _ in range(k)] for _ in range(count)]


def rows(tree):
    if isinstance(tree, mgraph.DisconnectedError):
        return "disconnected"
    columns = tree.src, tree.dst, tree.weight, tree.terminals
    return [column.tolist() for column in columns], tree.cost, tree.lower_bound, tree.method


def solved(graph, queries, backend, **options):
    found = mgraph.group_steiner_trees(graph, queries, backend=backend, **options)
    return {i: rows(tree) for i, tree in found}


@pytest.mark.parametrize("name", CASES)
def test_trees_are_the_cpus(name):
    graph = CASES[name]
    queries = [
        *draw(graph, 2, 3, 6), *draw(graph, 3, 1, 6), *draw(graph, 4, 20, 6), *draw(graph, 5, 5, 3),
        [[0, 1], [1, 2]], [[5]], [[1], [1, 2, 3], [9]],
    ]  # fmt: skip
    expected = solved(graph, queries, "cpu")
    assert solved(graph.to_gpu(), queries, "gpu") == expected
    assert solved(graph, queries, "gpu") == expected


def test_eight_groups():
    graph = CASES["sparse"]
    queries = draw(graph, 8, 4, 5)
    assert solved(graph, queries, "gpu") == solved(graph, queries, "cpu")
    with pytest.raises(mgraph.UsageError, match="at most 8 groups"):
        mgraph.group_steiner_trees(graph, draw(graph, 9, 1, 1), backend="gpu")


def test_queues_that_overflow(monkeypatch):
    monkeypatch.setattr(group_search_gpu, "_MIN_QUEUE", 64)
    monkeypatch.setattr(group_search_gpu, "_QUEUE_SHARE", 0.001)
    graph = CASES["hub"]
    queries = draw(graph, 4, 30, 8)
    assert solved(graph, queries, "gpu") == solved(graph, queries, "cpu")


def test_trees_of_many_arcs():
    n = 5000
    weight = np.full(n - 1, 3)
    graph = mgraph.from_edges(EdgeList(np.arange(n - 1), np.arange(1, n), weight), directed=False)
    ends = [[[0], [n - 1]], [[1], [2], [3]]]
    assert solved(graph, ends, "gpu") == solved(graph, ends, "cpu")


def test_vertices_that_no_tree_connects():
    edges = EdgeList([0, 2, 3], [1, 3, 4], [1, 1, 1])
    graph = mgraph.from_edges(edges, 6, directed=False)
    queries = [[[0], [4]], [[0, 2], [4]], [[5], [5, 1]]]
    found = solved(graph, queries, "gpu")
    assert found == solved(graph, queries, "cpu")
    assert found[0] == "disconnected"


def test_small_batches(monkeypatch):
    monkeypatch.setattr(group_search_gpu, "MAX_QUERIES", 3)
    graph = CASES["sparse"]
    queries = draw(graph, 3, 4, 10)
    assert solved(graph, queries, "gpu") == solved(graph, queries, "cpu")


def test_a_time_limit_ends_with_a_tree_and_a_bound():
    graph = grid(700, 100)
    ((_, tree),) = mgraph.group_steiner_trees(
        graph, draw(graph, 6, 2, 1), backend="gpu", time_limit=0.004
    )
    assert not tree.complete
    assert 0 <= tree.lower_bound <= tree.cost


def test_dropped_answers_end_the_launch():
    graph = grid(700, 100)
    found = mgraph.group_steiner_trees(graph, draw(graph, 4, 2, 40), backend="gpu")
    next(found)
    found.close()
    assert solved(graph, [[[0], [1]]], "gpu") == solved(graph, [[[0], [1]]], "cpu")
    assert Deadline(0.001).remaining < 1


@pytest.mark.parametrize("name", CASES)
def test_improved_trees_of_few_terminals_are_the_best(name):
    graph = CASES[name]
    random = np.random.default_rng(4)
    queries = [random.integers(0, graph.n, k) for k in (1, 2, 3, 4, 5) for _ in range(4)]
    expected = dict(mgraph.steiner_trees(graph, queries, backend="cpu", improve=True))
    weights = np.ones(graph.num_arcs, int) if graph.weights is None else graph.weights
    for method in ("auto", "star"):
        found = dict(
            mgraph.steiner_trees(graph, queries, backend="gpu", improve=True, method=method)
        )
        for i, tree in found.items():
            if isinstance(tree, mgraph.DisconnectedError):
                assert str(tree) == str(expected[i])
                continue
            edges = tree.src, tree.dst, tree.weight
            checks.check_tree((graph.indptr, graph.indices, weights), edges, tree.terminals)
            assert (tree.optimal, tree.complete) == (True, True)
            assert tree.cost == pytest.approx(expected[i].cost, rel=1e-9)
            if tree.src.size and method == "auto":
                assert (tree.method, tree.backend) == ("dreyfus_wagner", "gpu")


def test_nine_terminals_are_improved_on_cores():
    graph = CASES["sparse"]
    queries = [np.arange(5), np.arange(9)]
    found = dict(mgraph.steiner_trees(graph, queries, backend="gpu", improve=True, time_limit=2))
    assert (found[0].method, found[1].method) == ("dreyfus_wagner", "star")
    assert found[1].lower_bound <= found[1].cost


def test_a_query_whose_labels_do_not_fit_is_improved_on_cores(monkeypatch):
    monkeypatch.setattr(group_search_gpu, "_available_bytes", lambda: 1 << 10)
    graph = CASES["sparse"]
    tree = mgraph.steiner_tree(graph, [1, 2, 3], backend="gpu", improve=True)
    assert (tree.optimal, tree.method) == (True, "star")
