"""Results as tables in notebooks: what their text says, escaped, and a few rows of many."""

import re

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, EdgeList
from mgraph.core.html import html_table


def cells(text):
    """The words of a table, without its tags."""
    return re.sub(r"<[^>]*>", " ", text).split()


@pytest.fixture(scope="module")
def graph():
    edges = EdgeList([0, 1, 2, 3, 5], [1, 2, 3, 0, 6], [1, 2, 3, 9, 4])
    return mgraph.from_edges(edges, 2000, directed=False, backend="cpu")


def results(graph):
    yield graph, ["Graph", "vertices", "2,000", "int64"]
    yield graph.to_edges(), ["EdgeList", "src", "weight"]
    yield (
        mgraph.sssp(graph, 0, predecessors=True),
        ["source", "reached", "4", "predecessor", "unreached"],
    )
    yield mgraph.sssp(graph, [0, 1]), ["searches", "2"]
    yield mgraph.steiner_tree(graph, [0, 2], bound=True), ["cost", "3", "optimal", "yes"]
    yield mgraph.minimum_spanning_forest(graph), ["components", "1,996", "total", "10"]
    yield mgraph.connected_components(graph), ["components", "1,996", "1,991"]
    yield mgraph.single_linkage(graph, 1997), ["clusters", "1,997"]
    yield mgraph.knapsack([5, 4], [3, 2], 3), ["profit", "5", "optimal", "yes"]


def test_each_result_is_a_table(graph):
    for result, words in results(graph):
        text = result._repr_html_()
        assert text.count("<table>") == text.count("</table>") >= 1
        for word in words:
            assert word in cells(text), (type(result), word, cells(text))


def test_datasets_and_runs_are_tables(tmp_path):
    run = mgraph.generate(tmp_path / "g", CopyModel(1000, 2), parts=8)
    assert {"GenerateRun", "8", "checksum"} <= set(cells(run._repr_html_()))
    dataset = mgraph.open_dataset(tmp_path / "g")
    assert {"Dataset", "1,000", "1,997", "none", "parts"} <= set(cells(dataset._repr_html_()))
    degrees = mgraph.degrees(tmp_path / "g")
    assert {"Degrees", "edges", "1,997", "degree"} <= set(cells(degrees._repr_html_()))
    assert {"Verdict", "1,997", "fault"} <= set(cells(mgraph.verify(tmp_path / "g")._repr_html_()))
    run = mgraph.components_dataset(tmp_path / "g")
    assert {"ComponentsRun", "components", "1000", "1"} <= set(cells(run._repr_html_()))


def test_partitioned_graphs_and_results_are_tables(tmp_path):
    mgraph.generate(tmp_path / "g", CopyModel(1000, 2))
    threaded = mgraph.connect(backend="cpu", threaded=True)
    with mgraph.open_partitioned(tmp_path / "g", cluster=threaded) as graph:
        assert {"PartitionedGraph", "3,994", "ghosts"} <= set(cells(graph._repr_html_()))
        paths, forest = graph.sssp(0), graph.minimum_spanning_forest()
        assert {"reached", "1,000", "rounds"} <= set(cells(paths._repr_html_()))
        assert {"edges", "999", "components"} <= set(cells(forest._repr_html_()))
        assert paths.name not in paths._repr_html_()


def test_text_is_escaped_and_rows_are_few():
    text = html_table("<b>", {"a & b": "<script>", "none": None}, {"x": np.arange(1000)})
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert "none" not in text
    assert "995 more rows" in text
    assert text.count("<td>") == 5
