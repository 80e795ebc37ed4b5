"""Tables to datasets: any ids, numbered in their order, whatever the files, pieces and workers."""

import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import DatasetError, UsageError
from mgraph.core import ranking_cpu
from tests.distributed.id_tables import (
    KINDS,
    TYPES,
    check,
    expected_rows,
    make_edges,
    read_edges,
    read_ids,
    write_edges,
)


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_any_type(tmp_path, convert, kind):
    edges = make_edges(kind)
    write_edges(tmp_path / "a.parquet", kind, edges)
    run = convert(tmp_path / "a.parquet", tmp_path / "g")
    ids = check(tmp_path / "g", edges)
    assert (run.n, run.num_edges, run.directed) == (len(ids), len(edges), True)
    assert mgraph.verify(tmp_path / "g").ok
    graph = mgraph.read_graph(tmp_path / "g", backend="cpu")
    labels = list(graph.labels)
    assert labels == ([uuid.UUID(bytes=x) for x in ids] if kind == "uuid" else ids)
    assert [graph.vertex(label) for label in labels[::7]] == list(range(len(ids)))[::7]
    assert [graph.labels[v] for v in (0, len(ids) - 1)] == [labels[0], labels[-1]]
    with pytest.raises(UsageError, match="has no vertex"):
        graph.vertex("another")


def test_the_numbers_do_not_depend_on_files_or_their_order(tmp_path, convert):
    edges = make_edges("string", weights=True)
    write_edges(tmp_path / "a.parquet", "string", edges)
    convert(tmp_path / "a.parquet", tmp_path / "a")
    backwards = edges[::-1]
    for i in range(7):
        write_edges(tmp_path / "b" / f"{i}.parquet", "string", backwards[i::7])
    convert(tmp_path / "b", tmp_path / "c")
    text = "\n".join(f'"{u}";"{v}";{w}' for u, v, w in edges)
    (tmp_path / "d.csv").write_text(f"source;target;weight\n{text}\n")
    convert(str(tmp_path / "d.csv"), tmp_path / "d")
    files = [tmp_path / "b" / f"{i}.parquet" for i in (3, 1, 0, 6, 5, 4, 2)]
    convert(files, tmp_path / "e")
    manifests = [mgraph.open_dataset(tmp_path / name).manifest for name in "acde"]
    assert len({manifest.checksum for manifest in manifests}) == 1
    assert all(read_ids(tmp_path / name) == read_ids(tmp_path / "a") for name in "cde")
    assert all(read_edges(tmp_path / name) == read_edges(tmp_path / "a") for name in "cde")


