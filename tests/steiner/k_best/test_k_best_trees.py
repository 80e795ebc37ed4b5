"""The k best trees: compared with all minimal trees of small graphs."""

import itertools
from fractions import Fraction

import networkx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.core.edges import EdgeList
from tests.steiner.directed.test_steiner_arborescence import arcs, random_graph


def minimal_trees(graph, groups):
    """Yield the cost and the edges of every tree that loses a group with each of its leaves."""
    lightest = {}
    for u, v, weight in arcs(graph):
        if u > v:
            lightest[u, v] = min(weight, lightest.get((u, v), weight))
    for v in range(graph.n):
        if all(v in group for group in groups):
            yield Fraction(0), ()
    for count in range(1, graph.n):
        for edges in itertools.combinations(sorted(lightest), count):
            ends = [v for edge in edges for v in edge]
            if len(set(ends)) != count + 1 or not is_connected(edges):
                continue
            inside = set(ends)
            leaves = [v for v in inside if ends.count(v) == 1]
            if all(inside & set(group) for group in groups) and not any(
                all((inside - {leaf}) & set(group) for group in groups) for leaf in leaves
            ):
                yield sum(lightest[edge] for edge in edges), edges


def is_connected(edges):
    reached, rest = set(edges[0]), list(edges)
    while True:
        joined = [edge for edge in rest if reached & set(edge)]
        if not joined:
            return not rest
        reached |= {v for edge in joined for v in edge}
        rest = [edge for edge in rest if edge not in joined]


@st.composite
def problems(draw):
    n = draw(st.integers(2, 6))
    vertex = st.integers(0, n - 1)
    ends = draw(st.lists(st.tuples(vertex, vertex), min_size=1, max_size=9))
    largest = draw(st.sampled_from([2, 100]))
    weights = draw(st.lists(st.integers(1, largest), min_size=len(ends), max_size=len(ends)))
    src, dst = np.array(ends).T
    dtype = draw(st.sampled_from(["int32", "float64"]))
    edges = EdgeList(src, dst, (np.array(weights) / (1 if dtype == "int32" else 3)).astype(dtype))
    graph = mgraph.from_edges(edges, n, directed=False, backend="cpu")
    groups = st.lists(vertex, min_size=1, max_size=draw(st.sampled_from([1, 3])), unique=True)
    return graph, draw(st.lists(groups, min_size=1, max_size=4)), draw(st.sampled_from([1, 3, 50]))


def problem(ends, weights, groups):
    src, dst = np.array(ends).T
    graph = mgraph.from_edges(EdgeList(src, dst, np.array(weights)), directed=False, backend="cpu")
    return graph, groups, 50


@given(problems())
@example(  # a tree goes on at several vertices that it holds
    problem(
        [(2, 5), (0, 3), (4, 0), (3, 2), (0, 4), (3, 4)],
        [4, 15, 17, 8, 2, 12],
        [[1, 3, 0], [4, 3], [4, 3, 0], [3, 5, 2]],
    )
)
@example(
    problem(
        [(2, 3), (5, 0), (3, 0), (2, 5), (4, 3), (5, 1), (1, 4), (1, 0)],
        [1, 17, 19, 15, 2, 1, 2, 12],
        [[3, 1, 5], [2, 0], [5, 4]],
    )
)
@settings(deadline=None, max_examples=200)
def test_all_trees_of_small_graphs(problem):
    graph, groups, k = problem
    expected = sorted(minimal_trees(graph, groups))
    if not expected:
        with pytest.raises(mgraph.DisconnectedError):
            mgraph.k_best_steiner_trees(graph, groups, k)
        return
    trees = mgraph.k_best_steiner_trees(graph, groups, k)
    found = [tuple(sorted(zip(t.src.tolist(), t.dst.tolist(), strict=True))) for t in trees]
    assert len(trees) == min(k, len(expected))
    costs = [tree.cost for tree in trees]
    assert costs == pytest.approx([float(cost) for cost, _ in expected[:k]])
    known = [edges for _, edges in expected]
    assert all(edges in known for edges in found)
    inner = [edges for edges in found if edges]
    assert len(set(inner)) == len(inner)
    for tree in trees:
        assert all(v in group for v, group in zip(tree.terminals, groups, strict=True))
        assert tree.lower_bound == costs[0]


