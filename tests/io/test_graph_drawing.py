"""Drawings of graphs, trees and forests: every vertex and edge, the same each time."""

import sys

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, UsageError, experiments
from mgraph.io import figure, graph_drawing

SQUARE = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [2, 2]], float)


@pytest.fixture(scope="module")
def graph():
    edges = CopyModel(300, 2).edges(backend="cpu").edges
    return mgraph.from_edges(edges, 300, directed=False, backend="cpu")


@pytest.fixture(scope="module")
def small():
    edges = mgraph.EdgeList([0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [1, 2, 3, 9, 9])
    return mgraph.from_edges(edges, 5, directed=False, backend="cpu")


@pytest.fixture
def ax():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    return Figure().subplots()


def lines(axes):
    """The segments of each curve, the last drawn last."""
    return [
        {
            tuple(map(tuple, np.round(both, 6)))
            for both in line.get_xydata().reshape(-1, 3, 2)[:, :2]
        }
        for line in axes.get_lines()
    ]


def segment(u, v):
    return tuple(SQUARE[u]), tuple(SQUARE[v])


def test_what_is_drawn_of_a_graph(graph, ax):
    pytest.importorskip("igraph")
    assert experiments.plot_graph(graph, ax=ax, title="x") is ax
    assert ax.get_title() == "x"
    edges, dots = ax.collections
    assert len(edges.get_segments()) == graph.num_arcs // 2
    assert len(dots.get_offsets()) == 300
    assert dots.get_array().max() == np.diff(graph.indptr).max()


def test_a_layout_is_the_same_each_time(graph):
    pytest.importorskip("igraph")
    ends = graph_drawing._edges(graph)
    for n, some in ((300, ends), (1000, ends)):
        first, again, other = (graph_drawing.lay_out(n, some, seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        assert first.shape == (n, 2)
        assert n == 300 or (first != other).any()


def test_trees_and_forests_lie_on_their_graph(small, ax):
    tree = mgraph.steiner_tree(small, [0, 2], backend="cpu")
    forest = mgraph.minimum_spanning_forest(small, backend="cpu")
    paths = mgraph.sssp(small, 0, predecessors=True, backend="cpu")
    every = {segment(0, 1), segment(1, 2), segment(2, 3), segment(0, 3), segment(0, 2)}
    chain = {segment(1, 0), segment(2, 1)}
    for result, expected in (
        (tree, chain),
        (forest, chain | {segment(3, 2)}),
        (paths, {segment(0, 1), segment(1, 2), segment(2, 3)}),
    ):
        axes = type(ax.figure)().subplots()
        assert result.plot(small, ax=axes, coordinates=SQUARE) is axes
        behind, front = lines(axes)
        assert behind == every
        assert front == expected
    texts = [text.get_text() for text in tree.plot(ax=ax, coordinates=SQUARE[:3]).texts]
    assert texts == ["0", "2"]


def test_the_vertices_of_a_small_tree_are_called_by_their_labels(small, ax):
    named = small.with_labels(list("abcde"))
    tree = mgraph.steiner_tree(named, [0, 2], backend="cpu")
    tree.plot(named, ax=ax, coordinates=SQUARE)
    assert [text.get_text() for text in ax.texts] == ["a", "b", "c"]
    assert ax.get_title() == "2 terminals, 2 edges, cost 3, optimal"


def test_all_sources_of_a_joint_search_stand_out(small, ax):
    paths = mgraph.sssp(small, [1, 3], joint=True, predecessors=True, backend="cpu")
    paths.plot(ax=ax, coordinates=SQUARE)
    assert [text.get_text() for text in ax.texts] == ["1", "3"]
    assert ax.get_title() == "shortest paths from 1, 3: 4 of 5 vertices reached"


def test_colours_of_values_differ_from_the_page():
    to_rgb = pytest.importorskip("matplotlib.colors").to_rgb
    for theme, page in (("light", (1, 1, 1)), ("dark", to_rgb("#14181E"))):
        with experiments.plot_theme(theme):
            colors = figure.value_colors()(np.linspace(0, 1, 50))[:, :3]
        assert np.abs(colors - page).max(axis=1).min() > 0.3


def test_a_tree_alone_is_laid_out(small, tmp_path):
    pytest.importorskip("igraph")
    tree = mgraph.steiner_tree(small, [0, 2], backend="cpu")
    tree.plot(file=tmp_path / "a.svg", title="alone")
    assert "alone" in (tmp_path / "a.svg").read_text()


def test_it_is_written(graph, tmp_path):
    pytest.importorskip("igraph")
    experiments.plot_graph(graph, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(UsageError, match="a plot's file name must end in"):
        experiments.plot_graph(graph, tmp_path / "a.xyz")


def test_what_cannot_be_drawn(graph, small, tmp_path, monkeypatch):
    tree = mgraph.steiner_tree(graph, [0, 299], backend="cpu")
    with pytest.raises(UsageError, match="`graph` must be the graph of the result"):
        tree.plot(small)
    with pytest.raises(UsageError, match=r"`coordinates` must be of shape \(5, 2\)"):
        experiments.plot_graph(small, coordinates=SQUARE[:4])
    with pytest.raises(UsageError, match="pass `predecessors=True`"):
        mgraph.sssp(small, 0, backend="cpu").plot(small)
    monkeypatch.setattr(graph_drawing, "MAX_ARCS", 100)
    with pytest.raises(UsageError, match=r"at most 100 arcs \(got 1,19"):
        experiments.plot_graph(graph, tmp_path / "a.png")
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(UsageError, match="run `pip install igraph`"):
        experiments.plot_graph(small, tmp_path / "a.png")


def test_a_path_has_some_height(tmp_path):
    pytest.importorskip("igraph")
    path = mgraph.from_edges(mgraph.EdgeList([0, 1, 2], [1, 2, 3]), directed=False, backend="cpu")
    axes = mgraph.steiner_tree(path, [0, 3], backend="cpu").plot(file=tmp_path / "a.png")
    width, height = np.ptp(axes.get_xlim()), np.ptp(axes.get_ylim())
    assert min(width, height) > 0.3 * max(width, height)


def test_a_small_graph_has_names_and_its_bar_whole_numbers(small, tmp_path):
    named = small.with_labels(list("abcde"))
    axes = experiments.plot_graph(named, tmp_path / "a.svg", coordinates=SQUARE)
    assert [text.get_text() for text in axes.texts] == list("abcde")
    bar = axes.figure.axes[1]
    assert [label.get_text() for label in bar.get_yticklabels()] == ["1", "2"]


def test_what_is_not_reached_and_the_names_of_files(small, ax):
    paths = mgraph.sssp(small, 0, predecessors=True, backend="cpu")
    paths.plot(small, ax=ax, coordinates=SQUARE)
    hollow = ax.collections[0]
    np.testing.assert_array_equal(hollow.get_offsets(), SQUARE[4:])
    with pytest.raises(UsageError, match=r"pass the name of a figure as file='a\.png'"):
        paths.plot("a.png")
