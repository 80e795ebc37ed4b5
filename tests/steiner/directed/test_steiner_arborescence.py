"""Arborescences and trees with weights of vertices: compared with all of them on small graphs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.core.edges import EdgeList
from mgraph.steiner.directed import search as searches
from tests import strategies as graphs
from tests.steiner import oracles

DTYPES = ("int32", "float32", "float64")
DIRECTED = graphs.graphs(dtypes=DTYPES, most=8, directed=True)
UNDIRECTED = graphs.graphs(dtypes=DTYPES, most=8, directed=False)


def arcs(graph):
    for u in range(graph.n):
        for arc in range(graph.indptr[u], graph.indptr[u + 1]):
            weight = 1 if graph.weights is None else graph.weights[arc].item()
            yield u, int(graph.indices[arc]), Fraction(weight)


def minimum_arborescence(graph, root, terminals):
    """The minimum cost by dynamic programming over all sets of terminals; None if there is none."""
    targets = sorted(set(terminals) - {root})
    vertices, listed = range(graph.n), list(arcs(graph))
    best = {0: dict.fromkeys(vertices, Fraction(0))}
    for groups in range(1, 1 << len(targets)):
        cost = dict.fromkeys(vertices)
        for v in vertices:
            if groups & (groups - 1) == 0 and targets[groups.bit_length() - 1] == v:
                cost[v] = Fraction(0)
            part = (groups - 1) & groups
            while part:
                halves = best[part][v], best[groups ^ part][v]
                if None not in halves and (cost[v] is None or sum(halves) < cost[v]):
                    cost[v] = sum(halves)
                part = (part - 1) & groups
        for _ in vertices:  # Bellman, Ford
            for u, v, weight in listed:
                if cost[v] is not None and (cost[u] is None or cost[v] + weight < cost[u]):
                    cost[u] = cost[v] + weight
        best[groups] = cost
    return best[(1 << len(targets)) - 1][root]


def check_arborescence(graph, root, terminals, tree):
    """Assert that a result is an arborescence; return its cost."""
    into = dict(zip(tree.dst.tolist(), tree.src.tolist(), strict=True))
    assert len(into) == tree.dst.size
    assert root not in into
    listed = list(arcs(graph))
    for u, v, weight in zip(tree.src, tree.dst, tree.weight, strict=True):
        assert (u, v, Fraction(weight.item())) in listed
    for v in [*into, *terminals]:
        for _ in range(graph.n):
            v = into.get(v, v)
        assert v == root
    leaves = set(into) - set(into.values())
    assert leaves <= set(terminals)
    return sum(Fraction(weight.item()) for weight in tree.weight)


@pytest.mark.parametrize("weight", [5e-324, 3e-310, 1e-300, 1e-180, 1.0])
@pytest.mark.parametrize("detour", [0, 0.4])
def test_the_smallest_weights(weight, detour, monkeypatch):
    """A detour of two arcs is lighter than one arc, however little all of them weigh."""
    monkeypatch.setattr(searches, "MAX_STATES", 0)
    weights = np.array([detour * weight, 5 * weight, detour * weight])
    edges = EdgeList(np.array([1, 2, 2]), np.array([0, 0, 1]), weights)
    graph = mgraph.from_edges(edges, 3, directed=True, backend="cpu")
    tree = mgraph.steiner_arborescence(graph, 2, [0])
    assert tree.cost == 2 * weights[0]
    assert tree.lower_bound <= tree.cost


@pytest.mark.parametrize("tiny", [1.4e-45, 1e-30, 1e-12, 1e-6])
@pytest.mark.parametrize("states", [0, searches.MAX_STATES])
def test_a_tree_far_cheaper_than_the_first_one(tiny, states, monkeypatch):
    """In units of arcs of 10^35 all others weigh nothing, and in those of 1 the tiny ones do."""
    monkeypatch.setattr(searches, "MAX_STATES", states)
    src, dst = [2, 2, 1, 1, 0, 0], [0, 1, 3, 0, 3, 4]
    weights = np.array([1, 0, 3 * tiny, tiny, tiny, 2e35], np.float32)
    edges = EdgeList(np.array(src), np.array(dst), weights)
    graph = mgraph.from_edges(edges, 5, directed=True, backend="cpu")
    tree = mgraph.steiner_arborescence(graph, 2, [3])
    assert tree.cost == pytest.approx(2 * float(np.float32(tiny)), rel=1e-6, abs=0)
    assert tree.lower_bound <= tree.cost


@given(st.data(), DIRECTED | UNDIRECTED, st.booleans(), st.booleans())
@settings(deadline=None, max_examples=200)
def test_arborescences(data, graph, improve, is_exact):
    vertex = st.integers(0, graph.n - 1)
    root, terminals = data.draw(vertex), data.draw(st.lists(vertex, min_size=1, max_size=4))
    optimum = minimum_arborescence(graph, root, terminals)
    with pytest.MonkeyPatch.context() as patch:
        if not is_exact:
            patch.setattr(searches, "MAX_STATES", 0)
        if optimum is None:
            with pytest.raises(mgraph.DisconnectedError, match="no path leads from"):
                mgraph.steiner_arborescence(graph, root, terminals, improve=improve)
            return
        tree = mgraph.steiner_arborescence(graph, root, terminals, improve=improve)
    cost = check_arborescence(graph, root, terminals, tree)
    assert tree.cost == pytest.approx(float(cost))
    assert tree.root == root
    assert tree.terminals.tolist() == sorted(set(terminals))
    slack = 1e-9 * float(optimum)
    assert tree.lower_bound <= float(optimum) + slack
    assert tree.cost >= float(optimum) - slack
    if is_exact or tree.optimal:
        assert tree.optimal
        assert tree.cost == pytest.approx(float(optimum))


def minimum_with_vertices(graph, terminals, extra):
    """Try every set of vertices that holds the terminals; None if none is connected."""
    listed = [(u, v, w) for u, v, w in arcs(graph) if u != v]
    others = sorted(set(range(graph.n)) - set(terminals))
    costs = []
    for count in range(len(others) + 1):
        for chosen in itertools.combinations(others, count):
            inside = {*chosen, *terminals}
            edges = [edge for edge in listed if {edge[0], edge[1]} <= inside]
            spanning = oracles.spanning_edges(edges)
            if len(spanning) == len(inside) - 1:
                costs.append(oracles.cost(spanning) + sum(Fraction(extra[v]) for v in inside))
    return min(costs, default=None)


@given(st.data(), UNDIRECTED, st.booleans())
@settings(deadline=None, max_examples=100)
def test_weights_of_vertices(data, graph, are_whole):
    vertex = st.integers(0, graph.n - 1)
    terminals = data.draw(st.lists(vertex, min_size=1, max_size=4))
    weight = st.integers(0, 20) if are_whole else st.floats(0, 20)
    extra = data.draw(st.lists(weight, min_size=graph.n, max_size=graph.n))
    optimum = minimum_with_vertices(graph, set(terminals), extra)
    if optimum is None:
        with pytest.raises(mgraph.DisconnectedError):
            mgraph.node_weighted_steiner_tree(graph, terminals, extra)
        return
    tree = mgraph.node_weighted_steiner_tree(graph, terminals, extra)
    held = {*tree.src.tolist(), *tree.dst.tolist(), *terminals}
    assert len(held) == tree.src.size + 1
    assert tree.vertex_cost == pytest.approx(float(sum(Fraction(extra[v]) for v in held)))
    assert tree.cost == pytest.approx(float(tree.weight.sum()) + float(tree.vertex_cost))
    assert (tree.src > tree.dst).all()
    assert tree.cost == pytest.approx(float(optimum), abs=1e-9)
    assert tree.optimal


def random_graph(n, m, seed, directed=True):
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, n, (2, m))
    ring = np.arange(n)
    edges = EdgeList(
        np.concatenate([src, ring]), np.concatenate([dst, (ring + 1) % n]),
        random.integers(1, 101, m + n),
    )  # fmt: skip
    return mgraph.from_edges(edges, n, directed=directed, backend="cpu")


def test_many_terminals():
    graph = random_graph(400, 1500, 1)
    terminals = np.random.default_rng(2).choice(400, 60, replace=False)
    quick = mgraph.steiner_arborescence(graph, 0, terminals)
    better = mgraph.steiner_arborescence(graph, 0, terminals, improve=True)
    for tree in (quick, better):
        check_arborescence(graph, 0, terminals.tolist(), tree)
    assert better.cost <= quick.cost <= quick.initial_cost
    assert better.lower_bound >= quick.lower_bound > 0
    assert better.gap < 0.03
    again = mgraph.steiner_arborescence(graph, 0, terminals, improve=True)
    assert again.dst.tolist() == better.dst.tolist()


def test_a_time_limit():
    graph = random_graph(3000, 12_000, 1)
    terminals = np.random.default_rng(2).choice(3000, 800, replace=False)
    tree = mgraph.steiner_arborescence(graph, 0, terminals, improve=True, time_limit=0.5)
    check_arborescence(graph, 0, terminals.tolist(), tree)
    assert not tree.complete
    assert tree.seconds["improvement"] < 3


def test_what_is_wrong():
    graph = random_graph(5, 5, 1)
    with pytest.raises(mgraph.UsageError, match="root"):
        mgraph.steiner_arborescence(graph, 5, [1])
    with pytest.raises(mgraph.UsageError, match="terminals must hold"):
        mgraph.steiner_arborescence(graph, 0, [])
    with pytest.raises(mgraph.UsageError, match="time_limit"):
        mgraph.steiner_arborescence(graph, 0, [1], time_limit=0)
    with pytest.raises(mgraph.UsageError, match="undirected"):
        mgraph.node_weighted_steiner_tree(graph, [0, 1], np.ones(5))
    graph = random_graph(5, 5, 1, directed=False)
    for wrong in ([1, 2], [-1, 0, 0, 0, 0], [np.nan] * 5, ["a"] * 5):
        with pytest.raises(mgraph.UsageError, match="vertex_weights must be"):
            mgraph.node_weighted_steiner_tree(graph, [0, 1], wrong)
    with pytest.raises(mgraph.UsageError, match="overflow"):
        mgraph.node_weighted_steiner_tree(graph, [0, 1], [1 << 60] * 5)


@pytest.mark.parametrize(
    ("rows", "terminals", "vertex_weights"),
    [
        (
            [(0, 4, 0), (5, 2, 0), (0, 1, 1), (1, 2, 0), (2, 3, 1), (3, 4, 1), (4, 5, 0)],
            range(6), [1, 0, 1, 1, 0, 1],
        ),
        (
            [
                (4, 3, 1), (4, 0, 1), (0, 1, 0), (1, 2, 1), (2, 3, 1), (3, 4, 0), (4, 5, 0),
                (5, 6, 0),
            ],
            [3, 4, 5, 1, 2], [1, 1, 1, 1, 0, 0, 1],
        ),
    ],
)  # fmt: skip
def test_edges_and_vertices_that_cost_nothing(rows, terminals, vertex_weights):
    """The branches that dynamic programming unites may overlap there."""
    edges = mgraph.EdgeList(*map(np.array, zip(*rows, strict=True)))
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    tree = mgraph.node_weighted_steiner_tree(graph, list(terminals), vertex_weights)
    mgraph.check_steiner_tree(graph, tree, terminals=terminals, vertex_weights=vertex_weights)
    assert tree.optimal


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_trees_of_small_weights_are_trees(data):
    n = data.draw(st.integers(2, 8))
    ends = [(data.draw(st.integers(0, v - 1)), v) for v in range(1, n)]
    vertex = st.integers(0, n - 1)
    pairs = st.tuples(vertex, vertex).filter(lambda pair: pair[0] != pair[1])
    ends += data.draw(st.lists(pairs, max_size=2 * n))
    draw_weights = st.integers(0, 1)
    rows = [(u, v, data.draw(draw_weights)) for u, v in ends]
    edges = mgraph.EdgeList(*map(np.array, zip(*rows, strict=True)))
    graph = mgraph.from_edges(edges, n, directed=False, backend="cpu")
    terminals = data.draw(st.lists(vertex, min_size=1, max_size=n))
    weights = data.draw(st.lists(draw_weights, min_size=n, max_size=n))
    tree = mgraph.node_weighted_steiner_tree(graph, terminals, weights)
    mgraph.check_steiner_tree(graph, tree, terminals=terminals, vertex_weights=weights)
    rooted = mgraph.steiner_arborescence(graph, 0, terminals)
    mgraph.check_steiner_tree(graph, rooted, terminals=terminals)
