"""The checker of Steiner trees accepts what all functions return, and finds every fault."""

from dataclasses import replace

import numpy as np
import pytest

import mgraph
from mgraph.core.edges import EdgeList

RANDOM = np.random.default_rng(1)


def random_graph(directed, dtype="int32", n=60, m=200):
    src, dst = np.append(RANDOM.integers(0, n, (2, m)), [np.arange(n - 1), np.arange(1, n)], 1)
    weight = RANDOM.integers(0, 20, src.size).astype(dtype)
    if dtype.startswith("float"):
        weight += RANDOM.random(src.size).astype(dtype)
    return mgraph.from_edges(EdgeList(src, dst, weight), n, directed=directed, backend="cpu")


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_all_results_pass(dtype):
    graph, arcs = random_graph(False, dtype), random_graph(True, dtype)
    weights, prizes = RANDOM.random(60), RANDOM.integers(0, 30, 60)
    for _ in range(3):
        vertices = RANDOM.choice(60, 5, replace=False)
        groups = [RANDOM.integers(0, 60, 4) for _ in range(3)]
        check = mgraph.check_steiner_tree
        check(graph, mgraph.steiner_tree(graph, vertices), terminals=vertices)
        check(graph, mgraph.group_steiner_tree(graph, groups), groups=list(map(set, groups)))
        for tree in mgraph.k_best_steiner_trees(graph, vertices[:3], 4):
            check(graph, tree, terminals=vertices[:3])
        check(arcs, mgraph.steiner_arborescence(arcs, 0, vertices), terminals=vertices)
        tree = mgraph.node_weighted_steiner_tree(graph, vertices, weights)
        check(graph, tree, terminals=vertices, vertex_weights=weights)
        check(graph, mgraph.prize_collecting_steiner_tree(graph, prizes), prizes=prizes)
        rooted = mgraph.prize_collecting_steiner_tree(graph, prizes, root=9)
        check(graph, rooted, prizes=prizes, root=9)
    mgraph.check_steiner_tree(graph, mgraph.steiner_tree(graph, [7]))


SQUARE = mgraph.from_edges(
    EdgeList([0, 1, 2, 3, 4], [1, 2, 3, 0, 0], [1, 1, 1, 5, 2]), directed=False, backend="cpu"
)


@pytest.fixture
def tree():
    return mgraph.steiner_tree(SQUARE, [0, 2, 3], bound=True)


def changed(tree, *rows, **more):
    """Return the tree with other edges: rows of src, dst and weight."""
    src, dst, weight = (np.array(column) for column in zip(*rows, strict=True))
    total = {"cost": int(weight.sum()), "lower_bound": 0} | more
    return replace(tree, src=src, dst=dst, weight=weight, **total)


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([(1, 0, 1), (2, 1, 1), (3, 2, 2)], "its edge from 3 to 2 has a weight of 2"),
        ([(1, 0, 1), (2, 1, 1), (3, 1, 1)], "no edge from 3 to 1"),
        ([(1, 0, 1), (2, 1, 1), (9, 2, 1)], "a vertex that the graph lacks"),
        ([(1, 0, 1), (2, 1, 1), (3, 2, 1), (3, 0, 5)], "4 vertices and 4 edges"),
        ([(1, 0, 1), (3, 2, 1)], "4 vertices and 2 edges"),
        ([(1, 0, 1), (2, 1, 1)], "lacks the terminal 3"),
        ([(1, 0, 1), (2, 1, 1), (3, 2, 1), (4, 0, 2)], "its leaf 4 is no terminal"),
    ],
)
def test_wrong_edges_are_found(tree, rows, fault):
    with pytest.raises(mgraph.MgraphError, match=fault):
        mgraph.check_steiner_tree(SQUARE, changed(tree, *rows))


def test_wrong_figures_are_found(tree):
    for wrong, fault in (
        ({"cost": 4}, "its cost is 4, and should be 3"),
        ({"lower_bound": 4}, "lower bound is 4, above its cost of 3"),
        ({"vertex_cost": 1}, "its cost is 3, and should be 4"),
    ):
        with pytest.raises(mgraph.MgraphError, match=fault):
            mgraph.check_steiner_tree(SQUARE, replace(tree, **wrong))
    with pytest.raises(mgraph.MgraphError, match="found for other terminals"):
        mgraph.check_steiner_tree(SQUARE, tree, terminals=[0, 4])
    with pytest.raises(mgraph.MgraphError, match="lacks the terminal 4"):
        mgraph.check_steiner_tree(SQUARE, tree, root=4)
    with pytest.raises(mgraph.UsageError, match=r"prizes must have the shape \(5,\)"):
        mgraph.check_steiner_tree(SQUARE, tree, prizes=[1, 2])


def test_wrong_groups_are_found():
    tree = mgraph.group_steiner_tree(SQUARE, [[0, 4], [3]])
    for groups, fault in (
        ([[0, 4]], "2 terminals for 1 groups"),
        ([[4], [3]], "its terminal 0 is not in group 0"),
    ):
        with pytest.raises(mgraph.MgraphError, match=fault):
            mgraph.check_steiner_tree(SQUARE, tree, groups=groups)


def test_arcs_lead_away_from_the_root():
    graph = mgraph.from_edges(
        EdgeList([0, 1, 1, 2], [1, 0, 2, 1], [1, 1, 1, 1]), directed=True, backend="cpu"
    )
    tree = mgraph.steiner_arborescence(graph, 0, [2])
    turned = replace(tree, src=tree.dst, dst=tree.src)
    for wrong, fault in (
        (turned, "lead away from the root"),
        (replace(tree, root=5), "its root 5"),
    ):
        with pytest.raises(mgraph.MgraphError, match=fault):
            mgraph.check_steiner_tree(graph, wrong)
