"""The components over any number of ranks are those of one device."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import EdgeList
from mgraph.components.partitioned_components import label_components
from mgraph.components.partitioned_components_cpu import Steps
from tests.partitioned.ranks import on_ranks
from tests.strategies import graphs


def assert_same(graph, size, seed=0, on="cpu"):
    labels = on_ranks(graph, size, label_components, seed, on)
    found = np.concatenate(
        [each if isinstance(each, np.ndarray) else each.get() for each in labels]
    )
    expected = mgraph.connected_components(graph, backend="cpu").labels
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


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
