"""A drawing of a graph: every vertex and edge, the same each time, hubs on top."""

import sys

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, UsageError, experiments
from mgraph.experiments import graph_drawing


@pytest.fixture(scope="module")
def graph():
    edges = CopyModel(300, 2).edges(backend="cpu").edges
    return mgraph.from_edges(edges, 300, directed=False, backend="cpu")


def test_what_is_drawn(graph, tmp_path, monkeypatch):
    pytest.importorskip("igraph")
    drawn = []

    def draw(place, ends, degree, file, title):
        drawn.append((place, ends, degree, title))

    monkeypatch.setattr(graph_drawing, "_draw", draw)
    for seed in (1, 1, 2):
        experiments.plot_graph(graph, tmp_path / "a.png", title="x", seed=seed)
    (place, ends, degree, title), same, other = drawn
    assert place.shape == (300, 2)
    assert title == "x"
    assert len(ends) == graph.num_arcs // 2
    np.testing.assert_array_equal(degree, np.diff(graph.indptr))
    np.testing.assert_array_equal(place, same[0])
    assert (place != other[0]).any()


def test_it_is_written(graph, tmp_path):
    pytest.importorskip("igraph")
    experiments.plot_graph(graph, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(UsageError, match="a plot's file name must end in"):
        experiments.plot_graph(graph, tmp_path / "a.xyz")


def test_what_cannot_be_drawn(graph, tmp_path, monkeypatch):
    monkeypatch.setattr(graph_drawing, "MAX_ARCS", 100)
    with pytest.raises(UsageError, match=r"at most 100 arcs \(got 1,19"):
        experiments.plot_graph(graph, tmp_path / "a.png")
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(UsageError, match="run `pip install igraph`"):
        experiments.plot_graph(graph, tmp_path / "a.png")
