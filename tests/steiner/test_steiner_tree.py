"""The front door: right trees whatever the method, clear errors, and what a result holds."""

import gc
import math
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.core.edges import EdgeList
from mgraph.steiner import steiner_tree
from mgraph.steiner.prepared import PreparedGraph
from mgraph.steiner.steiner_tree import METHODS, prepare_queries
from tests import strategies as graphs
from tests.steiner import checks, oracles
from tests.stopped import PATIENCE


def graph_of(edges, n=None, dtype=np.int32):
    columns = np.array(edges).T
    listed = EdgeList(*columns[:2].astype(np.int32), columns[2].astype(dtype))
    return mgraph.from_edges(listed, n, directed=False, backend="cpu")


SQUARE = graph_of([(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 5), (4, 5, 1)], 7)


UNDIRECTED = graphs.graphs(dtypes=("int32", "float32", "float64"), most=12, directed=False)


def minimum_cost(graph, terminals):
    """Return the minimum cost of a tree; None where there is no tree."""
    lengths = oracles.distances(graph)[terminals[0]]
    if any(lengths[t] is None for t in terminals):
        return None
    return oracles.optimum(graph, terminals) if len(terminals) > 1 else 0


@given(st.data(), st.sampled_from(METHODS), st.booleans())
@settings(deadline=None, max_examples=100)
def test_trees_of_any_graph(data, method, improve):
    graph = data.draw(UNDIRECTED)
    terminals = np.array(data.draw(st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=5)))
    options = {"method": method, "improve": improve, "backend": "cpu"}
    weights = graph.weights
    optimum = minimum_cost(graph, np.unique(terminals))
    if optimum is None:
        with pytest.raises(mgraph.DisconnectedError, match="lie in different components"):
            mgraph.steiner_tree(graph, terminals, **options)
        return
    tree = mgraph.steiner_tree(graph, terminals, **options)
    assert (tree.src > tree.dst).all()
    edges = tree.src, tree.dst, tree.weight
    cost = checks.check_tree((graph.indptr, graph.indices, weights), edges, np.unique(terminals))
    assert tree.cost == pytest.approx(cost, rel=1e-12)
    assert tree.terminals.tolist() == np.unique(terminals).tolist()
    assert tree.complete
    minimum = float(optimum)
    assert tree.cost >= minimum * (1 - 1e-9)
    factor = 2 if method != "star" else 4 * math.ceil(math.log2(max(2, tree.terminals.size))) + 4
    assert tree.cost <= factor * minimum * (1 + 1e-9)
    if improve:
        assert tree.lower_bound <= minimum * (1 + 1e-9)
        assert tree.gap >= 0


def test_what_a_result_holds():
    tree = mgraph.steiner_tree(SQUARE, [0, 3, 3], method="star", backend="cpu", bound=True)
    assert tree.cost == 3
    assert list(zip(tree.src.tolist(), tree.dst.tolist(), strict=True)) == [
        (1, 0),
        (2, 1),
        (3, 2),
    ]
    assert (tree.initial_cost, tree.searches, tree.accepted) == (5, 1, 1)
    assert (tree.lower_bound, tree.gap, tree.optimal) == (3, 0.0, True)
    assert tree.seconds.keys() == {
        "initial_tree", "searches", "splits_and_merges", "improvement",
    }  # fmt: skip
    assert (tree.method, tree.search, tree.backend) == ("star", "dijkstra", "cpu")
    plain = mgraph.steiner_tree(SQUARE, [0, 3], method="star", backend="cpu")
    assert plain.gap is None
    assert not plain.optimal


def test_the_method_suits_the_query():
    few = mgraph.steiner_tree(SQUARE, [0, 3], backend="cpu")
    assert (few.method, few.lower_bound, few.optimal) == ("dreyfus_wagner", 3, True)
    edges, _ = mgraph.CopyModel(2_000, 3, weights=(1, 50)).edges(backend="cpu")
    graph = mgraph.from_edges(edges, 2_000, directed=False, backend="cpu")
    many, costs = np.arange(0, 2_000, 50), {}
    for method in METHODS:
        if method == "dreyfus_wagner":
            with pytest.raises(mgraph.UsageError, match=r"12 at most .* \(got 40\)"):
                mgraph.steiner_tree(graph, many, method=method, backend="cpu")
            continue
        tree = mgraph.steiner_tree(graph, many, method=method, backend="cpu")
        assert tree.method == ("local_search" if method == "auto" else method)
        assert tree.lower_bound is None
        costs[method] = tree.cost
    assert costs["auto"] == costs["local_search"] == min(costs.values())
    assert mgraph.steiner_tree(graph, many, search="dijkstra").method == "star"
    assert mgraph.steiner_tree(graph, many, epsilon=0.1, backend="cpu").method == "star"
    improved = mgraph.steiner_tree(graph, many, improve=True, backend="cpu", time_limit=5)
    assert improved.method == "takahashi_matsuyama"
    assert improved.lower_bound <= improved.cost <= costs["auto"]


