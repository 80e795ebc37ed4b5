"""Prize-collecting trees: compared with all trees of small graphs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from tests import strategies as graphs
from tests.steiner import oracles
from tests.steiner.directed.test_steiner_arborescence import arcs, random_graph

GRAPHS = graphs.graphs(dtypes=("int32", "float32", "float64"), most=7, directed=False)


def minimum_cost(graph, prizes, root):
    """Try every connected set of vertices."""
    listed = [(u, v, w) for u, v, w in arcs(graph) if u != v]
    costs = []
    for count in range(1, graph.n + 1):
        for inside in map(set, itertools.combinations(range(graph.n), count)):
            if root is not None and root not in inside:
                continue
            edges = [edge for edge in listed if {edge[0], edge[1]} <= inside]
            spanning = oracles.spanning_edges(edges)
            if len(spanning) == count - 1:
                left_out = sum(Fraction(prizes[v]) for v in set(range(graph.n)) - inside)
                costs.append(oracles.cost(spanning) + left_out)
    return min(costs)


def check(graph, prizes, tree, root=None):
    """Assert that a result is a tree, and that its cost is right."""
    held = {*tree.src.tolist(), *tree.dst.tolist(), *tree.terminals.tolist()}
    held |= set() if root is None else {root}
    assert len(held) <= 1 or len(held) == tree.src.size + 1
    assert (
        len(oracles.spanning_edges(zip(tree.src, tree.dst, tree.weight, strict=True)))
        == tree.src.size
    )
    for u, v, weight in zip(tree.src, tree.dst, tree.weight, strict=True):
        row = slice(graph.indptr[u], graph.indptr[u + 1])
        listed = np.ones(graph.num_arcs) if graph.weights is None else graph.weights
        assert weight in listed[row][graph.indices[row] == v]
    missed = sum(Fraction(prizes[v]) for v in range(graph.n) if prizes[v] and v not in held)
    assert tree.vertex_cost == pytest.approx(float(missed))
    assert tree.cost == pytest.approx(float(missed) + float(tree.weight.sum()))
    assert tree.terminals.tolist() == sorted(v for v in held if prizes[v] > 0)


@pytest.mark.parametrize("prize", [1e3, 1e9, 1e15])
@pytest.mark.parametrize("improve", [False, True])
def test_prizes_that_force_a_tree_to_hold_terminals(prize, improve):
    """What is proved of a tree is proved in units of its own cost, not of all prizes."""
    for seed in range(12):
        random = np.random.default_rng(seed)
        edges = mgraph.EdgeList(*random.integers(0, 40, (2, 160)), random.random(160) + 0.5)
        graph = mgraph.from_edges(edges, 40, directed=False, drop_loops=True, backend="cpu")
        terminals = random.choice(np.flatnonzero(np.diff(graph.indptr)), 7, replace=False)
        prizes = np.zeros(40)
        prizes[terminals] = prize
        best = mgraph.steiner_tree(graph, terminals, method="dreyfus_wagner", backend="cpu")
        tree = mgraph.prize_collecting_steiner_tree(graph, prizes, improve=improve)
        assert tree.lower_bound <= best.cost * (1 + 1e-9)
        assert tree.cost >= best.cost * (1 - 1e-9)
        if tree.optimal:
            assert tree.cost == pytest.approx(best.cost, rel=1e-8)


@given(st.data(), GRAPHS, st.booleans(), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=150)
def test_small_graphs(data, graph, are_whole, has_root, improve):
    prize = st.integers(0, 20) if are_whole else st.floats(0, 20)
    prizes = data.draw(st.lists(prize, min_size=graph.n, max_size=graph.n))
    if not are_whole:  # prizes that force a tree to hold vertices, or cannot pay for an edge
        factor = data.draw(st.sampled_from([1.0, 1e-9, 1e9, 1e18]))
        prizes = [factor * prize for prize in prizes]
    root = data.draw(st.integers(0, graph.n - 1)) if has_root else None
    tree = mgraph.prize_collecting_steiner_tree(graph, prizes, root=root, improve=improve)
    check(graph, prizes, tree, root)
    optimum = float(minimum_cost(graph, prizes, root))
    slack = 1e-9 * optimum
    assert tree.lower_bound <= optimum + slack
    assert tree.cost >= optimum - slack
    if tree.optimal or improve:
        assert tree.cost == pytest.approx(optimum, rel=2e-9, abs=0)


@pytest.mark.parametrize("root", [None, 5])
def test_a_larger_graph(root):
    graph = random_graph(300, 900, 1, directed=False)
    random = np.random.default_rng(2)
    prizes = np.where(random.random(300) < 0.3, random.integers(1, 120, 300), 0)
    quick = mgraph.prize_collecting_steiner_tree(graph, prizes, root=root)
    better = mgraph.prize_collecting_steiner_tree(graph, prizes, root=root, improve=True)
    for tree in (quick, better):
        check(graph, prizes, tree, root)
    assert 0 < quick.lower_bound <= better.lower_bound <= better.cost <= quick.cost
    assert better.gap < 0.05


@pytest.mark.parametrize("weight", [5e-324, 3e-310, 1e-300, 1e-180, 1.0])
def test_the_smallest_weights(weight):
    """Two edges connect two prizes that are worth more, however little all of them weigh."""
    edges = mgraph.EdgeList(
        np.array([1, 2, 2]), np.array([0, 0, 1]), weight * np.array([1, 5, 1.0])
    )
    graph = mgraph.from_edges(edges, 3, directed=False, backend="cpu")
    tree = mgraph.prize_collecting_steiner_tree(graph, weight * np.array([9, 0, 9.0]))
    assert tree.src.tolist() == [1, 2]
    assert tree.dst.tolist() == [0, 1]


def test_a_time_limit():
    graph = random_graph(3000, 9000, 1, directed=False)
    prizes = np.random.default_rng(2).integers(0, 60, 3000)
    tree = mgraph.prize_collecting_steiner_tree(graph, prizes, improve=True, time_limit=1)
    check(graph, prizes, tree)
    assert not tree.complete


def test_what_is_wrong():
    graph = random_graph(4, 4, 1, directed=False)
    with pytest.raises(mgraph.UsageError, match="prizes must be one number for each"):
        mgraph.prize_collecting_steiner_tree(graph, [1, 2])
    with pytest.raises(mgraph.UsageError, match="prizes must be finite and at least 0"):
        mgraph.prize_collecting_steiner_tree(graph, [1, 2, -1, 0])
    with pytest.raises(mgraph.UsageError, match="root"):
        mgraph.prize_collecting_steiner_tree(graph, [1, 2, 1, 0], root=4)
    with pytest.raises(mgraph.UsageError, match="undirected"):
        mgraph.prize_collecting_steiner_tree(random_graph(4, 4, 1), [1, 2, 1, 0])
