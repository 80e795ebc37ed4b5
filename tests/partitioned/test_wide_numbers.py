"""Numbers of 64 bits, which graphs of 2^31 vertices and more have, forced on small ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.partitioned import edge_source, partition
from tests.partitioned import test_bfs, test_delta_stepping
from tests.partitioned.ranks import on_ranks
from tests.strategies import graphs


@pytest.fixture(scope="module", autouse=True)
def _wide():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition, "NARROW_N", 2)
        patch.setattr(edge_source, "NARROW_HEADS", 2)
        yield


def draw_sources(data, graph):
    return data.draw(st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3))


@given(data=st.data(), size=st.integers(1, 4))
@settings(deadline=None, max_examples=60)
def test_paths(data, size):
    graph = data.draw(graphs())
    sources = draw_sources(data, graph)
    test_delta_stepping.assert_same(
        graph, size, sources, tuning=data.draw(test_delta_stepping.tunings)
    )


@given(data=st.data(), size=st.integers(1, 4))
@settings(deadline=None, max_examples=40)
def test_levels(data, size):
    graph = data.draw(graphs(dtypes=(None,)))
    test_bfs.assert_same(graph, size, draw_sources(data, graph))


@given(graph=graphs(dtypes=(None, "float32")), size=st.integers(1, 4))
@settings(deadline=None, max_examples=60)
def test_components(graph, size):
    from mgraph.components.partitioned_components import label_components

    found = on_ranks(graph, size, label_components)
    labels = np.concatenate([each.labels for each in found])
    assert labels.dtype == (np.int64 if graph.n >= 2 else np.int32)
    expected = mgraph.connected_components(graph, backend="cpu").labels
    np.testing.assert_array_equal(labels, expected)