@pytest.mark.parametrize("method", METHODS)
def test_one_terminal_and_all_vertices(method):
    single = mgraph.steiner_tree(SQUARE, 6, method=method, backend="cpu", bound=True)
    assert (single.cost, single.src.size, single.gap) == (0, 0, 0.0)
    path = graph_of([(0, 1, 2), (1, 2, 3), (2, 0, 4)])
    spanning = mgraph.steiner_tree(path, [0, 1, 2], method=method, backend="cpu")
    assert spanning.cost == 5


def test_without_weights_each_edge_counts_one():
    graph = mgraph.from_edges(
        EdgeList(np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3])), directed=False, backend="cpu"
    )
    assert mgraph.steiner_tree(graph, [1, 3], backend="cpu").cost == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("improve", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_a_weight_that_rounding_absorbs(method, improve, dtype):
    graph = graph_of([(0, 1, 1), (1, 2, 1e-16), (2, 3, 1), (0, 3, 5)], dtype=dtype)
    tree = mgraph.steiner_tree(graph, [0, 3], method=method, improve=improve, backend="cpu")
    assert tree.weight.tolist() == np.array([1, 1e-16, 1], dtype).tolist()
    assert tree.cost == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_paths_are_shortest_over_30_decades(dtype):
    random = np.random.default_rng(3)
    for _ in range(30):
        ends = random.integers(0, 30, (2, 60))
        weights = (10 ** random.uniform(-15, 15, 60)).astype(dtype)
        weights[random.random(60) < 0.2] = np.finfo(dtype).smallest_subnormal
        edges = EdgeList(*ends, weights)
        graph = mgraph.from_edges(edges, 30, directed=False, backend="cpu")
        exact = oracles.distances(graph)
        for _, pair in zip(range(10), random.integers(0, 30, (10, 2)), strict=True):
            length = exact[pair[0]][pair[1]]
            if length is not None:
                tree = mgraph.steiner_tree(graph, pair, backend="cpu")
                assert tree.cost == pytest.approx(float(length), rel=1e-8)


def test_weights_of_zero_are_free():
    free = graph_of([(0, 1, 0), (1, 2, 0), (2, 0, 0), (2, 3, 7), (3, 4, 0), (1, 4, 7), (5, 5, 0)])
    tree = mgraph.steiner_tree(free, [0, 3], backend="cpu", bound=True)
    assert (tree.cost, tree.lower_bound) == (7, 7)
    checks.check_tree(checks.csr_of(free), (tree.src, tree.dst, tree.weight), [0, 3])
    assert mgraph.steiner_tree(free, [0, 1, 2], backend="cpu").cost == 0
    with pytest.raises(mgraph.DisconnectedError, match="terminals 0 and 5 lie in"):
        mgraph.steiner_tree(free, [5, 0], backend="cpu")


@pytest.mark.parametrize("method", METHODS)
def test_terminals_of_several_components(method):
    with pytest.raises(mgraph.DisconnectedError, match=r"terminals 1 and 4 .*; leave one"):
        mgraph.steiner_tree(SQUARE, [1, 4], method=method, backend="cpu")


@pytest.mark.parametrize(
    ("terminals", "options", "message"),
    [
        ([], {}, "terminals must hold at least one vertex"),
        ([7], {}, r"terminals must lie in \[0, 7\) \(got 7\)"),
        ([-1], {}, r"terminals must lie in \[0, 7\) \(got -1\)"),
        ([0.5], {}, "terminals must be a vertex or a list of vertices"),
        ([0, 1], {"method": "prim"}, "method must be one of auto, star, local_search"),
        ([0, 1], {"search": "dfs"}, "search must be one of auto, dijkstra, node, edge"),
        ([0, 1], {"backend": "tpu"}, "backend must be one of auto, cpu, gpu"),
        ([0, 1], {"epsilon": -1}, r"epsilon must be a finite number of at least 0 \(got -1\)"),
        (
            [0, 1],
            {"epsilon": math.nan},
            r"epsilon must be a finite number of at least 0 \(got nan\)",
        ),
        ([0, 1], {"time_limit": 0}, r"time_limit must be a number of seconds above 0 \(got 0\)"),
        ([0, 1], {"method": "mehlhorn", "epsilon": 0.1}, "are options of method star"),
        ([0, 1], {"search": "node", "backend": "cpu"}, "search node needs a GPU"),
        ([0, 1], {"search": "dijkstra", "backend": "gpu"}, "search dijkstra runs on a CPU"),
        ([0, 1], {"method": "mehlhorn", "backend": "gpu"}, "mehlhorn runs on a CPU"),
    ],
)
def test_bad_options_are_refused(terminals, options, message):
    with pytest.raises(mgraph.UsageError, match=message):
        mgraph.steiner_tree(SQUARE, terminals, **options)


def test_bad_graphs_are_refused():
    directed = mgraph.from_edges(EdgeList(np.array([0]), np.array([1])), backend="cpu")
    with pytest.raises(mgraph.UsageError, match="need an undirected graph"):
        mgraph.steiner_tree(directed, [0, 1])
    with pytest.raises(mgraph.UsageError, match=r"weights must be at least 0 .*the minimum is -1"):
        mgraph.steiner_tree(graph_of([(0, 1, -1)]), [0, 1])
    with pytest.raises(mgraph.UsageError, match=r"graph must be a Graph, .* \(got dict\)"):
        mgraph.steiner_tree({}, [0, 1])


def test_many_queries_and_what_cannot_be_solved():
    queries = [[0, 2], [4, 5], [0, 4], [6], [1, 3]]
    outcomes = dict(mgraph.steiner_trees(SQUARE, queries, backend="cpu", concurrency=2))
    assert sorted(outcomes) == [0, 1, 2, 3, 4]
    assert [outcomes[i].cost for i in (0, 1, 3, 4)] == [2, 1, 0, 2]
    assert isinstance(outcomes[2], mgraph.DisconnectedError)
    assert dict(mgraph.steiner_trees(SQUARE, [], backend="cpu")) == {}
    with pytest.raises(mgraph.UsageError, match=r"concurrency must be at least 1 \(got 0\)"):
        mgraph.steiner_trees(SQUARE, queries, concurrency=0)
    with pytest.raises(mgraph.UsageError, match=r"\(got 99\)"):
        mgraph.steiner_trees(SQUARE, [[0], [99]])  # before any query is solved


def ring(n, seed=1):
    """A ring of random weights with random chords."""
    random = np.random.default_rng(seed)
    src, dst = np.arange(n), np.roll(np.arange(n), 1)
    chords = random.integers(0, n, (2, 2 * n))
    weight = random.integers(1, 100, 3 * n).astype(np.int32)
    edges = EdgeList(np.concatenate([src, chords[0]]), np.concatenate([dst, chords[1]]), weight)
    return mgraph.from_edges(edges, n, directed=False, drop_loops=True, merge=True, backend="cpu")


def test_a_time_limit_returns_the_best_tree_so_far():
    graph = ring(3000)
    terminals = np.arange(0, 3000, 10)
    star = {"method": "star", "backend": "cpu"}
    unlimited = mgraph.steiner_tree(graph, terminals, **star)
    limited = mgraph.steiner_tree(graph, terminals, **star, time_limit=1e-4)
    assert unlimited.complete
    assert not limited.complete
    assert unlimited.cost < limited.cost <= limited.initial_cost
    edges = limited.src, limited.dst, limited.weight
    checks.check_tree(checks.csr_of(graph), edges, terminals)
    improved = mgraph.steiner_tree(graph, terminals, backend="cpu", improve=True, time_limit=3)
    assert improved.lower_bound <= improved.cost <= improved.initial_cost
    assert improved.cost <= unlimited.cost or not improved.complete


def test_threads_share_a_graph():
    graph, costs = ring(500), []
    queries = [np.arange(i, 500, 60) for i in range(8)]
    expected = [mgraph.steiner_tree(graph, query, backend="cpu").cost for query in queries]

    def solve(i):
        costs.append((i, mgraph.steiner_tree(graph, queries[i], backend="cpu").cost))

    threads = [threading.Thread(target=solve, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [cost for _, cost in sorted(costs)] == expected


@pytest.mark.parametrize("weight", [0, 1])
def test_what_is_prepared_is_freed_with_the_graph(weight):
    edges = EdgeList(np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([weight, 2, 3]))
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    assert mgraph.steiner_tree(graph, [0, 3]).cost == weight + 5
    reference = weakref.ref(graph)
    del graph
    gc.collect()
    assert reference() is None


def large_problem(k):
    edges, _ = mgraph.CopyModel(30_000, 4, weights=(1, 1000)).edges(backend="cpu")
    graph = mgraph.from_edges(edges, 30_000, directed=False, backend="cpu")
    return graph, [np.random.default_rng(i).choice(graph.n, k, replace=False) for i in range(500)]


def test_ctrl_c_ends_a_query_soon():
    graph, queries = large_problem(2000)
    mgraph.steiner_tree(graph, queries[0][:5], improve=True, backend="cpu")  # compiles
    interrupted = []

    def interrupt():
        interrupted.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.3, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        mgraph.steiner_tree(graph, queries[0], improve=True, backend="cpu")
    assert time.process_time() - interrupted[0] < 5 * PATIENCE


def test_closing_the_iterator_cancels_the_other_queries():
    graph, queries = large_problem(50)
    trees = mgraph.steiner_trees(graph, queries, improve=True, backend="cpu", concurrency=2)
    next(trees)
    start = time.process_time()
    trees.close()
    assert time.process_time() - start < 5 * PATIENCE


def test_a_prepared_graph_needs_no_new_search(monkeypatch):
    graph = graph_of([(0, 1, 2), (1, 2, 2)])
    prepare_queries(graph, "star", "auto", "cpu")
    monkeypatch.setattr(PreparedGraph, "_new_search", None)
    assert mgraph.steiner_tree(graph, [0, 2], backend="cpu").cost == 4


@pytest.mark.parametrize("epsilon", [np.float32(0), np.float64(1e-17), 1e-17, 0, True])
@pytest.mark.parametrize("weights", [(0.1, 0.2, 5.0), (2**53 + 3,) * 3])
def test_exchanges_end_whatever_type_or_size_epsilon_has(weights, epsilon):
    ends = np.array([0, 1, 0]), np.array([1, 2, 3])
    if weights[0] > 1:
        ends = np.zeros(3, int), np.array([1, 2, 3])
    edges = mgraph.EdgeList(*ends, np.array(weights))
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    tree = mgraph.steiner_tree(graph, [0, 2, 3], backend="cpu", epsilon=epsilon, time_limit=150)
    assert tree.complete
    assert tree.accepted == 0


def test_queries_that_take_different_methods_do_not_end_each_other(monkeypatch):
    """Those of one method are solved before those of another, in threads of their own."""
    monkeypatch.setattr(steiner_tree, "suits_star", lambda num_arcs, k: k < 3)
    queries = [[0, 1], [0, 1, 2], [0, 2], [3, 1, 2], [1, 3], [0, 1, 2, 3]]
    found = dict(mgraph.steiner_trees(SQUARE, queries, backend="cpu", concurrency=2))
    assert [found[i].method == "star" for i in range(6)] == [True, False] * 3
    assert [found[i].cost for i in range(6)] == [1, 2, 2, 2, 2, 3]


@pytest.mark.parametrize("weight", [5e-324, 3e-310, 1e-300, 1e-180])
@pytest.mark.parametrize("how", [{}, {"improve": True}, {"method": "dreyfus_wagner"}], ids=str)
def test_the_smallest_weights(weight, how):
    weights = np.array([weight, weight, weight, 2 * weight])
    edges = EdgeList(np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), weights)
    graph = mgraph.from_edges(edges, 4, directed=False, backend="cpu")
    tree = mgraph.steiner_tree(graph, [0, 3], backend="cpu", **how)
    assert tree.cost == 2 * weight
    assert tree.lower_bound <= tree.cost
    assert tree.optimal
