"""Edges written as parts, several at a time, and read back by row groups."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel, DatasetError
from mgraph.core.edge_list_cpu import checksum
from mgraph.io import graph_dataset, parquet
from mgraph.io.folder import Folder


@pytest.fixture
def edges():
    edges = CopyModel(600, 3, weights=(1, 9)).edges(backend="cpu").edges
    return mgraph.from_edges(edges, 600, directed=False, backend="cpu").to_edges()


@pytest.mark.parametrize("part_edges", [None, 1, 100, 1_793, 10**6])
def test_parts_hold_the_edges_in_order(tmp_path, edges, part_edges, monkeypatch):
    monkeypatch.setattr(graph_dataset, "_MIN_PART_EDGES", 200)
    monkeypatch.setattr(graph_dataset, "_BLOCK_EDGES", 70)
    monkeypatch.setattr(parquet, "BLOCK_ROWS", 30)
    folder = Folder(tmp_path)
    bounds = graph_dataset.cut_parts(edges, range(600), 2, part_edges)
    records = graph_dataset.write_parts(edges, 600, folder, bounds=bounds)
    assert [record.first for record in records] == [0, *(r.stop for r in records[:-1])]
    assert records[-1].stop == 600
    assert sum(record.checksum for record in records) % 2**64 == checksum(edges)
    parts = [graph_dataset.Part(folder, record, [np.dtype("i4")] * 3) for record in records]
    back = graph_dataset.read_parts(parts, [np.dtype("i4")] * 3, "here")
    for ours, theirs in zip(back, edges, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for part in parts:
        src = part.read().src
        assert ((src >= part.record.first) & (src < part.record.stop)).all()


@given(
    src=st.lists(st.integers(0, 40), max_size=60).map(sorted),
    bound=st.integers(-1, 42),
    near=st.floats(0, 1),
)
def test_the_first_row_of_a_bound(src, bound, near):
    src = np.array(src, np.int32)
    found = graph_dataset._first_row(src, bound, near=int(near * src.size))
    assert found == np.searchsorted(src, bound)


def test_a_part_that_contradicts_its_record_is_refused(tmp_path, edges):
    folder = Folder(tmp_path)
    bounds = graph_dataset.cut_parts(edges, range(600), 2, 1_000)
    records = graph_dataset.write_parts(edges, 600, folder, bounds=bounds)
    (tmp_path / records[1].file).replace(tmp_path / records[0].file)
    part = graph_dataset.Part(folder, records[0], [np.dtype("i4")] * 3)
    with pytest.raises(DatasetError, match=r"should hold .* edges, and holds .*mgraph verify"):
        graph_dataset.read_parts([part], part.dtypes, "here")


@given(data=st.data())
def test_first_rows_of_parts(data):
    src = np.sort(data.draw(st.lists(st.integers(0, 1000), max_size=400)))
    src = np.asarray(src, np.int32)
    bounds = sorted(data.draw(st.lists(st.integers(0, 1001), min_size=1, max_size=6)))
    with mock.patch.object(graph_dataset, "_NEAR_ROWS", data.draw(st.sampled_from([1, 3, 64]))):
        found = graph_dataset._first_rows(src, bounds)
    assert found == np.searchsorted(src, bounds).tolist()
