"""Datasets that other programs wrote can be read like our own."""

import errno
import importlib.util
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import CopyModel, DatasetError, EdgeList, StorageError, UsageError
from mgraph.io.folder import Folder

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
    assert (dataset.n, dataset.num_edges) == (10, 5)
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


def test_foreign_datasets_have_degrees_and_arrow_views(tmp_path, cluster):
    pq.write_table(pa.table(TABLE), tmp_path / "x.parquet")
    found = mgraph.degrees(tmp_path, cluster=cluster, progress=None)
    ends = np.concatenate([EDGES.src, EDGES.dst])
    np.testing.assert_array_equal(found.count, np.bincount(np.bincount(ends, minlength=10)))
    frame = mgraph.open_dataset(tmp_path).to_dask().compute()
    np.testing.assert_array_equal(frame["weight"], EDGES.weight)
    with pytest.raises(DatasetError, match="no manifest to verify it against"):
        mgraph.verify(tmp_path, cluster=cluster)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"src": [1]}, r"must have columns src, dst \(got src\)"),
        ({"src": [0, -1], "dst": [1, 2]}, r"x\.parquet: .* from 0 \(got -1\)"),
        ({"src": [0], "dst": [1 << 41]}, r"x\.parquet: .* \(got 2,199,023,255,552\)"),
        ({"src": [1, None], "dst": [2, 3]}, "must not contain nulls"),
        ({"src": [1.5], "dst": [2]}, r"src must be integers \(got double\)"),
        ({"src": [1], "dst": ["a"]}, r"dst must be integers \(got string\)"),
        ({"src": [[1]], "dst": [2]}, r"src must be integers \(got list<"),
        ({"src": [b"a"], "dst": [2]}, r"src must be integers \(got binary\)"),
        ({"src": pa.array(["a"]).dictionary_encode(), "dst": [2]}, r"\(got dictionary<values=str"),
        ({"src": [1], "dst": [2], "weight": ["x"]}, r"weight must be a number .* \(got string\)"),
    ],
)
def test_tables_that_are_not_edges_are_refused(tmp_path, table, words):
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    with pytest.raises(DatasetError, match=words):
        mgraph.open_dataset(tmp_path)[0].read()


def test_an_unfinished_dataset_is_not_taken_for_a_foreign_one(tmp_path, cluster):
    mgraph.generate(tmp_path / "g", CopyModel(500, 3), cluster=cluster, parts=3, progress=None)
    (tmp_path / "g" / "_manifest.json").unlink()
    with pytest.raises(DatasetError, match="3 parts of an unfinished dataset"):
        mgraph.open_dataset(tmp_path / "g")


def write(file, **columns):
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), file)


def test_a_single_file_with_a_bad_id_is_named(tmp_path):
    write(tmp_path / "f.parquet", src=[0, -1], dst=[1, 2])
    for location in (tmp_path, tmp_path / "f.parquet"):
        with pytest.raises(DatasetError, match=rf"^{tmp_path}/f\.parquet: .* \(got -1\); "):
            mgraph.read_graph(location, backend="cpu")


def test_one_file_of_each_weight_type_is_named(tmp_path):
    write(tmp_path / "a.parquet", src=[0], dst=[1])
    write(tmp_path / "b.parquet", src=[0], dst=[1], weight=np.array([1], np.int32))
    write(tmp_path / "c.parquet", src=[0], dst=[1], weight=np.array([1], np.int32))
    write(tmp_path / "d.parquet", src=[0], dst=[1], weight=[0.5])
    words = r"\(got none in a\.parquet, int32 in b\.parquet, float64 in d\.parquet\)$"
    with pytest.raises(DatasetError, match=words):
        mgraph.open_dataset(tmp_path)


def test_ids_of_two_widths_are_read(tmp_path):
    write(tmp_path / "a.parquet", src=np.array([0], np.int32), dst=np.array([1], np.int32))
    write(tmp_path / "b.parquet", src=np.array([1], np.int64), dst=np.array([2], np.uint64))
    assert mgraph.read_graph(tmp_path, backend="cpu").num_arcs == 2


@pytest.mark.parametrize(
    "below", ["x/a.parquet", "y=1/a.parquet", "y=1/z=2/a.parquet", "deep/er/still/a.PARQUET"]
)
@pytest.mark.parametrize("beside", [True, False])
def test_parquet_files_in_subfolders_are_read(tmp_path, below, beside):
    if beside:
        write(tmp_path / "b.parquet", src=[0], dst=[1])
    write(tmp_path / below, src=[1], dst=[2])
    write(tmp_path / "x" / "_temporary" / "a.parquet", src=[7], dst=[7])
    dataset = mgraph.open_dataset(tmp_path)
    assert [part.record.file for part in dataset] == ["b.parquet"] * beside + [below]
    graph = mgraph.read_graph(tmp_path, backend="cpu")
    assert sorted(graph.to_edges().src.tolist()) == [0] * beside + [1]