def test_a_hub_and_many_trees():
    graph = random_graph(300, 900, 3, directed=False)
    hub = EdgeList(np.zeros(200, int), np.arange(1, 201), np.full(200, 40))
    both = mgraph.EdgeList(
        np.concatenate([graph.to_edges().src, hub.src]),
        np.concatenate([graph.to_edges().dst, hub.dst]),
        np.concatenate([graph.to_edges().weight, hub.weight]),
    )
    graph = mgraph.from_edges(both, 300, directed=False, backend="cpu")
    trees = mgraph.k_best_steiner_trees(graph, [5, 77, 210], 30)
    costs = [tree.cost for tree in trees]
    assert len(trees) == 30
    assert costs == sorted(costs)
    assert costs[0] == mgraph.steiner_tree(graph, [5, 77, 210]).cost
    assert len({(tuple(t.src), tuple(t.dst)) for t in trees}) == 30


def test_edges_of_weight_0_and_labels():
    edges = EdgeList([0, 1, 2, 3, 0], [1, 2, 3, 4, 4], [0, 2, 0, 3, 9])
    graph = mgraph.from_edges(edges, directed=False, backend="cpu").with_labels("abcde")
    first, second = mgraph.k_best_steiner_trees(graph, [0, 4], 5)
    assert (first.cost, second.cost) == (5, 9)
    assert first.to_pandas().src_label.tolist() == ["b", "c", "d", "e"]


def test_a_time_limit():
    graph = random_graph(5000, 20_000, 3, directed=False)
    trees = mgraph.k_best_steiner_trees(graph, [1, 2, 3, 4, 5], 1000, time_limit=1.5)
    assert 1 <= len(trees) < 1000
    assert not trees[0].complete


@pytest.mark.parametrize(
    ("terminals", "k", "message"),
    [
        ([], 1, "terminals must hold"), ([0, []], 1, "terminal 1 must hold"),
        ([0, 9], 1, "terminal 1"), ([0, 1], 0, "k must be"), (list(range(9)), 1, "8 at most"),
    ],
)  # fmt: skip
def test_what_is_wrong(terminals, k, message):
    graph = random_graph(9, 20, 1, directed=False)
    with pytest.raises(mgraph.UsageError, match=message):
        mgraph.k_best_steiner_trees(graph, terminals, k)


@pytest.mark.parametrize("seed", range(12))
def test_two_groups_are_joined_by_the_shortest_simple_paths(seed):
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, 15, (2, 30))
    weight = random.integers(1, 30, 30)
    graph = mgraph.from_edges(EdgeList(src, dst, weight), 15, directed=False, backend="cpu")
    groups = [np.unique(random.integers(0, 15, 4)) for _ in range(2)]
    network = networkx.Graph()
    for i in np.argsort(-weight, kind="stable").tolist():  # the lightest of parallels is the last
        if src[i] != dst[i]:
            network.add_edge(int(src[i]), int(dst[i]), weight=int(weight[i]))
    network.add_edges_from([("first", v) for v in groups[0].tolist()], weight=0)
    network.add_edges_from([("last", v) for v in groups[1].tolist()], weight=0)
    costs = [0] * len(set(groups[0]) & set(groups[1]))
    if not networkx.has_path(network, "first", "last"):
        pytest.skip("the groups are not connected")
    for path in networkx.shortest_simple_paths(network, "first", "last", weight="weight"):
        inner = path[1:-1]
        if len(inner) > 1 and all(len(set(inner) & set(group)) == 1 for group in groups):
            costs.append(networkx.path_weight(network, inner, "weight"))
        if len(costs) >= 10:
            break
    trees = mgraph.k_best_steiner_trees(graph, groups, 10)
    assert [tree.cost for tree in trees] == sorted(costs)[:10]