@settings(max_examples=25)
@given(
    ends=st.lists(st.tuples(*[st.integers(-(1 << 63), (1 << 63) - 1)] * 2), max_size=60),
    undirected=st.booleans(),
    drop_loops=st.booleans(),
    merge=st.booleans(),
)
def test_rules_for_edges(
    tmp_path_factory, convert, ends, undirected, drop_loops, merge
):  # fmt: skip
    ends = [(u % 9 if u % 3 else u, v % 9) for u, v in ends]
    edges = [(u, v, i % 5) for i, (u, v) in enumerate(ends)]
    folder = tmp_path_factory.mktemp("rules")
    columns = list(zip(*edges, strict=True)) or [[], [], []]
    table = {"src": pa.array(columns[0], pa.int64()), "dst": pa.array(columns[1], pa.int64())}
    pq.write_table(pa.table(table | {"weight": pa.array(columns[2], pa.int32())}), folder / "a.pq")
    run = convert(
        folder / "a.pq", folder / "g", symmetrise=undirected, drop_loops=drop_loops, merge=merge
    )
    ids = sorted({end for edge in edges for end in edge[:2]})
    expected = expected_rows(ids, edges, not undirected)
    if drop_loops:
        expected = [row for row in expected if row[0] != row[1]]
    if merge:
        lightest = {}
        for row in expected:
            lightest.setdefault(row[:2], row)
        expected = sorted(lightest.values())
    assert run.n == len(ids)
    if expected:
        assert read_edges(folder / "g") == expected
    assert run.num_edges == len(expected)
    is_numbers = ids == list(range(len(ids)))
    assert (run.manifest.vertices is None) == is_numbers
    graph = mgraph.read_graph(folder / "g", backend="cpu")
    direct = mgraph.read_graph(
        folder / "a.pq", renumber=True, symmetrise=undirected, drop_loops=drop_loops, merge=merge,
        backend="cpu",
    )  # fmt: skip
    for ours, theirs in zip(graph.to_edges(), direct.to_edges(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_columns_beside_the_edges_are_kept(tmp_path, convert):
    edges = make_edges("string", weights=True)
    names = [f"road {i}" for i in range(len(edges))]
    lanes = list(range(len(edges)))
    write_edges(
        tmp_path / "a.parquet", "string", edges, ("a", "b", "weight"),
        name=pa.array(names).dictionary_encode(), lanes=pa.array(lanes, pa.int16()), dst=lanes,
    )  # fmt: skip
    convert(tmp_path / "a.parquet", tmp_path / "g", src="a", dst="b")
    ids = check(tmp_path / "g", edges)
    table = pa.concat_tables(
        [pq.read_table(file) for file in sorted((tmp_path / "g").glob("part-*"))]
    )
    assert table.column_names == ["src", "dst", "weight", "name", "lanes", "dst_given"]
    assert table["lanes"].type == pa.int16()
    rows = zip(*(table[name].to_pylist() for name in table.column_names[:5]), strict=True)
    expected = [(u, v, w, f"road {i}", i) for i, (u, v, w) in enumerate(edges)]
    assert sorted((ids[u], ids[v], *more) for u, v, *more in rows) == sorted(expected)
    convert(tmp_path / "g", tmp_path / "h", symmetrise=True)
    again = pa.concat_tables(
        [pq.read_table(file) for file in sorted((tmp_path / "h").glob("part-*"))]
    )
    assert sorted(again["name"].to_pylist()) == sorted(names)
    assert read_ids(tmp_path / "h") == ids
    assert not mgraph.open_dataset(tmp_path / "h").manifest.directed


@pytest.mark.parametrize("kind", ["string", "int64"])
def test_a_table_of_vertices(tmp_path, convert, kind):
    edges = make_edges(kind)
    write_edges(tmp_path / "a.parquet", kind, edges)
    known = sorted({end for edge in edges for end in edge})[::2] + [KINDS[kind](777)]  # noqa: RUF005
    table = pa.table({
        "lat": [float(i) for i in range(len(known))],
        "Id": pa.array(known, TYPES[kind]),
        "id": [f"label {i}" for i in range(len(known))],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "v.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "g", vertices=tmp_path / "v.parquet", vertex_id="Id")
    files = sorted((tmp_path / "g").glob("_vertices-*"))
    made = pa.concat_tables([pq.read_table(file) for file in files])
    everyone = sorted({end for edge in edges for end in edge} | set(known))
    assert made["id"].to_pylist() == everyone
    place = {identifier: i for i, identifier in enumerate(known)}
    assert made["lat"].to_pylist() == [
        float(place[identifier]) if identifier in place else None for identifier in everyone
    ]
    assert made["id_given"].to_pylist()[everyone.index(known[-1])] == f"label {len(known) - 1}"
    manifest = mgraph.open_dataset(tmp_path / "g").manifest
    assert manifest.n == len(everyone)
    assert manifest.vertices.attributes == ("lat", "id_given")
    pq.write_table(pa.concat_tables([table, table]), tmp_path / "w.parquet")
    with pytest.raises(DatasetError, match="must name each vertex once"):
        convert(tmp_path / "a.parquet", tmp_path / "h", vertices=tmp_path / "w.parquet")
    with pytest.raises(UsageError, match="has no column idd"):
        convert(
            tmp_path / "a.parquet", tmp_path / "h", vertices=tmp_path / "v.parquet", vertex_id="idd"
        )


def test_text_vertices_beside_text_edges(tmp_path, convert):
    (tmp_path / "e.csv").write_text("a,b\nb,007\n")
    (tmp_path / "v.csv").write_text("name,x\n007,1.5\na,2.5\n")
    convert(tmp_path / "e.csv", tmp_path / "g", vertices=tmp_path / "v.csv")
    table = pq.read_table(tmp_path / "g" / "_vertices-00000.parquet")
    assert table.to_pydict() == {
        "vertex": [0, 1, 2],
        "id": ["007", "a", "b"],
        "x": [1.5, 2.5, None],
    }
    edges = pq.read_table(tmp_path / "g")  # the files of vertices are passed over
    assert (edges.num_rows, edges.column_names) == (2, ["src", "dst"])


def test_vertices_named_as_by_earlier_mgraphs(tmp_path, convert):
    (tmp_path / "e.csv").write_text("a,b\nb,007\n")
    convert(tmp_path / "e.csv", tmp_path / "g")
    for file in (tmp_path / "g").glob("_vertices-*"):
        file.rename(file.with_name(file.name[1:]))
    manifest = tmp_path / "g" / "_manifest.json"
    manifest.write_text(manifest.read_text().replace('"_vertices-', '"vertices-'))
    assert mgraph.read_graph(tmp_path / "g", backend="cpu").labels[1] == "a"
    convert(tmp_path / "e.csv", tmp_path / "g", overwrite=True)
    assert not [*(tmp_path / "g").glob("vertices-*")]


def test_ids_that_are_numbers_already(tmp_path, convert):
    edges = [(i, (i * 7 + 3) % 100) for i in range(100)]
    write_edges(tmp_path / "a.parquet", "int64", edges)
    run = convert(tmp_path / "a.parquet", tmp_path / "g")
    assert (run.n, run.manifest.vertices) == (100, None)
    assert read_edges(tmp_path / "g") == sorted(edges)
    gaps = [(2 * u, 2 * v) for u, v in edges]
    write_edges(tmp_path / "b.parquet", "int64", gaps)
    convert(tmp_path / "b.parquet", tmp_path / "h")
    check(tmp_path / "h", gaps)
    run = convert(tmp_path / "b.parquet", tmp_path / "i", keep_numbers=True)
    assert (run.n, run.manifest.vertices) == (199, None)
    assert read_edges(tmp_path / "i") == sorted(gaps)
    write_edges(tmp_path / "c.parquet", "string", make_edges("string"))
    with pytest.raises(DatasetError, match="must be whole numbers to keep them"):
        convert(tmp_path / "c.parquet", tmp_path / "j", keep_numbers=True)
    assert not (tmp_path / "j").exists() or not list((tmp_path / "j").iterdir())


def test_weights_are_drawn_as_generated_ones(tmp_path, convert, cluster):
    for name, weights in (("a", (1, 9)), ("b", None)):
        model = mgraph.CopyModel(300, 3, weights=weights)
        mgraph.generate(tmp_path / name, model, cluster=cluster)
    convert(tmp_path / "b", tmp_path / "c", weights=(1, 9))
    ours, theirs = (mgraph.open_dataset(tmp_path / name).manifest for name in "ca")
    assert ours.checksum == theirs.checksum
    mgraph.convert(tmp_path / "b", tmp_path / "b.mtx", weights=(1, 9))
    graph = mgraph.read_graph(tmp_path / "b.mtx", backend="cpu")
    assert graph.weights.sum() == mgraph.read_graph(tmp_path / "a", backend="cpu").weights.sum()
    with pytest.raises(UsageError, match="has weights in the column weight"):
        convert(tmp_path / "a", tmp_path / "d", weights=(1, 9))


def test_infinite_weights_are_closed_arcs(tmp_path, convert):
    (tmp_path / "a.csv").write_text("a,b,inf\nb,c,2.5\n")
    run = convert(tmp_path / "a.csv", tmp_path / "g", drop_infinite=True)
    assert (run.n, run.num_edges) == (3, 1)
    graph = mgraph.read_graph(tmp_path / "a.csv", drop_infinite=True, backend="cpu")
    assert (graph.n, graph.num_arcs) == (3, 1)


def test_other_programs_tables(tmp_path, convert):
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    edges = make_edges("string", weights=True)
    columns = list(zip(*edges, strict=True))
    frame = polars.DataFrame({"source": columns[0], "target": columns[1], "weight": columns[2]})
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ipc(tmp_path / "a.arrow")
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame = frame.with_columns(y=polars.col("weight") % 3)
    frame.write_parquet(tmp_path / "hive", partition_by="y")
    duckdb.sql(f"copy (select * from '{tmp_path}/a.parquet') to '{tmp_path}/d.csv.gz'")
    for number, name in enumerate(("a.parquet", "a.arrow", "a.tsv", "d.csv.gz", "hive")):
        convert(tmp_path / name, tmp_path / f"out{number}")
        check(tmp_path / f"out{number}", edges)
    table = pa.concat_tables([pq.read_table(file) for file in (tmp_path / "out4").glob("part-*")])
    assert sorted(table["y"].to_pylist()) == sorted(str(weight % 3) for weight in columns[2])


def test_ranks_by_radix_in_a_conversion(tmp_path, convert, monkeypatch):
    monkeypatch.setattr(ranking_cpu, "_FEW", -1)
    for kind in ("int64", "string"):
        edges = make_edges(kind)
        write_edges(tmp_path / f"{kind}.parquet", kind, edges)
        convert(tmp_path / f"{kind}.parquet", tmp_path / kind)
        check(tmp_path / kind, edges)
