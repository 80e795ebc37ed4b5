"""Group Steiner trees: the best of all choices of a vertex per group, and what users get wrong."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.core.edges import EdgeList
from mgraph.steiner.groups import group_queries, group_search
from mgraph.steiner.groups.lengths import choose_units, find_facts
from tests import strategies as graphs
from tests.steiner import checks, oracles

GRAPHS = graphs.graphs(dtypes=("int32", "float32", "float64"), most=10, directed=False)


@st.composite
def queries(draw, most_groups=4):
    graph = draw(GRAPHS)
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3)
    return graph, draw(st.lists(vertices, min_size=1, max_size=most_groups))


def minimum_cost(graph, groups):
    """Try every choice of a vertex per group; None if no tree exists."""
    lengths = oracles.distances(graph)
    costs = []
    for choice in itertools.product(*map(set, groups)):
        terminals = sorted(set(choice))
        if all(lengths[terminals[0]][t] is not None for t in terminals):
            costs.append(oracles.optimum(graph, terminals) if len(terminals) > 1 else 0)
    return min(costs, default=None)


def check(graph, groups, tree):
    """Assert that a result is a tree of the graph that holds what it says; return its cost."""
    assert all(v in group for v, group in zip(tree.terminals, groups, strict=True))
    terminals = np.unique(tree.terminals)
    cost = checks.check_tree(checks.csr_of(graph), (tree.src, tree.dst, tree.weight), terminals)
    assert tree.cost == pytest.approx(float(cost), rel=1e-12)
    held = {*tree.src.tolist(), *tree.dst.tolist(), *terminals.tolist()}
    assert [min(held & set(group)) for group in groups] == tree.terminals.tolist()
    return cost


@st.composite
def unequal_queries(draw):
    """Queries with weights that no single unit suits, multiples of 2^-10."""
    n = draw(st.integers(2, 7))
    ends = st.lists(st.integers(0, n - 1), min_size=2 * n, max_size=2 * n)
    sizes = st.sampled_from([0, 2.0**-10, 0.5, 3, 1e6, 1e13, 2.0**50])
    weight = np.array(draw(st.lists(sizes, min_size=2 * n, max_size=2 * n)))
    edges = EdgeList(np.array(draw(ends)), np.array(draw(ends)), weight)
    graph = mgraph.from_edges(edges, n, directed=False, backend="cpu")
    vertices = st.lists(st.integers(0, n - 1), min_size=1, max_size=3)
    return graph, draw(st.lists(vertices, min_size=1, max_size=3))


@given(queries() | unequal_queries())
@settings(deadline=None, max_examples=250)
def test_the_best_tree(query):
    graph, groups = query
    optimum = minimum_cost(graph, groups)
    if optimum is None:
        with pytest.raises(mgraph.DisconnectedError, match="vertex of each group"):
            mgraph.group_steiner_tree(graph, groups)
        return
    tree = mgraph.group_steiner_tree(graph, groups)
    assert check(graph, groups, tree) == pytest.approx(float(optimum), rel=1e-9)
    assert (tree.method, tree.optimal, tree.complete) == ("dreyfus_wagner", True, True)


@given(queries(), st.booleans(), st.sampled_from([0, 1, 3]))
@settings(deadline=None, max_examples=60)
def test_a_search_that_is_given_up(query, improve, max_states):
    graph, groups = query
    optimum = minimum_cost(graph, groups)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_queries, "MAX_STATES", max_states)
        if optimum is None:
            with pytest.raises(mgraph.DisconnectedError):
                mgraph.group_steiner_tree(graph, groups)
            return
        tree = mgraph.group_steiner_tree(graph, groups, improve=improve)
    cost = check(graph, groups, tree)
    assert tree.lower_bound <= float(optimum) * (1 + 1e-9)
    assert float(optimum) * (1 - 1e-9) <= float(cost)
    if improve:
        assert tree.optimal


def test_more_groups_than_the_exact_search_takes():
    random = np.random.default_rng(3)
    src, dst = random.integers(0, 60, (2, 200))
    edges = EdgeList(src, dst, random.integers(1, 20, 200))
    graph = mgraph.from_edges(edges, 61, directed=False, backend="cpu")  # vertex 60 is alone
    groups = [random.integers(0, 60, 2) for _ in range(group_queries.MAX_GROUPS + 8)]
    tree = mgraph.group_steiner_tree(graph, groups, improve=True)
    check(graph, groups, tree)
    assert tree.optimal
    assert tree.method == "local_search"
    with pytest.raises(mgraph.DisconnectedError):
        mgraph.group_steiner_tree(graph, [*groups, [60]])


def test_groups_that_hold_another_group_cost_nothing(monkeypatch):
    sizes = []
    solve = group_search.solve
    monkeypatch.setattr(
        group_search, "solve", lambda graph, groups, *rest: sizes.append(len(groups))
        or solve(graph, groups, *rest),
    )  # fmt: skip
    graph = mgraph.from_edges(EdgeList([0, 1, 2], [1, 2, 3], [1, 1, 1]), directed=False)
    tree = mgraph.group_steiner_tree(graph, [[3], [1, 2], [0, 3], [2, 1, 0], [1, 2]])
    assert sizes == [2]
    assert (tree.cost, tree.terminals.tolist()) == (1, [3, 2, 3, 2, 2])
    assert mgraph.group_steiner_tree(graph, [[2, 1], [0, 1, 2]]).terminals.tolist() == [1, 1]


@pytest.mark.parametrize(
    "weight", [10**9, 1, 0.1, 1e-300, 1e300, np.float32(0.3)], ids=lambda weight: f"{weight:g}"
)
def test_a_long_tree(weight):
    n = 40_000
    weights = np.full(n - 1, weight)
    graph = mgraph.from_edges(
        EdgeList(np.arange(n - 1), np.arange(1, n), weights), directed=False, backend="cpu"
    )
    tree = mgraph.group_steiner_tree(graph, [[0], [n - 1], [n // 2, 7]])
    assert (tree.src.size, tree.optimal) == (n - 1, True)


def test_a_tree_of_weights_that_are_small_beside_others():
    graph = mgraph.from_edges(
        EdgeList([0, 1, 0, 2, 3], [1, 2, 3, 3, 4], [3e-14, 3e-14, 5e-14, 2e-14, 1e6]),
        directed=False, backend="cpu",
    )  # fmt: skip
    tree = mgraph.group_steiner_tree(graph, [[0], [2, 4]])
    assert (tree.src.tolist(), tree.dst.tolist()) == ([1, 2], [0, 1])
    edges = EdgeList([0, 1], [1, 2], [1 << 61, 1 << 61])
    with pytest.raises(mgraph.UsageError, match="overflow"):
        mgraph.group_steiner_tree(mgraph.from_edges(edges, directed=False), [[0], [2]])


@pytest.mark.parametrize("dtype", ["int32", "float64", "float32"])
def test_lengths_keep_the_order_of_trees_and_break_ties(dtype):
    random = np.random.default_rng(1)
    weights = random.integers(1, 1000, 500).astype(dtype)
    if dtype != "int32":
        weights /= 8
    indptr, indices = np.arange(501), random.integers(0, 501, 500)
    units = choose_units(find_facts(weights, 501))
    lengths = units.write(indptr, indices, weights)
    assert units.is_exact
    scale = int(units.scale[0] * units.scale[1])
    assert (lengths >> units.shift == (weights * scale).astype(int)).all()
    low = lengths & ((1 << units.shift) - 1)
    assert low.min() > 0
    assert low.sum() < 1 << units.shift
    assert np.unique(low).size > 400
    assert units.to_bound(int(lengths.sum()), 501) == weights.sum()


def test_queries_side_by_side():
    random = np.random.default_rng(5)
    src, dst = random.integers(0, 300, (2, 1000))
    graph = mgraph.from_edges(
        EdgeList(src, dst, random.integers(1, 9, 1000)), directed=False, backend="cpu"
    )
    queries = [[random.integers(0, 300, 5) for _ in range(3)] for _ in range(20)]
    one = dict(mgraph.group_steiner_trees(graph, queries, concurrency=1))
    for concurrency in (None, 7):
        many = dict(mgraph.group_steiner_trees(graph, queries, concurrency=concurrency))
        assert sorted(many) == list(range(20))
        for i, tree in many.items():
            assert (tree.src.tolist(), tree.dst.tolist()) == (
                one[i].src.tolist(), one[i].dst.tolist()
            )  # fmt: skip


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "groups must hold at least one group"),
        ([[0], []], "group 1 must hold at least one vertex"),
        ([[0], [9]], "group 1"),
        ([[0], ["a"]], "group 1"),
        (5, "groups must be a list"),
    ],
)
def test_groups_that_are_wrong(groups, message):
    graph = mgraph.from_edges(EdgeList([0], [1], [1]), directed=False)
    with pytest.raises(mgraph.UsageError, match=message):
        mgraph.group_steiner_tree(graph, groups)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"backend": "tpu"}, "backend"), ({"time_limit": 0}, "time_limit must be")],
)
def test_options_that_are_wrong(options, message):
    graph = mgraph.from_edges(EdgeList([0], [1], [1]), directed=False)
    with pytest.raises(mgraph.UsageError, match=message):
        mgraph.group_steiner_tree(graph, [[0], [1]], **options)
    with pytest.raises(mgraph.UsageError, match="concurrency"):
        mgraph.group_steiner_trees(graph, [], concurrency=0)
    with pytest.raises(mgraph.UsageError, match="query 1: group 0"):
        mgraph.group_steiner_trees(graph, [[[0]], [[7]]])


def test_a_time_limit_ends_with_a_tree_and_a_bound():
    random = np.random.default_rng(2)
    src, dst = random.integers(0, 30_000, (2, 120_000))
    graph = mgraph.from_edges(
        EdgeList(src, dst, random.integers(1, 101, src.size)), directed=False, backend="cpu"
    )
    groups = [random.integers(0, 30_000, 3) for _ in range(10)]
    tree = mgraph.group_steiner_tree(graph, groups, time_limit=0.5)
    check(graph, groups, tree)
    assert not tree.complete
    assert 0 < tree.lower_bound < tree.cost
