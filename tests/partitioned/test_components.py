"""The components over any number of ranks are those of one device."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import EdgeList
from mgraph.components.partitioned_components import count_sizes, label_components
from mgraph.components.partitioned_components_cpu import Steps
from mgraph.core.arrays import to_numpy
from tests.partitioned.ranks import on_ranks
from tests.strategies import graphs


def label_and_count(exchange, graph):
    found = label_components(exchange, graph)
    return found.labels, *count_sizes(exchange, graph, found)


def assert_same(graph, size, seed=0, on="cpu"):
    found = on_ranks(graph, size, label_and_count, seed, on)
    labels, components, sizes = (
        np.concatenate(list(map(to_numpy, columns))) for columns in zip(*found, strict=True)
    )
    expected = mgraph.connected_components(graph, backend="cpu").labels
    assert labels.dtype == expected.dtype
    np.testing.assert_array_equal(labels, expected)
    for one, other in zip(
        (components, sizes), np.unique(expected, return_counts=True), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@given(graph=graphs(dtypes=(None, "float32")), size=st.integers(1, 4), seed=st.integers(0, 9))
@settings(deadline=None, max_examples=150)
def test_labels_are_one_devices(graph, size, seed):
    assert_same(graph, size, seed)


def paths_and_cliques(n=4000, seed=1):
    """A graph of many components of all sizes, spread over the ranges of all ranks."""
    random = np.random.default_rng(seed)
    order = random.permutation(n)
    src = order[:-1][random.random(n - 1) < 0.9]
    dst = order[1:][: src.size]
    return mgraph.from_edges(EdgeList(src, dst), n, directed=False, backend="cpu")


@pytest.mark.parametrize("size", [2, 3, 5])
def test_many_components(size):
    graph = paths_and_cliques()
    assert mgraph.connected_components(graph).num_components > 100
    assert_same(graph, size)


def test_merged_pairs_say_the_same():
    one, other = np.array([9, 4, 7, 4]), np.array([5, 9, 8, 9])
    smallest, others = Steps.merge([(one[:1], other[:1]), (one[1:], other[1:])])
    np.testing.assert_array_equal(others, [5, 8, 9])
    np.testing.assert_array_equal(smallest, [4, 7, 4])
