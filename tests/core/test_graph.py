"""What a graph knows of itself: rows that ascend, arcs back, and that it stays known."""

import numpy as np
import pytest
from hypothesis import given, settings

import mgraph
from mgraph import EdgeList, Graph
from mgraph.core import csr
from mgraph.core.csr import ascending
from tests.strategies import graphs


def by_hand(indptr, indices, weights=None, directed=False):
    weights = None if weights is None else np.array(weights)
    return Graph(np.array(indptr), np.array(indices, np.int32), weights, directed)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (by_hand([0], []), True),
        (by_hand([0, 2, 3], [0, 1, 0]), True),
        (by_hand([0, 2, 3], [1, 0, 0]), False),
        (by_hand([0, 0, 2, 2], [2, 0]), False),
        (by_hand([0, 2, 2, 2], [1, 1], [3, 3]), True),
        (by_hand([0, 2, 2, 2], [1, 1], [3, 2]), False),
        (by_hand([0, 1, 2], [1, 0], [3, 2]), True),
    ],
)
def test_rows_ascend(graph, expected):
    assert graph.rows_ascend == expected
    ordered, origin = ascending(graph)
    assert ordered.rows_ascend
    assert (origin is None) == expected
    if origin is not None:
        np.testing.assert_array_equal(graph.indices[origin], ordered.indices)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (by_hand([0], []), True),
        (by_hand([0, 1], [0], [5]), True),
        (by_hand([0, 1, 2], [1, 0]), True),
        (by_hand([0, 1, 2], [1, 0], [0.0, -0.0]), True),
        (by_hand([0, 1, 2], [1, 0], [1, 2]), False),
        (by_hand([0, 1, 1], [1]), False),
        (by_hand([0, 2, 3], [1, 1, 0]), False),
        (by_hand([0, 2, 4], [1, 1, 0, 0], [1, 2, 2, 1]), True),
    ],
)
def test_symmetric(monkeypatch, graph, expected):
    assert graph.symmetric == expected
    monkeypatch.setattr(csr, "_PIECE_ARCS", 1)
    assert csr.symmetric(graph) == expected


@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_what_builders_know_is_so(graph):
    known = graph.known
    assert known["rows_ascend"]
    anew = Graph(graph.indptr, graph.indices, graph.weights, graph.directed)
    assert anew.rows_ascend
    assert graph.symmetric == anew.symmetric
    if not graph.directed:
        assert known["symmetric"]


def test_edges_in_one_direction_are_not_symmetric():
    ends = np.array([1, 2]), np.array([0, 1])
    directed = mgraph.from_edges(EdgeList(*ends), backend="cpu")
    assert not directed.symmetric
    assert mgraph.from_edges(EdgeList(*map(np.append, ends, ends[::-1])), backend="cpu").symmetric
    assert mgraph.from_edges(EdgeList(*ends), directed=False, backend="cpu").symmetric
