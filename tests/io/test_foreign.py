"""Folders that other programs wrote read as well as our own."""

import importlib.util
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import CopyModel, DatasetError, EdgeList

EDGES = EdgeList(
    np.array([3, 0, 7, 2, 2], np.int64),
    np.array([1, 9, 7, 2, 0], np.int64),
    np.array([0.5, 2, 1, 4, 8], np.float64),
)

TABLE = dict(zip(("src", "dst", "weight"), EDGES, strict=True))


def check(location, edges=EDGES):
    dataset = mgraph.open_dataset(location)
    read = [dataset[i].read() for i in range(len(dataset))]
    src, dst, weight = (np.concatenate(column) for column in zip(*read, strict=True))
    found, expected = np.lexsort((weight, dst, src)), np.lexsort([*edges][::-1])
    for ours, theirs in zip((src, dst, weight), edges, strict=True):
        np.testing.assert_array_equal(ours[found], theirs[expected])
    assert src.dtype == dst.dtype == np.int32
    assert (dataset.n, dataset.m) == (10, 5)
    assert dataset.manifest.directed
    return dataset


@pytest.mark.parametrize("ids", ["INTEGER", "BIGINT", "UBIGINT", "SMALLINT"])
def test_duckdb(tmp_path, ids):
    if importlib.util.find_spec("duckdb") is None:
        pytest.skip("needs DuckDB")
    out = tmp_path / "edges.parquet"
    columns = f"weight, CAST(dst AS {ids}) AS dst, CAST(src AS {ids}) AS src"
    rows = ", ".join(f"({s}, {t}, {w})" for s, t, w in zip(*EDGES, strict=True))
    query = f"COPY (SELECT {columns} FROM (VALUES {rows}) AS edges(src, dst, weight)) TO '{out}'"
    # A process of its own, since DuckDB complains at the exit of one that uses it.
    subprocess.run(
        [sys.executable, "-c", f"import duckdb; duckdb.sql({query!r})"],
        check=True,
        capture_output=True,
    )
    assert "DuckDB" in check(out).manifest.created_by
    check(tmp_path)


def test_polars(tmp_path):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(TABLE)
    frame[:2].write_parquet(tmp_path / "a.parquet")
    frame[2:].write_parquet(tmp_path / "b.parquet", statistics=False)
    assert "Polars" in check(tmp_path).manifest.created_by


def test_files_like_sparks(tmp_path):
    table = pa.table(TABLE)
    for i in range(2):
        pq.write_table(table[i * 3 : i * 3 + 3], tmp_path / f"part-0000{i}-c000.snappy.parquet")
    (tmp_path / "_SUCCESS").touch()
    check(tmp_path)


def test_they_can_be_counted_and_viewed(tmp_path, cluster):
    pq.write_table(pa.table(TABLE), tmp_path / "x.parquet")
    found = mgraph.degrees(tmp_path, cluster=cluster, progress=None)
    ends = np.concatenate([EDGES.src, EDGES.dst])
    np.testing.assert_array_equal(found.count, np.bincount(np.bincount(ends, minlength=10)))
    frame = mgraph.open_dataset(tmp_path).to_dask().compute()
    np.testing.assert_array_equal(frame["weight"], EDGES.weight)
    with pytest.raises(DatasetError, match="no manifest to hold it against"):
        mgraph.verify(tmp_path, cluster=cluster)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"src": [1]}, "must have columns src, dst, and has src"),
        ({"src": [-1], "dst": [2]}, "an id is negative"),
        ({"src": [1, None], "dst": [2, 3]}, "must hold no nulls"),
        ({"src": [1.5], "dst": [2]}, "must be integers"),
        ({"src": [1], "dst": [2], "weight": ["x"]}, "weight must be a number"),
    ],
)
def test_what_cannot_be_edges(tmp_path, table, words):
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    with pytest.raises(DatasetError, match=words):
        mgraph.open_dataset(tmp_path)[0].read()


def test_a_run_that_was_cut_short_is_not_taken_for_a_foreign_folder(tmp_path, cluster):
    mgraph.generate(tmp_path / "g", CopyModel(500, 3), cluster=cluster, parts=3, progress=None)
    (tmp_path / "g" / "_manifest.json").unlink()
    with pytest.raises(DatasetError, match="3 parts of an unfinished dataset"):
        mgraph.open_dataset(tmp_path / "g")