def test_ignored_names_are_reported(tmp_path):
    write(tmp_path / "b.parquet", src=[0], dst=[1])
    for name in ("README.txt", "edges.csv", "_SUCCESS", ".b.parquet.crc", "_metadata"):
        (tmp_path / name).write_text("x")
    (tmp_path / "notes").mkdir()
    write(tmp_path / "_temporary" / "a.parquet", src=[0], dst=[1])
    write(tmp_path / "lost+found" / "a.parquet", src=[0], dst=[1])
    graph = mgraph.from_edges(EdgeList([0], [1]), directed=False, backend="cpu")
    mgraph.write_graph(graph, tmp_path / "another")
    dataset = mgraph.open_dataset(tmp_path)
    assert dataset.num_edges == 1
    assert dataset.ignored_names == ["README.txt", "another", "edges.csv", "lost+found", "notes"]
    done = subprocess.run(
        [sys.executable, "-m", "mgraph.cli.main", "info", tmp_path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "not read   5 other files or folders: README.txt, another" in done.stdout


@pytest.mark.parametrize("name", ["a.PARQUET", "a.pq", "a.parq", "a.snappy.parquet"])
def test_other_names_of_parquet_files_are_read(tmp_path, name):
    write(tmp_path / "b.parquet", src=[0], dst=[1])
    write(tmp_path / name, src=[1], dst=[2])
    assert mgraph.read_graph(tmp_path, backend="cpu").num_arcs == 2
    assert mgraph.read_graph(tmp_path / name, backend="cpu").num_arcs == 1


@pytest.mark.parametrize("name", ["000000_0", "a.parquet.bak", "b.gz"])
def test_a_parquet_file_without_the_suffix_is_reported(tmp_path, name):
    write(tmp_path / "b.parquet", src=[0], dst=[1])
    write(tmp_path / name, src=[1], dst=[2])
    with pytest.raises(DatasetError, match=rf"{name} is a Parquet file by its content"):
        mgraph.open_dataset(tmp_path)


def test_files_that_a_manifest_does_not_list_are_reported(tmp_path):
    graph = mgraph.from_edges(EdgeList([0], [1]), directed=False, backend="cpu")
    mgraph.write_graph(graph, tmp_path / "g")
    mgraph.write_graph(graph, tmp_path / "g" / "results")
    assert mgraph.open_dataset(tmp_path / "g").num_edges == 1
    for name in ("z.parquet", "part-00001.parquet"):
        write(tmp_path / "g" / name, src=[1], dst=[2])
    with pytest.raises(DatasetError, match=r"does not list: part-00001\.parquet and 1 other;"):
        mgraph.open_dataset(tmp_path / "g")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_part_without_permission_is_reported(tmp_path):
    write(tmp_path / "a.parquet", src=[0], dst=[1])
    write(tmp_path / "b.parquet", src=[0], dst=[1])
    (tmp_path / "b.parquet").chmod(0)
    with pytest.raises(StorageError, match=r"no permission to read .*/b\.parquet"):
        mgraph.open_dataset(tmp_path)


def test_a_part_that_cannot_be_opened_is_reported(tmp_path, monkeypatch):
    write(tmp_path / "a.parquet", src=[0], dst=[1])
    write(tmp_path / "b.parquet", src=[0], dst=[1])
    plain = Folder.open

    def refuse(folder, name):
        if name == "b.parquet":
            raise PermissionError(errno.EACCES, "Permission denied")
        return plain(folder, name)

    monkeypatch.setattr(Folder, "open", refuse)
    with pytest.raises(StorageError, match=r"no permission to read .*/b\.parquet"):
        mgraph.open_dataset(tmp_path)


def test_a_name_in_the_folder_that_is_not_utf_8(tmp_path):
    write(tmp_path / "a.parquet", src=[0], dst=[1])
    with open(os.fsencode(tmp_path) + b"/caf\xe9.parquet", "wb"):
        pass
    with pytest.raises(StorageError, match=r"name is not UTF-8, 'caf.*xe9"):
        mgraph.open_dataset(tmp_path)


def test_resuming_replaces_no_file_of_another_program(tmp_path, cluster):
    out = tmp_path / "g"
    mgraph.generate(out, CopyModel(500, 3), cluster=cluster, parts=3, progress=None)
    (out / "_manifest.json").unlink()
    write(out / "part-00001.parquet", src=[0], dst=[1])
    before = (out / "part-00001.parquet").read_bytes()
    how = {"cluster": cluster, "progress": None}
    with pytest.raises(UsageError, match=r"part-00001\.parquet was not written by mgraph, and"):
        mgraph.generate(out, CopyModel(500, 3), parts=3, resume=True, **how)
    assert (out / "part-00001.parquet").read_bytes() == before
    (out / "part-00001.parquet").write_bytes(before[:50])  # a damaged one is made again
    assert mgraph.generate(out, CopyModel(500, 3), parts=3, resume=True, **how).made_parts == 1
