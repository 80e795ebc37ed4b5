"""NetworkX's node-link JSON and the tuples of Graph500."""

import json

import networkx
import numpy as np
import pytest
from networkx.readwrite import json_graph

import mgraph
from mgraph import DatasetError, EdgeList, UsageError


@pytest.mark.parametrize("key", ["edges", "links"])
@pytest.mark.parametrize(
    "make", [networkx.Graph, networkx.DiGraph, networkx.MultiGraph, networkx.MultiDiGraph]
)
def test_graphs_of_networkx(tmp_path, key, make):
    graph = make()
    graph.add_weighted_edges_from([("a", "b", 2), ("b", "c", 3), ("a", "b", 4)])
    graph.add_node("lonely")
    file = tmp_path / "a.json"
    file.write_text(json.dumps(json_graph.node_link_data(graph, edges=key)))
    read = mgraph.read_graph(file, backend="cpu")
    expected = mgraph.from_networkx(graph)
    assert (read.labels, read.directed) == (expected.labels, expected.directed)
    for ours, theirs in zip(read.to_edges(), expected.to_edges(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    mgraph.write_graph(read, tmp_path / "b.json")
    again = json_graph.node_link_graph(json.loads((tmp_path / "b.json").read_text()), edges="edges")
    assert networkx.utils.graphs_equal(networkx.Graph(again), networkx.Graph(graph))
    assert again.is_directed() == graph.is_directed()


def test_a_weight_of_another_name(tmp_path):
    graph = networkx.path_graph(3)
    networkx.set_edge_attributes(graph, 2.5, "length")
    (tmp_path / "a.json").write_text(json.dumps(json_graph.node_link_data(graph, edges="edges")))
    networkx.write_graphml(graph, tmp_path / "a.graphml")
    networkx.write_gexf(graph, tmp_path / "a.gexf")
    for name in ("a.json", "a.graphml", "a.gexf"):
        read = mgraph.read_graph(tmp_path / name, weight="length", backend="cpu")
        assert read.weights.tolist() == [2.5] * 4, name
        with pytest.raises(UsageError, match="no edge has an attribute 'cost'"):
            mgraph.read_graph(tmp_path / name, weight="cost", backend="cpu")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[]", "no JSON object"),
        ("{", "cannot be read as a node-link JSON file"),
        ("{}", "no list nodes"),
        ('{"nodes": [{"id": 0}]}', "no list edges or links"),
        ('{"nodes": [{}], "edges": []}', "node 0 has no id"),
        ('{"nodes": [{"id": 0}, {"id": 0}], "edges": []}', "two nodes 0"),
        ('{"nodes": [{"id": 0}], "edges": [{"source": 0, "target": 1}]}', "edge 0 names 1"),
        ('{"nodes": [{"id": 0}], "edges": [{"source": 0}]}', "edge 0 has no target"),
        (
            '{"nodes": [{"id": 0}], "edges": [{"source": 0, "target": 0, "weight": "x"}]}',
            "weight must be a number",
        ),
        ('{"nodes": [{"id": null}], "edges": []}', "must be a number or text"),
        ('{"nodes": 5, "edges": []}', "nodes must be a list of objects"),
        ('{"directed": 5, "nodes": [], "edges": []}', "directed must be true or false"),
    ],
)
def test_damaged_json(tmp_path, content, words):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(DatasetError, match=words):
        mgraph.read_graph(tmp_path / "a.json", backend="cpu")


def packed(src, dst):
    """As the reference code's ``packed_edge``: 48 bits per vertex."""
    low = np.stack([src, dst], axis=1).astype("<u4")
    high = (src >> 32) | (dst >> 32) << 16
    return np.column_stack([low, high.astype("<u4")]).astype("<u4").tobytes()


def test_tuples_of_graph500(tmp_path):
    random = np.random.default_rng(1)
    src, dst = random.integers(0, 1000, (2, 300))
    for content in (np.stack([src, dst], axis=1).astype("<i8").tobytes(), packed(src, dst)):
        (tmp_path / "a.graph500").write_bytes(content)
        with pytest.warns(mgraph.MgraphWarning, match="undirected"):
            graph = mgraph.read_graph(tmp_path / "a.graph500", backend="cpu")
        direct = mgraph.from_edges(EdgeList(src, dst), directed=False, backend="cpu")
        np.testing.assert_array_equal(graph.indices, direct.indices)
    mgraph.write_graph(graph, tmp_path / "b.graph500")
    with pytest.warns(mgraph.MgraphWarning):
        again = mgraph.read_graph(tmp_path / "b.graph500", backend="cpu")
    np.testing.assert_array_equal(again.indices, graph.indices)
    (tmp_path / "c.graph500").write_bytes(b"12345")
    with pytest.raises(DatasetError, match="no tuples of Graph500"):
        mgraph.read_graph(tmp_path / "c.graph500", backend="cpu")
    directed = mgraph.from_edges(EdgeList([0], [1]), backend="cpu")
    with pytest.raises(UsageError, match="undirected edges without weights"):
        mgraph.write_graph(directed, tmp_path / "d.graph500")
