"""The heap method returns the same distances, and expands fewer vertices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.errors import UsageError
from mgraph.shortest_paths.sssp import sssp
from tests.strategies import graphs


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_threshold(data):
    graph = data.draw(graphs())
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=4)
    options = {
        "targets": data.draw(st.none() | vertices),
        "stop_at": data.draw(st.sampled_from(["first", "last"])),
        "cutoff": data.draw(st.none() | st.floats(0, 2000)),
        "backend": "cpu",
    }
    source, threshold = data.draw(st.integers(0, graph.n - 1)), data.draw(st.integers(1, 6))
    expected = sssp(graph, source, method="dijkstra", **options)
    paths = sssp(graph, source, method="heap", heap_threshold=threshold, **options)
    assert np.array_equal(paths.distance, expected.distance)


def grid(side, seed=1):
    at = np.arange(side * side, dtype=np.int32).reshape(side, side)
    src = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    dst = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    weight = np.random.default_rng(seed).integers(1, 1000, src.size).astype(np.int32)
    return from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")


def test_the_heap_saves_expansions():
    """With one vertex per iteration it is Dijkstra's algorithm; with more it expands more."""
    graph = grid(60)
    expanded = []
    for threshold in (1, 20, 10**9):
        paths = sssp(graph, 0, method="heap", heap_threshold=threshold, backend="cpu", trace=True)
        expanded.append(paths.trace["x1"].sum())
        assert paths.trace["x2"].sum() >= graph.num_arcs
    assert expanded[0] == graph.n < expanded[1] < expanded[2]


def test_stale_entries_are_dropped_when_the_heap_is_full():
    """Hubs that are improved repeatedly queue more entries than fit into the heap."""
    n = 400
    hub = np.zeros(n, np.int32)
    chain = np.arange(n, dtype=np.int32)
    edges = EdgeList(
        np.concatenate([hub[1:], chain[:-1]]),
        np.concatenate([chain[1:], chain[1:]]),
        np.concatenate([np.arange(1, n) * 3, np.ones(n - 1)]).astype(np.int32),
    )
    graph = from_edges(edges, directed=True, backend="cpu")
    paths = sssp(graph, 0, method="heap", heap_threshold=1, backend="cpu")
    expected = sssp(graph, 0, method="dijkstra", backend="cpu")
    assert np.array_equal(paths.distance, expected.distance)


def test_wrong_use():
    graph = grid(3)
    with pytest.raises(UsageError, match="heap_threshold must be at least 1 vertex"):
        sssp(graph, 0, method="heap", heap_threshold=0)
    with pytest.raises(UsageError, match="heap_threshold belongs to method heap"):
        sssp(graph, 0, heap_threshold=5)
