"""The forest of a list of edges is the forest of their graph."""

import numpy as np
import pytest
from hypothesis import given, settings

import mgraph
from mgraph import EdgeList
from mgraph.errors import UsageError
from mgraph.spanning_trees.edge_forest import forest_of_edges
from tests.spanning_trees.strategies import graphs


def shuffled(graph):
    """A graph's edges in random order and direction."""
    edges, random = graph.to_edges(), np.random.default_rng(1)
    order = random.permutation(len(edges))
    src, dst, *weight = (array[order] for array in edges)
    turned = random.random(len(edges)) < 0.5
    return EdgeList(np.where(turned, dst, src), np.where(turned, src, dst), *weight)


@settings(max_examples=100, deadline=None)
@given(graph=graphs())
def test_small_graphs_of_all_kinds(graph):
    forest = forest_of_edges(shuffled(graph), graph.n)
    expected = mgraph.minimum_spanning_forest(graph, backend="cpu")
    np.testing.assert_array_equal(forest.src, expected.src)
    np.testing.assert_array_equal(forest.dst, expected.dst)
    if graph.weights is None:
        assert forest.weight is None
    else:
        np.testing.assert_array_equal(forest.weight, expected.weight)
        assert forest.weight.dtype == expected.weight.dtype


@settings(max_examples=50, deadline=None)
@given(graph=graphs())
def test_forests_of_parts_merge_to_the_forest_of_all_edges(graph):
    edges = shuffled(graph)
    halves = edges.rows(0, len(edges) // 2), edges.rows(len(edges) // 2, len(edges))
    forests = [forest_of_edges(EdgeList(*map(np.copy, half)), graph.n) for half in halves]
    both = EdgeList(*map(np.concatenate, zip(*forests, strict=True)))
    merged = forest_of_edges(both, graph.n)
    expected = forest_of_edges(edges, graph.n)
    for ours, theirs in zip(merged, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_wrong_edges_are_refused():
    pair = np.array([0, 1]), np.array([1, 2])
    with pytest.raises(UsageError, match=r"must lie in \[0, n\) = \[0, 2\)"):
        forest_of_edges(EdgeList(*pair), 2)
    with pytest.raises(UsageError, match="must not be NaN"):
        forest_of_edges(EdgeList(*pair, np.array([1, np.nan])), 3)
    with pytest.raises(UsageError, match=r"finite weights \(got -inf\)"):
        forest_of_edges(EdgeList(*pair, np.array([1, -np.inf])), 3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeros_have_no_sign_and_the_least_floats_stay(dtype):
    weight = np.array([-0.0, np.finfo(dtype).smallest_subnormal, 0.0, -1], dtype)
    forest = forest_of_edges(EdgeList([1, 2, 3, 4], [0, 1, 2, 3], weight.copy()), 5)
    weight[0] = 0.0
    np.testing.assert_array_equal(forest.weight.view("u1"), weight.view("u1"))
