"""Results on a GPU are shown as those on the CPU: as tables, and as drawings."""

import re

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, experiments

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def pair():
    """One graph on the GPU and on the CPU, and where its vertices lie."""
    edges = CopyModel(300, 3, weights=(1, 99)).edges(backend="cpu").edges
    graph = mgraph.from_edges(edges, 300, directed=False, backend="cpu")
    return graph.to_gpu(), graph, np.random.default_rng(1).random((300, 2))


def results(graph):
    backend = {"backend": graph.backend}
    return {
        "paths": mgraph.sssp(graph, 5, predecessors=True, **backend),
        "several": mgraph.sssp(graph, [5, 7], predecessors=True, **backend),
        "forest": mgraph.minimum_spanning_forest(graph, **backend),
        "tree": mgraph.steiner_tree(graph, [1, 99, 280], method="star", **backend),
        "components": mgraph.connected_components(graph, **backend),
    }


def test_tables(pair):
    on_gpu, on_cpu, _ = pair
    theirs = results(on_cpu)
    for name, ours in results(on_gpu).items():
        tables = [result._repr_html_() for result in (ours, theirs[name])]
        without = [re.sub(r"[\w ]+ on the (gpu|cpu)|gpu|cpu", "", table) for table in tables]
        assert without[0] == without[1], name
    assert "gpu" in on_gpu._repr_html_()


def test_drawings(pair):
    figures = pytest.importorskip("matplotlib.figure")
    on_gpu, on_cpu, places = pair
    theirs = results(on_cpu)
    for name, ours in results(on_gpu).items():
        if not hasattr(ours, "plot"):
            continue
        drawn = [
            result.plot(graph, ax=figures.Figure().subplots(), coordinates=places)
            for result, graph in ((ours, on_gpu), (theirs[name], on_cpu))
        ]
        lines = [[line.get_xydata() for line in axes.lines] for axes in drawn]
        for one, other in zip(*lines, strict=True):
            np.testing.assert_array_equal(one, other)
    axes = experiments.plot_graph(on_gpu, ax=figures.Figure().subplots(), coordinates=places)
    assert axes.collections
