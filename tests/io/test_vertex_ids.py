"""The ids of vertices beside a dataset: written, looked up, and taken."""

import uuid

import numpy as np
import pytest

import mgraph
from mgraph import EdgeList, UsageError
from mgraph.io import vertex_ids
from mgraph.io.dataset import EdgeDataset
from mgraph.io.vertex_names import resolve


def test_vertices_are_looked_up_without_reading_all(tmp_path, monkeypatch):
    monkeypatch.setattr(vertex_ids, "GROUP_ROWS", 10)
    random = np.random.default_rng(1)
    ids = np.unique(random.integers(-(1 << 62), 1 << 62, 700)).tolist()
    graph = mgraph.from_edges(EdgeList([0], [len(ids) - 1]), backend="cpu").with_labels(ids)
    mgraph.write_graph(graph, tmp_path / "g")
    lookup = EdgeDataset(tmp_path / "g").ids
    assert len(lookup) == len(ids)
    reads = []
    read = vertex_ids.VertexIds._read
    monkeypatch.setattr(
        vertex_ids.VertexIds, "_read", lambda self, n: (reads.append(n), read(self, n))[1]
    )
    assert lookup.find(ids[123]) == 123
    assert len(reads) == 1
    assert [lookup.find(x) for x in ids[::50]] == list(range(len(ids)))[::50]
    assert lookup.find(5) is None
    assert lookup.find("5") is None
    assert resolve("source", [str(ids[9]), ids[8]], lookup, len(ids)) == [9, 8]
    with pytest.raises(UsageError, match=r"source must be ids .* none is '5'"):
        resolve("source", ["5"], lookup, len(ids))
    numbers = np.array([5, 300, 5, 0])
    assert lookup.take(numbers).values.to_pylist() == [ids[i] for i in numbers]
    assert lookup[2:4] == ids[2:4]
    assert lookup[-1] == ids[-1]
    with pytest.raises(IndexError):
        lookup[len(ids)]


def test_labels_of_a_graph_are_kept_in_a_dataset(tmp_path):
    edges = EdgeList([0, 1], [1, 2])
    uuids = [uuid.UUID(int=number) for number in (2, 1, 3)]
    for labels in (["b", "a", "c"], [7, 5, -1], uuids):
        graph = mgraph.from_edges(edges, backend="cpu").with_labels(labels)
        mgraph.write_graph(graph, tmp_path / "g", overwrite=True)
        again = mgraph.read_graph(tmp_path / "g", backend="cpu")
        assert list(again.labels) == labels
        assert [again.vertex(label) for label in labels] == [0, 1, 2]
    assert not EdgeDataset(tmp_path / "g").manifest.vertices.ascending
