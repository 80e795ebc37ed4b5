"""What a conversion leaves behind when it is refused, cut short, or loses its workers."""

import json

import pytest

import mgraph
from mgraph import DatasetError, UsageError
from mgraph.distributed.operations import convert_operation
from mgraph.io.renumbering import encode, merge, order
from tests.distributed.id_tables import check, make_edges, write_edges
from tests.distributed.test_survival import workers_killed
from tests.gate import gated


def test_what_is_refused(tmp_path, convert):
    write_edges(tmp_path / "a.parquet", "int64", make_edges("int64"))
    write_edges(tmp_path / "b.parquet", "string", make_edges("string"))
    for location, words in (
        ([tmp_path / "a.parquet", tmp_path / "b.parquet"], "ids must be of one type"),
        (tmp_path / "none.csv", "does not exist"),
        (tmp_path / "*.csv", "no file matches"),
        ([tmp_path / "a.parquet"] * 2, "is given twice"),
    ):
        with pytest.raises((DatasetError, UsageError), match=words):
            convert(location, tmp_path / "g")
        assert not (tmp_path / "g").exists() or not list((tmp_path / "g").iterdir())
    convert(tmp_path / "a.parquet", tmp_path / "g")
    with pytest.raises(UsageError, match="already holds a dataset"):
        convert(tmp_path / "a.parquet", tmp_path / "g")
    with pytest.raises(UsageError, match="a conversion of other files or with other options"):
        convert(tmp_path / "b.parquet", tmp_path / "g", resume=True)
    convert(tmp_path / "b.parquet", tmp_path / "g", overwrite=True)
    check(tmp_path / "g", make_edges("string"))


def test_what_is_read_is_not_replaced(tmp_path, convert):
    edges = make_edges("string")
    write_edges(tmp_path / "g" / "part-00000.parquet", "string", edges)
    before = (tmp_path / "g" / "part-00000.parquet").read_bytes()
    for location in (
        tmp_path / "g",
        tmp_path / "g" / "part-00000.parquet",
        tmp_path / "g/*.parquet",
    ):
        with pytest.raises(UsageError, match="holds what is converted"):
            convert(location, tmp_path / "g", overwrite=True)
    assert (tmp_path / "g" / "part-00000.parquet").read_bytes() == before
    convert(tmp_path / "g", tmp_path / "h")
    with pytest.raises(UsageError, match="holds what is converted"):
        convert(tmp_path / "h", tmp_path / "h", overwrite=True)
    check(tmp_path / "h", edges)


@pytest.mark.parametrize("stage", ["encode", "rank", "order", "part"])
def test_a_conversion_that_was_cut_short_goes_on(tmp_path, convert, monkeypatch, stage):
    edges = make_edges("string", count=600, weights=True)
    write_edges(tmp_path / "a.parquet", "string", edges)
    out = tmp_path / "g"
    module, name = {
        "encode": (encode, "_write_record"),
        "rank": (convert_operation.rank, "rank_range"),
        "order": (order, "order_piece"),
        "part": (merge, "write_part"),
    }[stage]
    original, calls = getattr(module, name), []

    def fail_later(*arguments, **options):
        calls.append(1)
        if len(calls) > 1:
            raise mgraph.StorageError("the disk is full")
        return original(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, fail_later)
        with pytest.raises(mgraph.StorageError, match="the disk is full"):
            convert(tmp_path / "a.parquet", out)
    assert json.loads((out / "_convert-plan.json").read_text())["identity"]
    with pytest.raises(UsageError, match=r"cut short|unfinished"):
        convert(tmp_path / "a.parquet", out)
    convert(tmp_path / "a.parquet", out, resume=True)
    check(out, edges)
    assert convert(tmp_path / "a.parquet", out, resume=True).num_edges == 600


@pytest.mark.parametrize(
    "pattern", ["_convert-encode*", "_convert-rank*", "_convert-order*", "part-*"]
)
def test_workers_killed_while_they_convert_are_made_good(tmp_path, monkeypatch, pattern):
    sizes = convert_operation.choose_sizes
    monkeypatch.setattr(
        convert_operation, "choose_sizes", lambda _: type(sizes(_))(1000, 500, 1000)
    )
    monkeypatch.setattr(convert_operation, "choose_part_rows", lambda rows, threads: 1000)
    edges = make_edges("string", count=9000, vertices=900, weights=True)
    for i in range(9):
        write_edges(tmp_path / "in" / f"{i}.parquet", "string", edges[i::9])
    with (
        gated(tmp_path / "gate") as gate,
        mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster,
        workers_killed(cluster, gate, tmp_path / "g", pattern),
    ):
        mgraph.convert(tmp_path / "in", tmp_path / "g", cluster=cluster)
    check(tmp_path / "g", edges)
    assert not list((tmp_path / "g").glob(".*"))
